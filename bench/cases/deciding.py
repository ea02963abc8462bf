"""How a decision becomes a case: one world, put to dibs and to the peer."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from bench import deciding
from bench.case import Bench, Case, Task, Theirs, Unit, agreed
from bench.world import World

# The question of upstream's Filter: as many nodes as perf goals are set for, or all there are.
FEASIBLE = 100


def case(
    name: str,
    section: str,
    unit: Unit,
    includes: str,
    make: Callable[[], World],
    *,
    ask: Callable[[World, str], Task] = deciding.first_node,
    expected: str = "allocated",
    goal: float | None = None,
    at: int | None = None,
    flatters: str = "",
    is_slow: bool = False,
) -> Case:
    def prepare(bench: Bench) -> Task:
        return ask(made(make), expected)

    def peer(bench: Bench) -> Theirs:
        world = made(make)
        if len(world.nodes) == 1:
            (answer,) = bench.peer.filter(world, bench.runs, [1])
            return Theirs(agreed(answer, expected))
        many, one = bench.peer.filter(world, bench.runs, [FEASIBLE, 1])
        return Theirs(agreed(many, expected), first=agreed(one, expected))

    return Case(
        name,
        section,
        unit,
        includes,
        prepare=prepare,
        peer=peer,
        goal=goal,
        at=at,
        flatters=flatters,
        is_slow=is_slow,
    )


@lru_cache(maxsize=1)
def made(make: Callable[[], World]) -> World:
    """The world of the case that is measured now: made once for both sides, and then let go."""
    return make()
