"""Whether all that is still wanted could be drawn from what all cards together have left.

Counters of one name in the sets of one pool ("memory" of every card) are added up, and each
wanted device counted with the least that any device it may be draws of that name. It is a
necessary condition only: that the cards can be divided so is for the search to find.
Amounts are thousandths as integers; a name with finer or larger amounts isn't added up.
Source: KEP-4815 (counter sets).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dibs.allocate.draft import Draft
from dibs.allocate.problem import Problem
from dibs.allocate.shelf import Name
from dibs.request.asks import Ask
from dibs.supply.identity import CounterId
from dibs.values.quantity import Quantity

ZERO = Quantity.of(0)


@dataclass(frozen=True, slots=True, eq=False)
class Total:
    """One name of one pool: what is left of it, who draws it at which place, and the least of it
    that one device of an ask draws."""

    left: int
    draws: Mapping[int, int]
    least: Mapping[Ask, int]

    def is_overdrawn(self, draft: Draft, wanted: Sequence[tuple[Ask, int]]) -> bool:
        rest = self.left
        for pick in draft.picks:
            if not pick.ask.is_admin:
                rest -= self.draws.get(pick.place, 0)
        return sum(self.least.get(ask, 0) * count for ask, count in wanted) > rest


def of(problem: Problem, good: Mapping[Ask, int]) -> tuple[Total, ...]:
    """The totals that can say no: those of which every device of some ask draws."""
    totals = []
    for name, by_place in problem.scene.shelf.draws.items():
        left = _left(problem, name)
        least = {
            ask: amount
            for ask in problem.asks
            if not ask.is_admin and (amount := _least(good[ask], by_place)) > 0
        }
        if least and left is not None:
            totals.append(Total(left, by_place, least))
    return tuple(totals)


def _left(problem: Problem, name: Name) -> int | None:
    total = 0
    pool, counter = name
    left = problem.scene.left(pool)
    for each in problem.scene.shelf.pools[pool].counters.values():
        if counter not in each.counters:
            continue
        amount = left[CounterId(pool, each.name, counter)]
        if amount > ZERO:
            milli = amount.exact_milli()
            if milli is None:
                return None
            total += milli
    return total


def _least(places: int, draws: Mapping[int, int]) -> int:
    """The least that any of the places draws: 0 as soon as one draws nothing."""
    least = 0
    while places:
        place = (places & -places).bit_length() - 1
        places &= places - 1
        amount = draws.get(place, 0)
        if not amount:
            return 0
        least = min(least, amount) if least else amount
    return least
