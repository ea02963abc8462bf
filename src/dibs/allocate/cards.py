"""Which partitions belong to one card, and which cards are alike (KEP-4815).

Devices that draw from the same counters, directly or through others, form a card. Two cards are
alike when the i-th device of one can stand for the i-th device of the other in every respect:
then, as long as both are in the same state, trying one of them is enough.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from dibs.allocate import places as bits
from dibs.allocate.places import Places
from dibs.supply.identity import CounterId, CounterSetId
from dibs.supply.pools import Candidate


@dataclass(frozen=True, slots=True)
class Card:
    """`places` says, by bits, where its devices are; cards with equal `kind` are alike."""

    kind: int
    first: int
    last: int
    places: Places

    def state(self, taken: int) -> int:
        """Which of its devices are taken, counted from its first: comparable between cards."""
        return (taken & self.places) >> self.first

    def passed(self, start: int) -> int:
        """How far a search that goes on from `start` has passed the card."""
        return min(max(start - self.first, 0), self.last - self.first + 1)


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A card as it is published: `shape` is equal for cards that are built alike."""

    places: tuple[int, ...]
    all: Places
    shape: Hashable
    counters: tuple[CounterId, ...]
    sets: tuple[CounterSetId, ...]


def plans(candidates: Sequence[Candidate]) -> Sequence[Plan]:
    """The cards that can be exchanged for others if they are alike.

    Not one with a shareable device: what its shares hold is no part of its state. Nor one of which
    a device draws as much as is wanted of it.
    """
    shapes: dict[Hashable, int] = {}
    found = []
    for at in _components(candidates):
        if any(candidates[place].is_shareable or candidates[place].meters for place in at):
            continue
        numbers: dict[CounterId, int] = {}
        sets: dict[CounterSetId, int] = {}
        look = tuple(_look(candidates, at, numbers, sets))
        shape = shapes.setdefault(look, len(shapes))
        found.append(Plan(tuple(at), bits.of(at), shape, tuple(numbers), tuple(sets)))
    return found


def _components(candidates: Sequence[Candidate]) -> Iterable[list[int]]:
    """The places of each card, in order."""
    owner: dict[CounterSetId, int] = {}
    parent = list(range(len(candidates)))

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    for place, candidate in enumerate(candidates):
        for counter_set, _ in candidate.groups:
            parent[root(place)] = root(owner.setdefault(counter_set, place))
    together: dict[int, list[int]] = defaultdict(list)
    for place, candidate in enumerate(candidates):
        if candidate.groups:
            together[root(place)].append(place)
    return together.values()


def _look(
    candidates: Sequence[Candidate],
    places: Sequence[int],
    numbers: dict[CounterId, int],
    sets: dict[CounterSetId, int],
) -> Iterable[Hashable]:
    """What a card looks like when its counters are called by number instead of by name."""
    for place in places:
        # Counters of one set are told apart by name and so come in one order on all cards.
        draws = sorted(candidates[place].draws, key=lambda draw: (draw[0].set, draw[0].name))
        drawn = tuple(
            (numbers.setdefault(counter, len(numbers)), amount) for counter, amount in draws
        )
        members = tuple(
            (sets.setdefault(counter_set, len(sets)), groups)
            for counter_set, groups in sorted(candidates[place].groups, key=lambda each: each[0])
        )
        yield place - places[0], drawn, members
