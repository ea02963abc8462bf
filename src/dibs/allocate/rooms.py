"""How many shares of shared devices can be had at most, before anybody tries (KEP-5075).

For a size t, whoever wants at least t of a capacity finds room on a device so many times as t goes
into what it has left. That is a bound for each size that is wanted; and all that is wanted
of a capacity together can't be more than all that is left of it.
Amounts are billionths as integers; what is finer or larger than can be written so isn't bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dibs.allocate import matching, places
from dibs.allocate.draft import Draft
from dibs.allocate.places import Places
from dibs.allocate.problem import Problem
from dibs.allocate.wants import Choice
from dibs.request.asks import Ask


@dataclass(frozen=True, slots=True, eq=False)
class Room:
    """One capacity: what is left of it at each place, and the least that each ask wants of it.

    Asks that may have other devices than shared ones, or none of this capacity, aren't there.
    """

    problem: Problem
    name: str
    left: Mapping[int, int]
    least: Mapping[Ask, int]
    # How many shares one device gives at most, as far as it matters.
    most: int
    _layers: dict[int, Sequence[Places]] = field(default_factory=dict)

    def has_for(self, choices: Sequence[Choice], draft: Draft) -> bool:
        """Whether there is room for all that is still wanted of this capacity."""
        wants: list[tuple[int, Choice]] = []
        needed, union = 0, 0
        for choice in choices:
            amounts = [self.least.get(each.ask, 0) for each in choice.demands]
            if all(amounts):
                wants.append((min(amounts), choice))
                sums = [a * d.wanted for a, d in zip(amounts, choice.demands, strict=True)]
                needed += min(sums) * choice.times
                union |= choice.places
        if not wants:
            return True
        used = self._used(draft)
        left = sum(self.left[place] for place in places.each(union))
        left -= sum(amount for place, amount in used.items() if union >> place & 1)
        return needed <= left and all(
            matching.fits(
                [(choice.places, choice.least) for least, choice in wants if least >= size],
                self._stacked(size, used),
            )
            for size in {least for least, _ in wants}
        )

    def _used(self, draft: Draft) -> Mapping[int, int]:
        """What the draft has taken of it, by place."""
        used = {}
        for place in {pick.place for pick in draft.picks if pick.share is not None}:
            use = draft.uses[self.problem.candidates[place].id]
            amount = use.consumed.get(self.name)
            if place in self.left and amount is not None:
                used[place] = amount.exact_nano() or 0
        return used

    def _stacked(self, size: int, used: Mapping[int, int]) -> Sequence[Places]:
        """The places that can give a share of that size once, twice, …"""
        layers = self._layers.get(size)
        if layers is None:
            stacked = [0] * self.most
            for place, left in self.left.items():
                for number in range(min(self.most, left // size)):
                    stacked[number] |= 1 << place
            layers = self._layers[size] = [layer for layer in stacked if layer]
        if not used:
            return layers
        stacked = list(layers)
        for place, amount in used.items():
            for number in range(max(0, (self.left[place] - amount) // size), len(stacked)):
                stacked[number] &= ~(1 << place)
        return stacked


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
    for ask in problem.asks:
        if ask.is_admin or good[ask] & ~shareable:
            continue
        amounts = list(_wanted(problem, ask, good[ask], name))
        if None in amounts:
            return None
        amount = min((each for each in amounts if each is not None), default=0)
        if amount > 0:
            least[ask] = amount
    return Room(problem, name, left, least, most) if least else None


def _wanted(problem: Problem, ask: Ask, good: Places, name: str) -> Iterator[int | None]:
    for place in places.each(good):
        amount = problem.scene.share(ask, problem.candidates[place])[0].get(name)
        yield 0 if amount is None else amount.exact_nano()
