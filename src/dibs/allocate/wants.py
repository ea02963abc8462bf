"""What a draft still wants, slot by slot, in few words: equal slots are counted, not repeated.

A `Choice` is what one slot wants, in one of several ways where it has alternatives; so many equal
slots want it. How the bounds read that is theirs.
Source: KEP-4816 (alternatives).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dibs.allocate.places import Places
from dibs.allocate.problem import Problem, Slot
from dibs.request.asks import Ask


class Demand(NamedTuple):
    """So many more devices for an ask, each from these places."""

    ask: Ask
    places: Places
    wanted: int


class Choice(NamedTuple):
    """Demands of which one is to be met, by each of `times` slots."""

    demands: tuple[Demand, ...]
    times: int

    @property
    def least(self) -> int:
        """How many devices it takes at least, all slots together."""
        if len(self.demands) == 1:
            return self.demands[0].wanted * self.times
        return min([each.wanted for each in self.demands]) * self.times

    @property
    def places(self) -> Places:
        """Where they may be."""
        if len(self.demands) == 1:
            return self.demands[0].places
        union = 0
        for each in self.demands:
            union |= each.places
        return union

    @property
    def possible(self) -> Choice | None:
        """The choice without the demands that can't be met alone; None if that leaves none."""
        demands = self.demands
        if len(demands) == 1:
            _, at, wanted = demands[0]
            return self if 0 < wanted <= at.bit_count() else None
        met = tuple([each for each in demands if 0 < each.wanted <= each.places.bit_count()])
        if len(met) == len(demands):
            return self
        return Choice(met, self.times) if met else None


class Run(NamedTuple):
    """Slots that want the same; the first of them stands for all."""

    slot: Slot
    times: int


@dataclass(frozen=True, slots=True, eq=False)
class Rest:
    """The slots from each number on, equal ones together. `repeats` are those like the one before.

    Slots are put together when needed, and remembered for as many as that stays small.
    """

    problem: Problem
    sorts: Mapping[Ask, int]
    repeats: frozenset[int]
    _known: dict[int, Sequence[Run]] = field(default_factory=dict)

    def chain(self, number: int) -> int:
        """How many slots from this one on want the same as the slot before."""
        end = number
        while end in self.repeats:
            end += 1
        return end - number

    def after(self, number: int) -> Sequence[Run]:
        """All slots from this one on."""
        found = self._known.get(number)
        if found is None:
            runs: dict[tuple[int, ...], tuple[Slot, int]] = {}
            for slot in self.problem.slots[number:]:
                want = tuple([self.sorts[ask] for ask in slot.request.alternatives])
                first, times = runs.get(want, (slot, 0))
                runs[want] = first, times + 1
            found = [Run(slot, times) for slot, times in runs.values()]
            if len(found) * len(self._known) < _MOST_KNOWN:
                self._known[number] = found
        return found


_MOST_KNOWN = 100_000
