"""Which quantity a size without a unit was meant to be."""

from __future__ import annotations

import pytest

from dibs.lint import sizes


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (40000, "40Gi"),  # 40 GB in MB: the figure that articles have
        (40960, "40Gi"),
        (16384, "16Gi"),
        (16000, "16Gi"),
        (80, "80Gi"),
        (40 << 30, "40Gi"),
        (40_000_000_000, "40000000000"),
        ("16Gi", "16Gi"),
        ("64", "64"),
        ("big", None),
        ("", None),
        (True, None),
        (-1, None),
        (0, None),
        (None, None),
    ],
)
def test_quantity(written: object, meant: str | None) -> None:
    assert sizes.quantity(written) == meant
