"""Whether all that is still wanted could be drawn from what all cards together have left.

Counters of one name in the sets of one pool ("memory" of every card) are added up, and each
wanted device counted with the least that any device it may be draws of that name. It is a
necessary condition only: that the cards can be divided so is for the search to find.
Amounts are billionths as integers; a name with amounts too large for that isn't added up.
Source: KEP-4815 (counter sets), KEP-5941 (what is drawn by capacity, by each share).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dibs.allocate import places
from dibs.allocate.draft import Draft
from dibs.allocate.places import Places
from dibs.allocate.problem import Problem
from dibs.allocate.scene import Scene
from dibs.allocate.shelf import Name
from dibs.allocate.wants import Choice
from dibs.request.asks import Ask
from dibs.supply.identity import CounterId
from dibs.supply.pools import Candidate
from dibs.values.quantity import Quantity

ZERO = Quantity.of(0)


@dataclass(frozen=True, slots=True, eq=False)
class Total:
    """One name of one pool: what is left of it, and the least of it that one device of each ask
    draws."""

    name: Name
    left: int
    least: Mapping[Ask, int]


def of(problem: Problem, good: Mapping[Ask, Places]) -> tuple[Total, ...]:
    """The totals that can say no: those of which every device of some ask draws."""
    least: dict[Name, dict[Ask, int]] = defaultdict(dict)
    known: dict[tuple[int, int], Mapping[Name, int]] = {}
    is_metered = "metered" in problem.scene.shelf.traits
    for ask in problem.asks:
        if ask.is_admin or not good[ask]:
            continue
        # What is drawn by capacity depends on the ask, all else on its devices.
        key = good[ask], id(ask) if is_metered else 0
        if key not in known:
            known[key] = _least(problem, ask, good[ask])
        for name, amount in known[key].items():
            least[name][ask] = amount
    totals = ((name, _left(problem, name), amounts) for name, amounts in least.items())
    return tuple(Total(name, left, amounts) for name, left, amounts in totals if left is not None)


def are_overdrawn(
    totals: Iterable[Total], draft: Draft, choices: Sequence[Choice], scene: Scene
) -> bool:
    """Whether all that is still wanted draws too much of some name."""
    drawn: dict[Name, int] = defaultdict(int)
    for owner, purse in draft.purses.items():
        for name, amount in scene.drawn(owner, purse):
            drawn[name] += amount
    return any(_needed(total, choices) > total.left - drawn[total.name] for total in totals)


def _needed(total: Total, choices: Sequence[Choice]) -> int:
    """What the cheapest alternatives draw."""
    least = total.least
    return sum(
        [
            min([least.get(each.ask, 0) * each.wanted for each in choice.demands]) * choice.times
            for choice in choices
        ]
    )


def _least(problem: Problem, ask: Ask, good: Places) -> Mapping[Name, int]:
    """The least of each name that a device of the ask draws, of those that each of them draws."""
    least: dict[Name, int] | None = None
    for place in places.each(good):
        drawn: dict[Name, int] = defaultdict(int)
        for counter, amount in _draws(problem, ask, problem.candidates[place]):
            drawn[counter.pool, counter.name] += amount.exact_nano() or 0
        if least is None:
            least = {name: amount for name, amount in drawn.items() if amount > 0}
        else:
            least = {
                name: min(amount, drawn[name]) for name, amount in least.items() if drawn[name] > 0
            }
        if not least:
            break
    return least or {}


def _draws(
    problem: Problem, ask: Ask, candidate: Candidate
) -> Iterable[tuple[CounterId, Quantity]]:
    """What each pick of the device draws. A shared one draws fixed amounts once for many asks."""
    metered, _ = problem.scene.metered(ask, candidate)
    return metered if candidate.is_shareable else (*candidate.draws, *metered)


def _left(problem: Problem, name: Name) -> int | None:
    total = 0
    pool, counter = name
    left = problem.scene.left(pool)
    for each in problem.scene.shelf.pools[pool].counters.values():
        if counter not in each.counters:
            continue
        amount = left[CounterId(pool, each.name, counter)]
        if amount > ZERO:
            nano = amount.exact_nano()
            if nano is None:
                return None
            total += nano
    return total
