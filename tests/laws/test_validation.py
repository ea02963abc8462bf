"""Validation answers for every object: it raises nothing, and repeats itself."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from dibs.model import kinds
from dibs.model.kinds import Known
from dibs.model.rules import check
from dibs.testing.strategies import objects, worlds
from dibs.testing.worlds import EVERY_TRAIT, World

pytestmark = pytest.mark.slow


@settings(max_examples=settings().max_examples * 3)
@given(objects())
def test_validation_never_raises(item: Known) -> None:
    faults = check.validate(item)
    assert faults == check.validate(item)
    assert all(str(fault) for fault in faults)


@given(objects(), objects())
def test_updates_never_raise(old: Known, new: Known) -> None:
    if kinds.of(old) is kinds.of(new):
        check.validate(new, old)
        check.validate_status(new, old)


@given(objects())
def test_an_update_that_changes_nothing_adds_no_fault(item: Known) -> None:
    """Ratcheting: what is stored may stay, whatever newer rules say."""
    assert set(check.validate(item, item)) <= set(check.validate(item))


@given(worlds(EVERY_TRAIT))
def test_worlds_are_valid(world: World) -> None:
    for item in (*world.nodes, *world.slices, *world.classes, *world.claims, *world.held):
        assert not check.validate(item)
        if item in world.held:
            assert not check.validate_status(item, item)
