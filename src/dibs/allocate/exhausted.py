"""Which counter or capacity a refusal is about when devices fit one by one but not all at once.

For each counter: how many of the fitting partitions it could give at most, taking those that draw
least (KEP-4815). A counter that is enough for fewer than wanted explains the refusal; where only
the way in which partitions lie keeps them apart there is none, and nothing is said.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from dibs.allocate import counters
from dibs.allocate.counters import Drawing
from dibs.allocate.problem import Problem
from dibs.request.asks import Ask
from dibs.supply.identity import CounterId, PoolId
from dibs.values.quantity import Quantity

ZERO = Quantity.of(0)

Name = tuple[PoolId, str]


def by_one(problem: Problem, ask: Ask, fitting: Sequence[int], wanted: int) -> str:
    """The counter that has too little for `wanted` of these places; "" when none has."""
    for name, draws in _draws(problem, fitting).items():
        most = sum(
            _most(amounts, problem.scene.left(counter.pool)[counter])
            for counter, amounts in draws.items()
        )
        others = len(fitting) - sum(map(len, draws.values()))
        if most + others < wanted and not ask.is_admin:
            what = _told(problem, name, tuple(draws))
            return f"{what}, enough for {most + others} of {wanted}"
    return ""


def together(problem: Problem, asks: Sequence[tuple[Ask, Sequence[int], int]]) -> str:
    """What is too little for all requests at once: each with its places and how many it needs."""
    return by_all(problem, asks) or by_shares(problem, asks)


def by_all(problem: Problem, asks: Sequence[tuple[Ask, Sequence[int], int]]) -> str:
    """The counter that has too little for all requests together, each with the least it draws."""
    drawn: dict[int, Mapping[Name, Mapping[CounterId, Sequence[Quantity]]]] = {}
    for _, places, _ in asks:
        if id(places) not in drawn:
            drawn[id(places)] = _draws(problem, places)
    for name in dict.fromkeys(name for each in drawn.values() for name in each):
        sets: dict[CounterId, None] = {}
        needed = ZERO
        for ask, places, count in asks:
            draws = {} if ask.is_admin else drawn[id(places)].get(name, {})
            sets |= dict.fromkeys(draws)
            amounts = [amount for each in draws.values() for amount in each]
            if len(amounts) == len(places) and amounts:
                needed = needed.plus(min(amounts).times(Quantity.of(count)))
        left = ZERO
        for counter in sets:
            left = left.plus(max(problem.scene.left(counter.pool)[counter], ZERO))
        if needed > left:
            return f"{_told(problem, name, tuple(sets))}, at least {needed} needed"
    return ""


def by_shares(problem: Problem, asks: Sequence[tuple[Ask, Sequence[int], int]]) -> str:
    """The capacity of shared devices that has too little for all requests together (KEP-5075).

    Either the sum is too small, or each device has room for too few of even the smallest share.
    """
    wanted = [each for each in asks if _is_shared(problem, each[0], each[1])]
    places = dict.fromkeys(place for _, fitting, _ in wanted for place in fitting)
    names = dict.fromkeys(
        name for place in places for name in problem.candidates[place].device.capacity
    )
    for name in names:
        rooms = [problem.scene.room(problem.candidates[place]).get(name, ZERO) for place in places]
        shares = [(_least_share(problem, ask, fits, name), count) for ask, fits, count in wanted]
        shares = [(share, count) for share, count in shares if share > ZERO]
        needed, left, number = ZERO, ZERO, sum(count for _, count in shares)
        for share, count in shares:
            for _ in range(count):
                needed = needed.plus(share)
        for room in rooms:
            left = left.plus(max(room, ZERO))
        if needed > left:
            return f"{_where(problem, list(places), name)}: {left} left, {needed} needed"
        least = min((share for share, _ in shares), default=ZERO)
        most = sum(_most([least] * number, room) for room in rooms) if least > ZERO else number
        if most < number:
            what = _where(problem, list(places), name)
            return f"{what}: enough for {most} of {number} shares of at least {least}"
    return ""


def _is_shared(problem: Problem, ask: Ask, fitting: Sequence[int]) -> bool:
    return (
        not ask.is_admin
        and bool(fitting)
        and all(problem.candidates[place].is_shareable for place in fitting)
    )


def _least_share(problem: Problem, ask: Ask, fitting: Sequence[int], name: str) -> Quantity:
    taken = (problem.scene.share(ask, problem.candidates[place])[0] for place in fitting)
    return min((each.get(name, ZERO) for each in taken), default=ZERO)


def _where(problem: Problem, places: Sequence[int], name: str) -> str:
    if len(places) == 1:
        return f"{name} of {problem.candidates[places[0]].id.device}"
    return f"{name} of {len(places)} devices"


def _draws(
    problem: Problem, places: Iterable[int]
) -> Mapping[Name, Mapping[CounterId, Sequence[Quantity]]]:
    """What the partitions at these places draw, by name and counter. Shares draw once for many."""
    found: dict[Name, dict[CounterId, list[Quantity]]] = defaultdict(lambda: defaultdict(list))
    for place in places:
        candidate = problem.candidates[place]
        if not candidate.is_shareable and not candidate.meters:
            for counter, amount in candidate.draws:
                if amount > ZERO:
                    found[counter.pool, counter.name][counter].append(amount)
    return found


def _most(amounts: Sequence[Quantity], left: Quantity) -> int:
    for number, amount in enumerate(sorted(amounts)):
        left = left.minus(amount)
        if left < ZERO:
            return number
    return len(amounts)


def _told(problem: Problem, name: Name, sets: Sequence[CounterId]) -> str:
    """`gpu-0/memory: 40Gi left; default/serve draws 40Gi`, or the sum over several cards."""
    if len(sets) == 1:
        drawn = counters.drawn_by(sets[0], problem.scene.drawings(name[0]))
        left = max(problem.scene.left(name[0])[sets[0]], ZERO)
        by = f" ({drawn})" if drawn else ""
        return f"{sets[0].set}/{name[1]}: {left} left{by}"
    left = ZERO
    for counter in sets:
        left = left.plus(max(problem.scene.left(counter.pool)[counter], ZERO))
    drawings: list[Drawing] = list(problem.scene.drawings(name[0]))
    claims = {each.claim for each in drawings if each.counter in sets and each.amount > ZERO}
    by = f", {len(claims)} other claims draw from them" if claims else ""
    return f"{name[1]} of {len(sets)} cards: {left} left{by}"
