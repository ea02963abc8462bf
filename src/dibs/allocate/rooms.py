"""How many shares of shared devices can be had at most, before anybody tries (KEP-5075).

For a size t, whoever wants at least t of a capacity finds room on a device so many times as t goes
into what it has left. That is a bound for each size that is wanted; and all that is wanted
of a capacity together can't be more than all that is left of it.
Amounts are billionths as integers; what is finer or larger than can be written so isn't bounded.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from dibs.allocate import matching, places
from dibs.allocate.draft import Draft
from dibs.allocate.places import Places
from dibs.allocate.problem import Problem
from dibs.allocate.wants import Choice
from dibs.request.asks import Ask


@dataclass(frozen=True, slots=True, eq=False)
class Room:
    """One capacity: what is left of it at each place, and the least that each ask wants of it.

    `least` is counted over the shared devices that an ask may have. Asks that may have others too
    are not in `bound`: they might take nothing of any capacity.
    """

    problem: Problem
    name: str
    left: Mapping[int, int]
    least: Mapping[Ask, int]
    bound: frozenset[Ask]
    # How many shares one device gives at most, as far as it matters.
    most: int
    _layers: dict[tuple[int, tuple[tuple[int, int], ...]], matching.Layers] = field(
        default_factory=dict
    )

    def has_for(self, choices: Sequence[Choice], used: Mapping[int, int]) -> bool:
        """Whether there is room for all that is wanted of this capacity, beside what is used."""
        wants: list[tuple[int, Places, int]] = []
        sizes = set()
        needed, union = 0, 0
        for choice in choices:
            amounts = [self.least.get(each.ask, 0) for each in choice.demands]
            if not (size := min(amounts)):
                continue
            at = choice.places
            wants.append((size, at, choice.least))
            if size < ANY:
                sizes.add(size)
            if self.bound.issuperset([each.ask for each in choice.demands]):
                sums = [a * d.wanted for a, d in zip(amounts, choice.demands, strict=True)]
                needed += min(sums) * choice.times
                union |= at
        if not sizes:
            return True
        if needed:
            left = sum([self.left[place] for place in places.each(union)])
            left -= sum([amount for place, amount in used.items() if union >> place & 1])
            if needed > left:
                return False
        return all(
            matching.fits(
                [(at, least) for own, at, least in wants if own >= size], self._stacked(size, used)
            )
            for size in sizes
        )

    def used(self, draft: Draft) -> Mapping[int, int]:
        """What the draft has taken of it, by place."""
        used = {}
        for pick in draft.picks:
            if pick.share is not None and pick.place not in used and pick.place in self.left:
                amount = draft.uses[pick.candidate.id].consumed.get(self.name)
                used[pick.place] = 0 if amount is None else amount.exact_nano() or 0
        return used

    def _stacked(self, size: int, used: Mapping[int, int]) -> matching.Layers:
        """The places that can give a share of that size once, twice, …"""
        key = size, tuple(used.items())
        known = self._layers.get(key)
        if known is None:
            if len(self._layers) >= MOST_STACKED:
                self._layers.clear()
            stacked = [0] * self.most
            for place, left in self.left.items():
                for number in range(min(self.most, (left - used.get(place, 0)) // size)):
                    stacked[number] |= 1 << place
            # What isn't shared serves one.
            sole = ~places.of(self.left)
            layers = [(each, len(list(same))) for each, same in groupby(stacked) if each]
            known = self._layers[key] = [(sole, 1), *layers]
        return known


MOST_STACKED = 2_000

# Wanted of a capacity by who has no shared device to have it from: no bound to what it may be.
ANY = 10**90


def of(problem: Problem, good: Mapping[Ask, Places], shareable: Places) -> Sequence[Room]:
    """The capacities of shared devices of which every device of some ask gives something."""
    if not shareable:
        return ()
    most = sum(max(map(problem.needs.__getitem__, s.request.alternatives)) for s in problem.slots)
    names = dict.fromkeys(
        name
        for place in places.each(shareable)
        for name in problem.candidates[place].device.capacity
    )
    found = (_room(problem, good, shareable, name, most) for name in names)
    return [room for room in found if room is not None]


def _room(
    problem: Problem, good: Mapping[Ask, Places], shareable: Places, name: str, most: int
) -> Room | None:
    left: dict[int, int] = {}
    for place in places.each(shareable):
        room = problem.scene.room(problem.candidates[place]).get(name)
        nano = 0 if room is None else room.exact_nano()
        if nano is None:
            return None
        left[place] = max(nano, 0)
    least: dict[Ask, int] = {}
    bound = []
    known: dict[Hashable, int | None] = {}
    for ask in problem.asks:
        if ask.is_admin:
            continue
        at = good[ask] & shareable
        key = at, frozenset(ask.capacity.items())
        if key not in known:
            amounts = list(_wanted(problem, ask, at, name))
            sizes = [each for each in amounts if each is not None]
            known[key] = min(sizes, default=ANY) if len(sizes) == len(amounts) else None
        amount = known[key]
        if amount is None:
            return None
        if amount > 0:
            least[ask] = amount
            if at == good[ask]:
                bound.append(ask)
    if all(amount == ANY for amount in least.values()):
        return None
    return Room(problem, name, left, least, frozenset(bound), most)


def _wanted(problem: Problem, ask: Ask, good: Places, name: str) -> Iterator[int | None]:
    for place in places.each(good):
        amount = problem.scene.share(ask, problem.candidates[place])[0].get(name)
        yield 0 if amount is None else amount.exact_nano()
