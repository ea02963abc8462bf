"""Which nodes can't be ruled out for a want, and which of them is first.

A few operations on sets of nodes answer for all nodes at once: for each request the nodes with
enough devices that are good for it and open, and for all requests together the nodes with enough
for the sum. The last word on each node is `allocate`'s.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from dibs.allocate.orders import Order
from dibs.index import bits
from dibs.index.bits import Planes, Set
from dibs.index.grouping import Group
from dibs.index.layout import Layout
from dibs.index.learned import Good, Learned
from dibs.index.loading import Load
from dibs.index.standing import Standing
from dibs.index.wants import Choice, Demand, Match, Want

# Of an attribute with more values than that none is counted by itself.
MOST_VALUES = 64


def feasible(
    want: Want, layout: Layout, standing: Standing, learned: Learned, *, is_strict: bool = False
) -> Set:
    """The nodes that can't be ruled out. `is_strict`: an error on a device may be fatal there."""
    if is_strict and want.may_fail:
        return layout.roster.all
    counted = _Count(layout, standing, learned)
    found = layout.roster.all
    for choice in dict.fromkeys(want.choices):
        found &= bits.union(map(counted.meeting, choice))
        if not found:
            break
    if found and len(want.choices) > 1:
        found = counted.meeting_all(want.choices, found)
    for match in want.matches:
        found = counted.matching(match, found) if found else found
    return found | _exempt(want, layout, counted, is_strict=is_strict)


def first(members: Set, order: Order, standing: Standing) -> int:
    """The node to be asked first, of a set that isn't empty."""
    if order == "first-fit":
        return bits.first(members)
    return bits.first(bits.smallest(standing.idle, members))


def before(number: int, order: Order, layout: Layout, standing: Standing) -> list[int]:
    """The nodes that come before this one, in order."""
    everybody = layout.roster.all
    if order == "first-fit":
        return list(bits.numbers(everybody & ((1 << number) - 1)))
    counts = dict.fromkeys(bits.numbers(everybody), 0)
    for place, plane in enumerate(standing.idle):
        for each in bits.numbers(plane):
            counts[each] += 1 << place
    ordered = sorted(counts, key=lambda each: (counts[each], each))
    return ordered[: ordered.index(number)]


def _exempt(want: Want, layout: Layout, counted: _Count, *, is_strict: bool) -> Set:
    """Nodes on which the question itself may fail, so that they have to be asked anyhow."""
    exempt = layout.broken
    if want.most is not None:
        exempt |= bits.at_least(layout.sizes, want.most + 1, layout.roster.all)
    if is_strict:
        # A selector is asked of devices before it is known whether the node can reach them.
        exempt |= layout.short_sighted
        for demand in (demand for choice in want.choices for demand in choice):
            exempt |= counted.good(demand).fails
    return exempt


