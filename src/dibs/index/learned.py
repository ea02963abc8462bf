"""Which devices pass which tests, slot by slot; what was learned is kept, and kept up to date.

Devices are grouped by what a test looks at; another test with the same look asks one device of each
group. Everything kept says for which layout it holds: on another one only nodes whose trays are
others are looked at again, so nothing gets stale. This object is shared by all forks of an index.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dibs.index import bits, grouping, looks, slotting
from dibs.index.bits import Planes, Set
from dibs.index.grouping import Group, Grouping
from dibs.index.layout import Layout
from dibs.index.loading import Load, Tray
from dibs.index.looks import Look, Pin, Shareable, Test
from dibs.index.wants import Want
from dibs.model.objects import DeviceClass
from dibs.values.stats import Kept, Stats

# So many groups are kept, of all looks together: some 10 KiB each in the largest clusters.
MOST_GROUPS = 2_048
# So many tests, and combinations of tests, with their planes.
MOST_TESTS = 512
# Claims are read once for so many different specifications.
MOST_WANTS = 1_024
# Devices that are found by an attribute, of all attributes together: some 300 bytes each.
MOST_SPOTS = 200_000
# The same of tests that ask devices one by one.
MOST_JUDGED = 64


@dataclass(frozen=True, slots=True, eq=False)
class Good:
    """Devices that pass: `slots` with their nodes, sparse, and `wide` with their loads.

    On nodes in `fails` a test fails on some device.
    """

    layout: Layout
    slots: Mapping[int, Set]
    wide: Mapping[Load, Set]
    fails: Set


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """What a test said of devices one by one: who passes and on whom it fails."""

    layout: Layout
    passed: Planes
    failed: Planes
    wide: Mapping[Load, tuple[Set, Set]]

    def good(self) -> Good:
        fails = bits.union(self.failed)
        reach = self.layout.reach
        fails |= bits.union(reach[load] for load, (_, failed) in self.wide.items() if failed)
        wide = {load: passed for load, (passed, _) in self.wide.items()}
        return _good(self.layout, dict(enumerate(self.passed)), wide, fails)


# A device's place in a tray.
Spot = tuple[Tray, int]


@dataclass(frozen=True, slots=True, eq=False)
class Spots:
    """The devices of a layout by a look that differs on nearly each of them."""

    layout: Layout
    by_look: Mapping[Hashable, Sequence[Spot]]

    def __len__(self) -> int:
        return len(self.by_look)


class _Read(NamedTuple):
    classes: Mapping[str, DeviceClass]
    want: Want | None


class Learned:
    """Owns what was learned, each kind with its bound."""

    def __init__(self) -> None:
        self._groupings: Kept[Look, Grouping] = Kept("groups of devices", MOST_GROUPS, len)
        self._passed: Kept[Test, Good] = Kept("tests of devices", MOST_TESTS)
        self._spots: Kept[Look, Spots] = Kept("devices by an attribute", MOST_SPOTS, len)
        self._judged: Kept[Test, Judged] = Kept("tests of single devices", MOST_JUDGED)
        self._wants: Kept[bytes, _Read] = Kept("wants", MOST_WANTS)
        self._combined: Kept[tuple[Test, ...], Good] = Kept("combined tests", MOST_TESTS)

    def good(self, layout: Layout, tests: tuple[Test, ...]) -> Good:
        """The devices that pass all of the tests; at least one test."""
        known = self._combined.get(tests)
        if known is not None and known.layout is layout:
            return known
        return self._combined.put(
            tests, _all_of(layout, [self._passing(layout, test) for test in tests])
        )

    def want(
        self, key: bytes, classes: Mapping[str, DeviceClass], read: Callable[[], Want | None]
    ) -> Want | None:
        """What claims of this key want; read again when the classes are others."""
        known = self._wants.get(key)
        if known is None or known.classes is not classes:
            known = self._wants.put(key, _Read(classes, read()))
        return known.want

    def shareable(self, layout: Layout) -> Good:
        """The devices that are given in shares."""
        return self.good(layout, (Shareable(),))

    @property
    def stats(self) -> tuple[Stats, ...]:
        kept = (
            self._wants,
            self._groupings,
            self._passed,
            self._spots,
            self._judged,
            self._combined,
        )
        return tuple(each.stats for each in kept)

    def _passing(self, layout: Layout, test: Test) -> Good:
        known = self._passed.get(test)
        if known is not None and known.layout is layout:
            return known
        groups = self.groups(layout, test.look)
        if groups is not None:
            return self._passed.put(test, _by_group(layout, test, groups))
        if (pin := looks.pin_of(test)) is not None:
            return self._passed.put(test, _pinned(layout, test, self._found(layout, pin)))
        judged = self._judged.put(test, _one_by_one(layout, test, self._judged.get(test)))
        return self._passed.put(test, judged.good())

    def _found(self, layout: Layout, pin: Pin) -> Sequence[Spot]:
        """Where a device is that may pass a test of this pin."""
        known = self._spots.get(pin.look)
        if known is None or known.layout is not layout:
            known = self._spots.put(pin.look, Spots(layout, _spots(layout, pin.look)))
        return [spot for seen in pin.seen for spot in known.by_look.get(seen, ())]

    def groups(self, layout: Layout, look: Look) -> Mapping[Hashable, Group] | None:
        """The devices by a look; None when nearly each looks different."""
        known = self._groupings.get(look)
        if known is None or known.layout is not layout:
            known = self._groupings.put(look, grouping.grouped(layout, look, known))
        return known.groups


def _all_of(layout: Layout, parts: Sequence[Good]) -> Good:
    first, *others = parts
    slots, wide, fails = dict(first.slots), dict(first.wide), first.fails
    for other in others:
        theirs, wider = other.slots, other.wide
        slots = {slot: nodes & theirs[slot] for slot, nodes in slots.items() if slot in theirs}
        wide = {load: places & wider[load] for load, places in wide.items() if load in wider}
        fails |= other.fails
    return _good(layout, slots, wide, fails)


def _good(layout: Layout, slots: Mapping[int, Set], wide: Mapping[Load, Set], fails: Set) -> Good:
    return Good(
        layout,
        {slot: nodes for slot, nodes in slots.items() if nodes},
        {load: places for load, places in wide.items() if places},
        fails,
    )


# --- by group ------------------------------------------------------------------------------------


def _by_group(layout: Layout, test: Test, groups: Mapping[Hashable, Group]) -> Good:
    slots: dict[int, Set] = {}
    wide: dict[Load, Set] = {}
    fails = bits.NONE
    for group in groups.values():
        passes = test.passes(group.candidate)
        if passes is None:
            fails |= bits.union(group.slots.values())
            fails |= bits.union(layout.reach[load] for load in group.wide)
        if passes:
            for slot, nodes in group.slots.items():
                slots[slot] = slots.get(slot, bits.NONE) | nodes
            for load, places in group.wide.items():
                wide[load] = wide.get(load, bits.NONE) | places
    return _good(layout, slots, wide, fails)


# --- by one attribute ----------------------------------------------------------------------------


def _spots(layout: Layout, look: Look) -> Mapping[Hashable, Sequence[Spot]]:
    found: dict[Hashable, list[Spot]] = {}
    for tray in (tray for trays in layout.trays.values() for tray in trays):
        for place, candidate in enumerate(tray.load.candidates):
            found.setdefault(look.at(candidate), []).append((tray, place))
    return found


def _pinned(layout: Layout, test: Test, spots: Sequence[Spot]) -> Good:
    """Only devices at these spots can pass. On which others the test fails isn't known."""
    slots: dict[int, Set] = {}
    wide: dict[Load, Set] = {}
    for tray, place in spots:
        if test.passes(tray.load.candidates[place]):
            if tray.slot is None:
                wide[tray.load] = wide.get(tray.load, bits.NONE) | 1 << place
            else:
                slot = tray.slot + place
                slots[slot] = slots.get(slot, bits.NONE) | tray.nodes
    return _good(layout, slots, wide, layout.roster.all)


