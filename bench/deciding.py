"""The calls of dibs that are measured, each made once from a world and then repeated."""

from __future__ import annotations

from bench.case import Task
from bench.world import World
from dibs.allocate import allocator
from dibs.allocate.allocator import Options
from dibs.allocate.outcome import Outcome
from dibs.allocate.selecting import Answers
from dibs.index import deciding

# Upstream's no is a bare one; what the reasons take is a benchmark of its own.
BARE = Options(explain=False)
EXPLAINED = Options(explain=True)


def first_node(world: World, expected: str = "allocated") -> Task:
    """One decision over all nodes: the claims' devices on the first that fits, or a refusal.

    The index, and what was learned of slices, are kept between decisions, as a scheduler keeps
    them; what was decided is not.
    """
    read, answers = world.read, Answers()
    index = read.index

    def decide() -> deciding.Found:
        return deciding.decide(index, read.claims, read.classes, BARE, answers)

    found = decide()
    assert not found.timed_out, "a benchmark of all nodes is one that can be decided"
    _expect("refused" if found.outcome is None else _name(found.outcome), expected)
    return decide


def on_node(world: World, expected: str = "allocated", options: Options = BARE) -> Task:
    """One decision about the only node, by the exact search alone: no index rules it out."""
    read, answers = world.read, Answers()
    (node,) = read.nodes

    def decide() -> Outcome:
        return allocator.allocate(
            node, read.claims, read.supply, read.ledger, read.classes, options, answers
        )

    # Giving up is a figure, too: how long that takes.
    outcome = _name(decide())
    if outcome != "timedout":
        _expect(outcome, expected)
    return decide


def _expect(found: str, expected: str) -> None:
    assert found == expected, f"{expected} was expected, not {found}"


def _name(outcome: Outcome) -> str:
    return type(outcome).__name__.lower()
