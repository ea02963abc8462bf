"""What CPU and memory of the node mean for the search: likeness, a bound, a note (KEP-5517).

kube-scheduler looks at them only once the devices are chosen, and gives the node up then. Here
each device is judged as it is picked (`checks.supplied`), so that other devices are tried. A Pod
for which nothing is known of the node (no Spare) is not judged.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from dibs.allocate.draft import Draft
from dibs.allocate.problem import Problem
from dibs.allocate.spare import ZERO, Spare
from dibs.request.asks import Ask
from dibs.supply.pools import Candidate
from dibs.values.quantity import Quantity


@dataclass(frozen=True, slots=True, eq=False)
class Least:
    """One resource: the least of it that so many devices of an ask draw, by their number."""

    name: str
    spare: Spare
    amounts: Mapping[Ask, Sequence[Quantity]]

    def total(self, wanted: Iterable[tuple[Ask, int]]) -> Quantity:
        """The cheapest way to have all that is wanted."""
        total = ZERO
        for ask, count in wanted:
            # An ask takes no device twice, and asks that take the same ones only draw more.
            if sums := self.amounts.get(ask):
                total = total.plus(sums[min(count, len(sums) - 1)])
        return total

    def is_overdrawn(self, draft: Draft, wanted: Iterable[tuple[Ask, int]]) -> bool:
        drawn = self.spare.drawn(draft.picks).get(self.name, ZERO)
        return drawn.plus(self.total(wanted)) > self.spare.allowances[self.name].left


def least(problem: Problem, good: Mapping[Ask, int]) -> tuple[Least, ...]:
    """For each resource that is limited and drawn; `good` has the places that each ask may have."""
    spare = problem.scene.spare
    if spare is None:
        return ()
    found = []
    for name in spare.allowances:
        amounts = {ask: _sums(problem, ask, good[ask], name) for ask in problem.asks}
        if any(sums[-1] > ZERO for sums in amounts.values()):
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
        total = each.total(wanted)
        allowance = each.spare.allowances[each.name]
        if total > allowance.left:
            return f"together they draw at least {total} of {each.name}, {allowance}"
    return ""


def _sums(problem: Problem, ask: Ask, places: int, name: str) -> Sequence[Quantity]:
    """What no, one, two … of the devices that draw least draw together, as far as wanted."""
    amounts: list[Quantity] = []
    while places:
        place = (places & -places).bit_length() - 1
        places &= places - 1
        drawn = problem.scene.natives(ask, problem.candidates[place])
        amounts.append(drawn.get(name, ZERO))
    amounts.sort()
    sums = [ZERO]
    for amount in amounts[: problem.needs[ask]]:
        sums.append(sums[-1].plus(amount))
    return sums
