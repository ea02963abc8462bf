"""Compiled selectors are kept, no more than so many, and counted."""

from __future__ import annotations

from dibs.request import selectors


def test_what_is_compiled_already_is_known() -> None:
    before = selectors.stats()
    for _ in range(3):
        selectors.compile('device.driver == "only-here.example.com"')
    after = selectors.stats()
    assert (after.hits - before.hits, after.misses - before.misses) == (2, 1)
    assert after.kept <= after.bound == 512
