"""What a refusal says to be too little is too little: where an allocation exists, nothing is said.

`allocate.exhausted` works out, for explanations, which counter or capacity can't be enough. Here
it is asked of questions that do have an answer, so a shortage it finds is a lie; and of a few that
have none, so that it says something at all.
"""

from __future__ import annotations

import pytest
from hypothesis import given, note

from dibs.allocate import checks, exhausted, problem
from dibs.allocate.outcome import Allocated, Reason
from dibs.allocate.problem import Problem
from dibs.allocate.scene import Scene
from dibs.allocate.selecting import Answers
from dibs.allocate.shelf import Shelf
from dibs.request import asks
from dibs.supply.ledger import Ledger
from dibs.supply.pools import PoolFault, Supply
from dibs.testing import engine
from dibs.testing.question import Question
from dibs.testing.strategies import worlds
from dibs.testing.worlds import EVERY_TRAIT, World

pytestmark = pytest.mark.slow


def posed(question: Question) -> Problem | PoolFault:
    supply = Supply.of(question.slices, question.features)
    ledger = Ledger.of(question.allocated, question.features)
    shelf = Shelf.of(supply.pools(question.node))
    scene = Scene(question.node, shelf, ledger, supply.features, Answers())
    classes = {each.metadata.name: each for each in question.classes}
    wishes = asks.read(question.claims, classes, supply.features)
    tests = checks.of(supply.features)
    return problem.pose(wishes, scene, tests, is_strict=False, order="first-fit")


def shortages(question: Question) -> list[str]:
    """What is said to be too little for the requests that have no alternatives."""
    asked = posed(question)
    assert not isinstance(asked, PoolFault)
    places = range(len(asked.candidates))

    def fits(ask: asks.Ask, place: int) -> bool:
        verdict: Reason | None = asked.verdict(ask, place)
        return verdict is None

    sole = [
        slot.request.alternatives[0] for slot in asked.slots if len(slot.request.alternatives) == 1
    ]
    wanted = [(ask, [p for p in places if fits(ask, p)], asked.needs[ask]) for ask in sole]
    alone = [exhausted.by_one(asked, ask, fitting, max(1, need)) for ask, fitting, need in wanted]
    return [text for text in (*alone, exhausted.together(asked, wanted)) if text]


@given(worlds(EVERY_TRAIT))
def test_nothing_is_short_where_there_is_an_answer(world: World) -> None:
    for question in world.questions():
        if isinstance(engine.decide(question), Allocated):
            note(question.id)
            assert shortages(question) == []
