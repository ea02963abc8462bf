"""What all tests share: how long Hypothesis looks, and where the conformance corpora are.

`quick` is what `make test` runs, the same examples each time; `long` looks further and elsewhere
each time: `pytest tests/laws --hypothesis-profile=long`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "quick",
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "long",
    max_examples=400,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("quick")

# No test may meet a cluster of whoever runs it, nor what `dibs up` keeps for them.
os.environ["KUBECONFIG"] = "/there/is/no/kubeconfig"
os.environ["XDG_DATA_HOME"] = "/there/is/no/data"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of corpora and real slices; tests that need it are skipped without it."""
    beside = Path(__file__).parents[2] / "shared"
    folder = Path(os.environ.get("DIBS_SHARED") or beside)
    if not folder.is_dir():
        pytest.skip(f"no corpora: {folder} is not there (set DIBS_SHARED)")
    return folder
