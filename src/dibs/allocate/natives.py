"""What CPU and memory of the node mean for the search: likeness, a bound, a note (KEP-5517).

kube-scheduler looks at them only once the devices are chosen, and gives the node up then. Here
each device is judged as it is picked (`checks.supplied`), so that other devices are tried. A Pod
for which nothing is known of the node (no Spare) is not judged.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from dibs.allocate.draft import Draft
from dibs.allocate.problem import Problem
from dibs.allocate.spare import ZERO, Spare
from dibs.request.asks import Ask
from dibs.supply.pools import Candidate
from dibs.values.quantity import Quantity


@dataclass(frozen=True, slots=True, eq=False)
class Least:
    """One resource: the least of it that one device of an ask draws, where that is something."""

    name: str
    spare: Spare
    amounts: Mapping[Ask, Quantity]

    def is_overdrawn(self, draft: Draft, wanted: Sequence[tuple[Ask, int]]) -> bool:
        """Whether the cheapest way to fill what is wanted is too much."""
        total = self.spare.drawn(draft.picks).get(self.name, ZERO)
        for ask, count in wanted:
            total = total.plus(self.amounts.get(ask, ZERO).times(Quantity.of(count)))
        return total > self.spare.rooms[self.name].left


def least(problem: Problem, good: Mapping[Ask, int]) -> tuple[Least, ...]:
    """For each resource that is limited and drawn; `good` has the places that each ask may have."""
    spare = problem.scene.spare
    if spare is None:
        return ()
    found = []
    for name in spare.rooms:
        amounts = {
            ask: amount
            for ask in problem.asks
            if (amount := _cheapest(problem, ask, good[ask], name)) > ZERO
        }
        if amounts:
            found.append(Least(name, spare, amounts))
    return tuple(found)


def look(problem: Problem, candidate: Candidate) -> Hashable:
    """What tells a device apart by what it draws from the node."""
    if problem.scene.spare is None or not candidate.device.node_allocatable_resources:
        return None
    return tuple(frozenset(problem.scene.natives(ask, candidate).items()) for ask in problem.asks)


def outlook(problem: Problem, draft: Draft) -> Hashable:
    """How much of the node a draft has drawn."""
    spare = problem.scene.spare
    return None if spare is None else frozenset(spare.drawn(draft.picks).items())


def is_same(problem: Problem, one: Ask, other: Ask) -> bool:
    """Whether two asks draw the same, whichever device they have."""
    scene = problem.scene
    return scene.spare is None or all(
        scene.natives(one, candidate) == scene.natives(other, candidate)
        for candidate in problem.candidates
    )


def note(problem: Problem, wanted: Sequence[tuple[Ask, int]]) -> str:
    """For people: that even the devices which draw least are too much together; "" if not so."""
    if problem.scene.spare is None:
        return ""
    good = {
        ask: sum(
            1 << place
            for place in range(len(problem.candidates))
            if problem.verdict(ask, place) is None
        )
        for ask in problem.asks
    }
    for each in least(problem, good):
        total = ZERO
        for ask, count in wanted:
            total = total.plus(each.amounts.get(ask, ZERO).times(Quantity.of(count)))
        room = each.spare.rooms[each.name]
        if total > room.left:
            return f"together they draw at least {total} of {each.name}, {room}"
    return ""


def _cheapest(problem: Problem, ask: Ask, places: int, name: str) -> Quantity:
    cheapest: Quantity | None = None
    while places:
        place = (places & -places).bit_length() - 1
        places &= places - 1
        amount = problem.scene.natives(ask, problem.candidates[place]).get(name, ZERO)
        if cheapest is None or amount < cheapest:
            cheapest = amount
    return cheapest if cheapest is not None else ZERO
