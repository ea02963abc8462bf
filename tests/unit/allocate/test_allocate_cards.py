"""Cards cut into partitions: the search skips alike cards, the brute-force oracle doesn't.

The named seeds are worlds in which the search, were it to skip a little more than it may, misses
the first fit: each fails when that rule is loosened.
"""

from __future__ import annotations

import card_worlds
import pytest

from dibs.testing import builders as b
from dibs.testing import engine, oracle
from dibs.testing.question import Question

NEEDS_CARD_STATES = (231, 639, 1894)
NEEDS_EXACT_FLOORS = (4, 42, 166, 251, 301, 592)
NEEDS_WHOLE_OUTLOOKS = (66, 395, 468, 559, 634)


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", [*NEEDS_CARD_STATES, *NEEDS_EXACT_FLOORS, *NEEDS_WHOLE_OUTLOOKS, *range(900, 930)]
)
def test_alike_cards_are_skipped_without_missing_the_first_fit(seed: int) -> None:
    world = card_worlds.world(seed)
    question = Question(
        id=f"cards-{seed}",
        node=b.node("node-a"),
        slices=world.slices,
        classes=(b.device_class("gpu"),),
        claims=world.claims,
        allocated=world.held,
    )
    right = oracle.answer(question, steps=1_500)
    mine = engine.answer(question)
    if right.outcome == "timeout":
        assert mine.outcome != "timeout"
        return
    assert (mine.outcome, mine.allocations) == (right.outcome, right.allocations)
