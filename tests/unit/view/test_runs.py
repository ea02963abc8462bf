"""Numbered names in few words."""

from __future__ import annotations

import pytest

from dibs.view import runs


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["memory"], "memory"),
        (["slice-0"], "slice-0"),
        (["slice-0", "slice-1"], "slice-0, 1"),
        (["slice-2", "slice-0", "slice-1"], "slice-0 … 2"),
        (["slice-0", "slice-1", "slice-2", "slice-5"], "slice-0 … 2, slice-5"),
        (["memory", "slice-3", "slice-4", "slice-5"], "slice-3 … 5, memory"),
        (["slice-07", "slice-08", "slice-09"], "slice-07, slice-08, slice-09"),
        (["a", "b", "c", "d", "e", "f"], "a, b, c, d and 2 more"),
        (["9", "10", "11"], "9 … 11"),
    ],
)
def test_told(names: list[str], told: str) -> None:
    assert runs.text_of(names) == told