# --- one by one ----------------------------------------------------------------------------------


def _one_by_one(layout: Layout, test: Test, known: Judged | None) -> Judged:
    """For a look that differs on nearly every device, such as a uuid."""
    told = _Told(test)
    if known is None:
        passed = slotting.planes(layout, told.passed)
        failed = slotting.planes(layout, told.failed)
        before: Mapping[Load, tuple[Set, Set]] = {}
    else:
        passed = slotting.patched(known.passed, known.layout, layout, told.passed)
        failed = slotting.patched(known.failed, known.layout, layout, told.failed)
        before = known.wide
    wide = {tray.load: before.get(tray.load) or told.of(tray) for tray in layout.wide}
    return Judged(layout, passed, failed, wide)


class _Told:
    """What a test says of loads, each asked about once."""

    def __init__(self, test: Test) -> None:
        self._test = test
        self._known: dict[Load, tuple[Set, Set]] = {}

    def of(self, tray: Tray) -> tuple[Set, Set]:
        """The devices that pass, and those on which the test fails."""
        load = tray.load
        if load not in self._known:
            said = [self._test.passes(candidate) for candidate in load.candidates]
            size = len(said)
            passed = bits.of((place for place, each in enumerate(said) if each), size)
            failed = bits.of((place for place, each in enumerate(said) if each is None), size)
            self._known[load] = passed, failed
        return self._known[load]

    def passed(self, tray: Tray) -> Set:
        return self.of(tray)[0]

    def failed(self, tray: Tray) -> Set:
        return self.of(tray)[1]
