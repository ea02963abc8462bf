# The environment is .venv in the checkout; any target makes it, from the lock file.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed-from-lock

.PHONY: demo test check lint types imports bench conformance lock clean

demo: $(STAMP)
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

conformance: $(STAMP)
	$(BIN)/python conformance/run.py $(if $(VECTORS),--vectors $(VECTORS)) $(ARGS)

bench: $(STAMP)
	$(BIN)/python -m bench $(ARGS)

# Re-resolve requirements.lock from pyproject.toml (needs the network and `pip install uv`).
lock:
	uv pip compile --quiet --universal --python-version 3.11 --extra dev \
	  --generate-hashes --no-annotate --no-header --no-emit-index-url \
	  --output-file requirements.lock pyproject.toml

$(STAMP): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("dibs needs Python 3.11 or newer; this is %d.%d. Try: make PYTHON=python3.12 demo" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

clean:
	rm -rf .venv build dist