class _Count:
    """Counts devices for one want; demands that are equal are counted once."""

    def __init__(self, layout: Layout, standing: Standing, learned: Learned) -> None:
        self._layout = layout
        self._standing = standing
        self._learned = learned
        self._met: dict[Demand, Set] = {}

    def good(self, demand: Demand) -> Good:
        return self._learned.good(self._layout, demand.tests)

    def meeting(self, demand: Demand) -> Set:
        """The nodes that have enough for this demand, taken alone."""
        found = self._met.get(demand)
        if found is None:
            sets, trays = self._offered(demand)
            found = self._met[demand] = self._enough(sets, trays, demand.least)
        return found

    def meeting_all(self, choices: Sequence[Choice], found: Set) -> Set:
        """Of these nodes those with enough for all requests that take devices for themselves."""
        taking = [choice for choice in choices if not any(demand.is_admin for demand in choice)]
        alike: dict[Choice, int] = {}
        for choice in taking:
            alike[choice] = alike.get(choice, 0) + min(demand.least for demand in choice)
        if len(alike) > 1:
            together = tuple(dict.fromkeys(demand for choice in taking for demand in choice))
            alike[together] = sum(alike.values())
        for choice, least in alike.items():
            if least > 1:
                found &= self._having(choice, least)
        return found

    def matching(self, match: Match, found: Set) -> Set:
        """Of these nodes those on which some value is that of enough devices for all demands."""
        groups = self._learned.groups(self._layout, match.look)
        if groups is None or len(groups) > MOST_VALUES:
            return found
        by_value: dict[object, list[Group]] = {}
        for seen, group in groups.items():
            # A device without the attribute, or with no value, goes with nobody.
            for value in seen if isinstance(seen, frozenset) else ():
                by_value.setdefault(value, []).append(group)
        demands = Counter(match.demands)
        shareable = self._learned.shareable(self._layout)
        is_shared = bool(shareable.slots or shareable.wide)
        least = max(demand.least * times for demand, times in demands.items())
        met = bits.NONE
        # Of values that the same devices have, one stands for all (lists have many, KEP-5491).
        for alike in {tuple(map(id, groups)): groups for groups in by_value.values()}.values():
            if not is_shared and _most(alike) < least:
                continue
            nodes = found
            for demand, times in demands.items():
                nodes &= self._having((demand,), demand.least, alike)
                if times > 1 and nodes:
                    nodes &= self._having((demand,), demand.least * times, alike)
            if len(demands) > 1 and nodes:
                together = sum(demand.least for demand in match.demands)
                nodes &= self._having(tuple(demands), together, alike)
            met |= nodes
        return met

    def _having(self, choice: Choice, least: int, within: Sequence[Group] | None = None) -> Set:
        """The nodes with so many devices that are good for one of the demands, of some groups."""
        slots: dict[int, Set] = {}
        wide: dict[Load, Set] = {}
        for demand in choice:
            more, wider = self._offered(demand)
            for slot, nodes in more:
                slots[slot] = slots.get(slot, bits.NONE) | nodes
            for load, places in wider:
                wide[load] = wide.get(load, bits.NONE) | places
        if within is not None:
            slots = {slot: nodes & _in_slot(within, slot) for slot, nodes in slots.items()}
            wide = {load: places & _on_load(within, load) for load, places in wide.items()}
        # A device that is shared may serve any number of requests.
        shared = self._shareable(slots, wide)
        return self._enough(slots.items(), wide.items(), least) | shared

    def _shareable(self, slots: Mapping[int, Set], wide: Mapping[Load, Set]) -> Set:
        shareable = self._learned.shareable(self._layout)
        found = bits.NONE
        for slot, nodes in shareable.slots.items():
            found |= slots.get(slot, bits.NONE) & nodes
        for load, places in shareable.wide.items():
            if wide.get(load, bits.NONE) & places:
                found |= self._layout.reach[load]
        return found

    def _offered(
        self, demand: Demand
    ) -> tuple[Iterable[tuple[int, Set]], Iterable[tuple[Load, Set]]]:
        good = self.good(demand)
        if demand.is_admin:
            return good.slots.items(), good.wide.items()
        standing, wanted = self._standing, demand.capacity
        if not standing.shares.rooms:
            # As below, where nothing is shared.
            opened = standing.open
            slots = [(slot, nodes & opened[slot]) for slot, nodes in good.slots.items()]
        else:
            slots = [(n, nodes & standing.open_in(n, wanted)) for n, nodes in good.slots.items()]
        return slots, [(load, p & standing.open_on(load, wanted)) for load, p in good.wide.items()]

    def _enough(
        self, slots: Iterable[tuple[int, Set]], wide: Iterable[tuple[Load, Set]], least: int
    ) -> Set:
        everyone = self._layout.roster.all
        sets = [nodes for _, nodes in slots if nodes]
        shared: dict[Set, int] = {}
        for load, places in wide:
            if places:
                nodes = self._layout.reach[load]
                shared[nodes] = shared.get(nodes, 0) + places.bit_count()
        if least == 1:
            return bits.union(sets) | bits.union(shared)
        total: Planes = bits.count(sets)
        for nodes, amount in shared.items():
            total = bits.plus(total, bits.constant(min(amount, least), nodes))
        return bits.at_least(total, least, everyone)


def _most(groups: Iterable[Group]) -> int:
    """No node has more devices of these groups than this."""
    return sum(
        len(group.slots) + sum(places.bit_count() for places in group.wide.values())
        for group in groups
    )


def _in_slot(groups: Iterable[Group], slot: int) -> Set:
    return bits.union(group.slots.get(slot, bits.NONE) for group in groups)


def _on_load(groups: Iterable[Group], load: Load) -> Set:
    return bits.union(group.wide.get(load, bits.NONE) for group in groups)
