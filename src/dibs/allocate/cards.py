"""Which partitions belong to one card, and which cards are alike (KEP-4815).

Devices that draw from the same counters, directly or through others, form a card. Two cards are
alike when the i-th device of one can stand for the i-th device of the other in every respect:
then, as long as both are in the same state, trying one of them is enough.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from dibs.allocate.scene import Scene
from dibs.supply.identity import CounterId, PoolId
from dibs.supply.pools import Candidate


@dataclass(frozen=True, slots=True)
class Card:
    """`places` says, by bits, where its devices are; cards with equal `kind` are alike."""

    kind: int
    first: int
    last: int
    places: int

    def state(self, taken: int) -> int:
        """Which of its devices are taken, counted from its first: comparable between cards."""
        return (taken & self.places) >> self.first

    def passed(self, start: int) -> int:
        """How far a search that goes on from `start` has passed the card."""
        return min(max(start - self.first, 0), self.last - self.first + 1)


def deal(
    candidates: Sequence[Candidate], kinds: Sequence[Hashable], scene: Scene
) -> Mapping[int, Card]:
    """Find the cards, by place; `kinds` is what else than counters tells the devices apart.

    A card with a shareable device isn't dealt: what its shares hold is no part of its state.
    """
    dealt: dict[int, Card] = {}
    numbers: dict[Hashable, int] = {}
    for places in _components(candidates):
        if any(candidates[place].is_shareable for place in places):
            continue
        look = tuple(_look(candidates, kinds, places, scene))
        first = places[0]
        kind = numbers.setdefault(look, len(numbers))
        card = Card(kind, first, places[-1], sum(1 << place for place in places))
        dealt.update((place, card) for place in places)
    return dealt


def _components(candidates: Sequence[Candidate]) -> Iterable[list[int]]:
    """The places of each card, in order."""
    owner: dict[tuple[PoolId, str], int] = {}
    parent = list(range(len(candidates)))

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    for place, candidate in enumerate(candidates):
        for counter, _ in candidate.draws:
            first = owner.setdefault((counter.pool, counter.set), place)
            parent[root(place)] = root(first)
    together: dict[int, list[int]] = defaultdict(list)
    for place, candidate in enumerate(candidates):
        if candidate.draws:
            together[root(place)].append(place)
    return together.values()


def _look(
    candidates: Sequence[Candidate],
    kinds: Sequence[Hashable],
    places: Sequence[int],
    scene: Scene,
) -> Iterable[Hashable]:
    """What a card looks like when its counters are called by number instead of by name."""
    numbers: dict[CounterId, int] = {}
    for place in places:
        # Counters of one set are told apart by name and so come in one order on all cards.
        draws = sorted(candidates[place].draws, key=lambda draw: (draw[0].set, draw[0].name))
        drawn = tuple(
            (numbers.setdefault(counter, len(numbers)), amount) for counter, amount in draws
        )
        yield place - places[0], kinds[place], drawn
    yield tuple(scene.left(counter.pool)[counter] for counter in numbers)
