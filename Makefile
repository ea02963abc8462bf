# The environment is .venv in the checkout; any target makes it, from one of two lock files:
# what a user needs, or that and what developers need.
PYTHON ?= python3
BIN := .venv/bin
USER := .venv/.installed-for-use
STAMP := .venv/.installed-for-development
# Apart, because the exact solver holds protobuf at another version than the server does.
BENCH := .venv-bench
# How many worlds and selectors `make conformance` generates.
N ?= 2000

.PHONY: demo test check lint types imports bench conformance exact oracle patching clients lock clean

demo: $(USER)
	@$(BIN)/python examples/demo.py

test: $(STAMP)
	$(BIN)/python -m pytest $(ARGS)

check: lint types imports test

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(STAMP)
	$(BIN)/mypy

imports: $(STAMP)
	$(BIN)/lint-imports

# The corpora, then N generated worlds and as many selectors, asked of all there is to ask.
conformance: $(STAMP) oracle
	$(BIN)/python conformance/run.py $(if $(VECTORS),--vectors $(VECTORS)) $(ARGS)
	$(BIN)/python conformance/run.py --random $(N)
	$(BIN)/python conformance/run.py --expressions $(N)

# Questions in which devices are scarce, and a proof of every answer by a solver that isn't ours.
exact: N = 10000
exact: $(BENCH)/.installed
	$(BENCH)/bin/python conformance/exact.py -n $(N) $(ARGS)

# Upstream's answers need Go, and its module cache or the network; without them we go on without.
oracle:
	@if ! command -v go >/dev/null; then \
	  echo "oracle: not built, upstream will not be asked: there is no go"; \
	elif ! (cd conformance/oracle && go build -buildvcs=false -o $(CURDIR)/build/oracle .); then \
	  rm -f build/oracle; \
	  echo "oracle: not built, upstream will not be asked: go build failed, see above"; \
	fi

# Upstream's patches and field owners, for conformance/patches.py.
patching:
	cd conformance/patching && go build -buildvcs=false -o $(CURDIR)/build/patching .

# What Kubernetes' drivers and controllers are made of, to be run against our API server.
clients:
	cd conformance/clients && go build -buildvcs=false -o $(CURDIR)/build/clients .

# Measures everything, beside upstream's allocator where there is Go, and writes the page of it.
bench: $(BENCH)/.installed oracle
	$(BENCH)/bin/python -m bench --write $(ARGS)

# Re-resolve all lock files from pyproject.toml (needs the network and `pip install uv`). What a
# user gets is what was tested: the second lock keeps to the first.
LOCK := uv pip compile --quiet --universal --python-version 3.11 \
  --generate-hashes --no-annotate --no-header --no-emit-index-url
lock:
	$(LOCK) --extra up --extra build --output-file requirements.lock pyproject.toml
	$(LOCK) --extra dev --constraint requirements.lock \
	  --output-file requirements-dev.lock pyproject.toml
	$(LOCK) --extra bench --extra build --extra up --output-file bench/requirements.lock pyproject.toml

# Both environments are one: the second adds to the first.
OLD_PYTHON = import sys; sys.exit("dibs needs Python 3.11 or newer; this is %d.%d. Try: make PYTHON=python3.12 demo" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

$(USER): requirements.lock pyproject.toml
	@$(PYTHON) -c '$(OLD_PYTHON)'
	$(PYTHON) -m venv .venv
	$(INSTALL) --require-hashes --requirement requirements.lock
	$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(STAMP): requirements-dev.lock $(USER)
	$(INSTALL) --require-hashes --requirement requirements-dev.lock
	@touch $@

$(BENCH)/.installed: bench/requirements.lock pyproject.toml
	@$(PYTHON) -c '$(OLD_PYTHON)'
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement bench/requirements.lock
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

clean:
	rm -rf .venv .venv-bench build dist
