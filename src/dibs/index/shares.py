"""What shared devices have left, roughly, for all nodes at once (KEP-5075).

For each capacity the room of a device is kept as a number of few digits, rounded down, bit by bit
in planes: who has too little even so has too little. A device that is asked for without a capacity
gives its default share, or all of it: whether that is left is one more plane. A device that is
given whole always has room here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from dibs.allocate import capacity
from dibs.index import bits, slotting
from dibs.index.bits import Planes, Set
from dibs.index.layout import Layout
from dibs.index.loading import Load, Tray
from dibs.supply.identity import PoolId
from dibs.supply.ledger import Ledger
from dibs.supply.published import Candidate
from dibs.values.quantity import Quantity

# A number is its length in bits, and its four leading ones: steps of 6 %.
LEADING = 4
DIGITS = 10
# The plane of devices that can't give their default share, beside those of the digits.
SHORT = DIGITS

# What is wanted of capacities: each with its number, which is worked out once a wish.
Wanted = tuple[tuple[str, int], ...]
# One bit of the number of every device, digit by digit, then the plane of SHORT.
Told = tuple[Set, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Room:
    """What devices have left of one capacity: planes by digit and slot, and sets for each load
    without slots, by digit."""

    slots: tuple[Planes, ...]
    wide: Mapping[Load, Told]


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """The room of each capacity that is shared. Empty where nothing is: then it costs nothing."""

    rooms: Mapping[str, Room]

    @classmethod
    def of(cls, layout: Layout, ledger: Ledger) -> Shares:
        looking = _Looking(ledger)
        rooms = {}
        for name in sorted(_names(chain.from_iterable(layout.trays.values()))):
            told = looking.by_digit(name)
            wide = {tray.load: tuple(each(tray) for each in told) for tray in layout.wide}
            rooms[name] = Room(tuple(slotting.planes(layout, each) for each in told), wide)
        return cls(rooms)

    def with_layout(
        self, before: Layout, layout: Layout, ledger: Ledger, pools: Iterable[PoolId]
    ) -> Shares:
        """After these pools have changed, or who sees them."""
        trays = chain.from_iterable(layout.trays.get(pool, ()) for pool in pools)
        if not _names(trays) <= set(self.rooms):
            return Shares.of(layout, ledger)
        looking = _Looking(ledger)
        rooms = {}
        for name, room in self.rooms.items():
            told = looking.by_digit(name)
            wide = {
                tray.load: room.wide[tray.load]
                if tray.load in room.wide
                else tuple(each(tray) for each in told)
                for tray in layout.wide
            }
            slots = (
                slotting.patched(planes, before, layout, each)
                for planes, each in zip(room.slots, told, strict=True)
            )
            rooms[name] = Room(tuple(slots), wide)
        return Shares(rooms)

    def with_ledger(self, ledger: Ledger, touched: Iterable[tuple[Tray, int]]) -> Shares:
        """After the devices at these places of trays are held otherwise."""
        shared = [(t, p) for t, p in touched if t.load.candidates[p].is_shareable]
        if not shared or not self.rooms:
            return self
        looking = _Looking(ledger)
        rooms = {}
        for name, room in self.rooms.items():
            slots, wide = [list(planes) for planes in room.slots], dict(room.wide)
            for tray, place in shared:
                bits_ = looking.bits(tray.load.candidates[place], name)
                if tray.slot is None:
                    wide[tray.load] = tuple(
                        told & ~(1 << place) | is_set << place
                        for told, is_set in zip(wide[tray.load], bits_, strict=True)
                    )
                    continue
                for planes, is_set in zip(slots, bits_, strict=True):
                    if bool(planes[tray.slot + place] & tray.nodes) != is_set:
                        planes[tray.slot + place] ^= tray.nodes
            rooms[name] = Room(tuple(tuple(planes) for planes in slots), wide)
        return Shares(rooms)

    def in_slot(self, slot: int, wanted: Wanted) -> Set:
        """The nodes whose device in a slot may have room for what is wanted of capacities."""
        found, least = -1, dict(wanted)
        for name, room in self.rooms.items():
            found &= _roomy([planes[slot] for planes in room.slots], least.get(name))
        return found

    def on_load(self, load: Load, wanted: Wanted) -> Set:
        """The devices of a load that may have room."""
        found, least = -1, dict(wanted)
        for name, room in self.rooms.items():
            found &= _roomy(room.wide[load], least.get(name))
        return found


def wanted_of(amounts: Mapping[str, Quantity]) -> Wanted:
    return tuple((name, number(amount)) for name, amount in amounts.items())


def _roomy(told: Sequence[Set], least: int | None) -> Set:
    """Who has at least that number; without one, who can give a default share."""
    if least is None:
        return ~told[SHORT]
    enough = -1
    for digit in range(DIGITS):
        members = told[digit]
        enough = members & enough if least >> digit & 1 else members | enough
    return enough


def number(amount: Quantity) -> int:
    """Never smaller for a larger amount. Thousandths are kept within 63 bits, so it has room."""
    milli = amount.milli_rounded_up()
    if milli <= 0:
        return 0
    length = milli.bit_length()
    leading = (milli << LEADING >> length - 1) & (1 << LEADING) - 1
    return length << LEADING | leading


class _Looking:
    """Looks at what is left of capacities on one ledger, at each device once."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._known: dict[tuple[Candidate, str], tuple[bool, ...]] = {}

    def by_digit(self, name: str) -> tuple[slotting.Told, ...]:
        """For each digit, and SHORT: which devices of a tray have that bit."""
        return tuple(self._telling(name, digit) for digit in range(DIGITS + 1))

    def _telling(self, name: str, digit: int) -> slotting.Told:
        def told(tray: Tray) -> Set:
            found = bits.NONE
            for place, candidate in enumerate(tray.load.candidates):
                if self.bits(candidate, name)[digit]:
                    found |= 1 << place
            return found

        return told

    def bits(self, candidate: Candidate, name: str) -> tuple[bool, ...]:
        key = candidate, name
        if key not in self._known:
            room, is_short = self._room(candidate, name)
            self._known[key] = (*(bool(room >> digit & 1) for digit in range(DIGITS)), is_short)
        return self._known[key]

    def _room(self, candidate: Candidate, name: str) -> tuple[int, bool]:
        """The number of what is left, and whether that is less than a default share."""
        published = candidate.device.capacity
        if not candidate.is_shareable or name not in published:
            return (1 << DIGITS) - 1, False
        held = self._ledger.held(candidate.id).consumed
        room = capacity.room(published, held)[name]
        in_milli = self._ledger.features.fractional_capacity_range
        share, why = capacity.consumption({name: published[name]}, {}, in_milli=in_milli)
        return number(room), not why and share[name] > room


def _names(trays: Iterable[Tray]) -> set[str]:
    """The capacities that some shared device has."""
    return set[str]().union(*(tray.load.shared for tray in trays))
