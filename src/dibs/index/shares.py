"""What shared devices have left, roughly, for all nodes at once (KEP-5075).

For each capacity the room of a device is kept as a number of few digits, rounded down, bit by bit
in planes: who has too little even so has too little. A device that is asked for without a capacity
gives its default share, or all of it: whether that is left is one more plane. A device that is
given whole always has room here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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

Wanted = tuple[tuple[str, Quantity], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """One bit of every device: a plane a slot, and a set for each load without slots."""

    slots: Planes
    wide: Mapping[Load, Set]


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """Families by capacity and digit. Empty where nothing is shared: then it costs nothing."""

    names: tuple[str, ...]
    families: Mapping[tuple[str, int], Family]

    @classmethod
    def of(cls, layout: Layout, ledger: Ledger) -> Shares:
        rooms = _Rooms(ledger)
        names = tuple(sorted(_names(chain.from_iterable(layout.trays.values()))))
        families = {}
        for key in ((name, digit) for name in names for digit in range(DIGITS + 1)):
            told = rooms.telling(*key)
            wide = {tray.load: told(tray) for tray in layout.wide}
            families[key] = Family(slotting.planes(layout, told), wide)
        return cls(names, families)

    def with_layout(
        self, before: Layout, layout: Layout, ledger: Ledger, pools: Iterable[PoolId]
    ) -> Shares:
        """After these pools have changed, or who sees them."""
        trays = chain.from_iterable(layout.trays.get(pool, ()) for pool in pools)
        if not _names(trays) <= set(self.names):
            return Shares.of(layout, ledger)
        rooms = _Rooms(ledger)
        families = {}
        for key, family in self.families.items():
            told = rooms.telling(*key)
            wide = {
                tray.load: family.wide[tray.load] if tray.load in family.wide else told(tray)
                for tray in layout.wide
            }
            families[key] = Family(slotting.patched(family.slots, before, layout, told), wide)
        return Shares(self.names, families)

    def with_ledger(self, ledger: Ledger, touched: Iterable[tuple[Tray, int]]) -> Shares:
        """After the devices at these places of trays are held otherwise."""
        shared = [(t, p) for t, p in touched if t.load.candidates[p].is_shareable]
        if not shared or not self.families:
            return self
        rooms = _Rooms(ledger)
        families = {}
        for (name, digit), family in self.families.items():
            slots, wide = list(family.slots), dict(family.wide)
            for tray, place in shared:
                is_set = rooms.bit(tray.load.candidates[place], name, digit)
                if tray.slot is None:
                    wide[tray.load] = wide[tray.load] & ~(1 << place) | is_set << place
                elif bool(slots[tray.slot + place] & tray.nodes) != is_set:
                    slots[tray.slot + place] ^= tray.nodes
            families[name, digit] = Family(tuple(slots), wide)
        return Shares(self.names, families)

    def in_slot(self, slot: int, wanted: Wanted) -> Set:
        """The nodes whose device in a slot may have room for what is wanted of capacities."""
        return self._roomy(lambda family: family.slots[slot], wanted)

    def on_load(self, load: Load, wanted: Wanted) -> Set:
        """The devices of a load that may have room."""
        return self._roomy(lambda family: family.wide[load], wanted)

    def _roomy(self, plane: Callable[[Family], Set], wanted: Wanted) -> Set:
        amounts = dict(wanted)
        found = -1
        for name in self.names:
            if name not in amounts:
                found &= ~plane(self.families[name, SHORT])
                continue
            least = number(amounts[name])
            enough = -1
            for digit in range(DIGITS):
                members = plane(self.families[name, digit])
                enough = members & enough if least >> digit & 1 else members | enough
            found &= enough
        return found


def number(amount: Quantity) -> int:
    """Never smaller for a larger amount. Thousandths are kept within 63 bits, so it has room."""
    milli = amount.milli_rounded_up()
    if milli <= 0:
        return 0
    length = milli.bit_length()
    leading = (milli << LEADING >> length - 1) & (1 << LEADING) - 1
    return length << LEADING | leading


class _Rooms:
    """What is left of capacities on one ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._known: dict[tuple[Candidate, str], tuple[int, bool]] = {}

    def telling(self, name: str, digit: int) -> slotting.Told:
        def told(tray: Tray) -> Set:
            found = bits.NONE
            for place, candidate in enumerate(tray.load.candidates):
                if self.bit(candidate, name, digit):
                    found |= 1 << place
            return found

        return told

    def bit(self, candidate: Candidate, name: str, digit: int) -> bool:
        key = candidate, name
        if key not in self._known:
            self._known[key] = self._room(candidate, name)
        room, is_short = self._known[key]
        return is_short if digit == SHORT else bool(room >> digit & 1)

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
