"""What holds of lint, whatever it reads: it never raises, and never says no to what is granted."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.client import dump
from dibs.lint import check, claims, demands, finding, selections
from dibs.model.kinds import Known
from dibs.testing import engine
from dibs.testing.strategies import objects, worlds
from dibs.testing.worlds import EVERY_TRAIT, World

pytestmark = pytest.mark.slow

# The rules that say of a wish that it can't be granted.
REFUSING = {
    rule.code
    for rule in (*selections.RULES, *demands.RULES, *claims.RULES)
    if rule.severity == "error"
}


def found(items: Sequence[Known]) -> tuple[finding.Finding, ...]:
    text = dump.write(items, "json")
    return check.check(dump.load(["-"], stdin=io.BytesIO(text.encode())))


@given(st.one_of(worlds(), worlds(EVERY_TRAIT)))
def test_what_is_granted_has_no_error(world: World) -> None:
    questions = world.questions()
    if not any(engine.answer(question).outcome == "allocated" for question in questions):
        return
    said = found((*world.slices, *world.classes, *world.claims, *world.held))
    assert [finding.text(each) for each in said if each.code in REFUSING] == []


@given(st.lists(objects(), min_size=1, max_size=6))
def test_never_raises_and_keeps_the_order(items: list[Known]) -> None:
    said = found(items)
    assert list(said) == sorted(said, key=lambda each: (each.line, each.column, each.code))
    for each in said:
        assert finding.text(each).startswith("-:")
        assert each.line > 0
        assert each.column > 0
