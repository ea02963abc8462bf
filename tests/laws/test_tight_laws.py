"""Where devices are scarce: every yes is a solution, and brute force says the same.

`dibs.testing.facts` adds up what an answer takes; it knows neither allocator. `make exact` goes
further, with a solver that proves every no.
"""

from __future__ import annotations

import pytest
from hypothesis import assume, given, note

from dibs.allocate import allocator
from dibs.allocate.orders import Order
from dibs.allocate.outcome import Allocated, Failed, Refused, TimedOut
from dibs.supply.ledger import Ledger
from dibs.supply.pools import Supply
from dibs.testing import oracle
from dibs.testing.facts import reading, validity
from dibs.testing.question import Question
from dibs.testing.strategies import tight_questions

pytestmark = pytest.mark.slow


def decide(question: Question, order: Order) -> Allocated | Refused | Failed | TimedOut:
    return allocator.allocate(
        question.node,
        question.claims,
        Supply.of(question.slices, question.features),
        Ledger.of(question.allocated, question.features),
        {each.metadata.name: each for each in question.classes},
        allocator.Options(order=order, share_id=lambda claim, number: f"share-{number + 1}"),
    )


@pytest.mark.parametrize("order", ["first-fit", "packed"])
@given(tight_questions())
def test_a_yes_is_a_solution(order: Order, question: Question) -> None:
    facts = reading.of(question)
    outcome = decide(question, order)
    note(str(outcome))
    assert isinstance(outcome, Failed) == bool(facts.fatal)
    assert not isinstance(outcome, TimedOut)
    if isinstance(outcome, Allocated):
        solution = validity.solution_of(
            facts, question.claims, outcome.allocations, is_in_order=order == "first-fit"
        )
        assert validity.fault(facts, solution) is None


@given(tight_questions())
def test_brute_force_says_the_same(question: Question) -> None:
    brute = oracle.answer(question, steps=2_000, is_strict=False)
    assume(brute.outcome != "timeout")
    outcome = decide(question, "first-fit")
    note(str(outcome))
    match outcome:
        case Allocated():
            assert brute.outcome == "allocated"
            assert outcome.allocations == brute.allocations
        case Refused():
            assert brute.outcome == "refused"
        case Failed():
            assert brute.outcome == "error"
        case TimedOut():
            raise AssertionError("brute force was faster")


@given(tight_questions())
def test_both_orders_agree_whether_it_can_be(question: Question) -> None:
    assert type(decide(question, "packed")) is type(decide(question, "first-fit"))
