"""How many of some devices can be had at most when each card goes in one mode only (KEP-5963).

All users of a counter set have a compatibility group in common. So of a card's devices no more
can be had than have the group that most of them have; a device of two cards is counted with one.
Which devices still go with what uses the card is in the draft already (`bounds`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from dibs.allocate.places import Places
from dibs.supply.identity import CounterSetId
from dibs.supply.pools import Candidate


class Card(NamedTuple):
    """The places of its devices, all and by group."""

    all: Places
    by_group: tuple[Places, ...]


def of(candidates: Sequence[Candidate]) -> Sequence[Card]:
    """The cards that have devices of several modes."""
    groups: dict[CounterSetId, dict[str, Places]] = defaultdict(lambda: defaultdict(int))
    everything: dict[CounterSetId, Places] = defaultdict(int)
    for place, candidate in enumerate(candidates):
        if not candidate.groups:
            continue
        owner, names = candidate.groups[0]
        everything[owner] |= 1 << place
        for name in names:
            groups[owner][name] |= 1 << place
    return [
        Card(everything[owner], tuple(by_group.values()))
        for owner, by_group in groups.items()
        if everything[owner] not in by_group.values()
    ]


def most(places: Places, cards: Sequence[Card]) -> int:
    """No more of the places than this can be had."""
    count = places.bit_count()
    for card in cards:
        if here := places & card.all:
            count -= here.bit_count()
            count += max((here & each).bit_count() for each in card.by_group)
    return count
