"""The real allocator, asked as the oracle is, so that their answers can be compared."""

from __future__ import annotations

from dibs.allocate import allocator
from dibs.allocate.outcome import Allocated, Failed, Outcome, Refused, TimedOut
from dibs.supply.ledger import Ledger
from dibs.supply.pools import Supply
from dibs.testing.question import Answer, Question

# As strict as kube-scheduler; shares are numbered in order of appearance, as the oracle does.
_STRICT = allocator.Options(strict=True, share_id=lambda claim, number: f"share-{number + 1}")


def answer(question: Question) -> Answer:
    """Decide the question in first-fit order."""
    outcome = decide(question)
    match outcome:
        case Allocated():
            return Answer("allocated", outcome.allocations)
        case Refused():
            return Answer("refused", message=outcome.note)
        case Failed():
            return Answer("error", message=outcome.message)
        case TimedOut():
            return Answer("timeout", message=outcome.message)


def decide(question: Question) -> Outcome:
    """The outcome itself, with the reasons of a refusal."""
    return allocator.allocate(
        question.node,
        question.claims,
        Supply.of(question.slices, question.features),
        Ledger.of(question.allocated, question.features),
        {each.metadata.name: each for each in question.classes},
        _STRICT,
    )
