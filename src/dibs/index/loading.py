"""Devices that the same nodes reach: what a node sees of a pool, sorted by who gets at what.

Which pools and devices a node sees is `supply`'s; here each view is looked at once, with all its
nodes, and split where devices choose their nodes themselves.
Source: KEP-4381 (node selection of slices), KEP-4815 (perDeviceNodeSelection).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from dibs.index import bits
from dibs.index.bits import Set
from dibs.index.roster import Roster
from dibs.supply.published import Candidate
from dibs.supply.stock import Pool, Stock
from dibs.values.mistake import Mistake


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """Devices of one pool, as some nodes see it, which the same nodes can reach.

    `spots` are their places in the pool; `at` finds a device by its name. Devices are entangled
    when what one draws may keep others from being had; a load skips when not every node can do
    without the operations that its slices leave out (KEP-5945). `shared` are the capacities of
    devices that are given in shares (KEP-5075).
    """

    pool: Pool
    candidates: tuple[Candidate, ...]
    spots: Sequence[int]
    at: Mapping[str, int]
    is_entangled: bool
    skips: bool
    shared: frozenset[str]

    def __len__(self) -> int:
        return len(self.candidates)


@dataclass(frozen=True, slots=True, eq=False)
class Tray:
    """A load and its nodes: `nodes` reach the devices, `viewers` see the pool.

    `slot` is that of the first device, None where a device is a bit.
    """

    load: Load
    nodes: Set
    viewers: Set
    slot: int | None = None


def views_of(trays: Iterable[Tray]) -> Iterable[tuple[Pool, Set]]:
    """The views that trays are of, each once, with the nodes that see it."""
    return {tray.load.pool: tray.viewers for tray in trays}.items()


def views(roster: Roster, stock: Stock) -> tuple[list[tuple[Pool, Set]], Set]:
    """What nodes see of a pool, each view once with its nodes; and who can't be asked."""
    if stock.is_for_all:
        return ([(stock.common_view(), roster.all)] if roster.nodes else []), bits.NONE
    if stock.handles is None:
        concerned = roster.all
    else:
        concerned = bits.union(map(roster.only, stock.node_names))
        for key, value in stock.labels:
            concerned |= roster.labels.get(key, {}).get(value, bits.NONE)
    found: dict[Pool, list[int]] = defaultdict(list)
    broken = bits.NONE
    for number in bits.numbers(concerned):
        try:
            view = stock.view(roster.nodes[number])
        except Mistake:
            broken |= 1 << number
            continue
        if view is not None:
            found[view].append(number)
    size = len(roster.nodes)
    return [(view, bits.of(members, size)) for view, members in found.items()], broken


# By view and first device.
Loads = Mapping[tuple[Pool, int], Load]


def of_view(pool: Pool, viewers: Set, roster: Roster, loads: Loads) -> Iterator[Tray]:
    """The devices of a view by who reaches them; a view without devices has one empty tray.

    Loads that were there before stay the same objects.
    """
    by_nodes: dict[Set, Sequence[int]] = {}
    if any(each.slice.spec.per_device_node_selection for each in pool.candidates):
        listed: dict[Set, list[int]] = defaultdict(list)
        for spot, candidate in enumerate(pool.candidates):
            listed[_reach(candidate, roster) & viewers].append(spot)
        by_nodes.update((nodes, tuple(spots)) for nodes, spots in listed.items())
    else:
        by_nodes[viewers] = range(len(pool.candidates))
    for nodes, spots in by_nodes.items():
        known = loads.get((pool, first(spots)))
        if known is None or known.spots != spots:
            known = _load(pool, spots)
        yield Tray(known, nodes, viewers)


def _load(pool: Pool, spots: Sequence[int]) -> Load:
    candidates = pool.candidates
    if len(spots) != len(candidates):
        candidates = tuple(candidates[spot] for spot in spots)
    at = {candidate.id.device: place for place, candidate in enumerate(candidates)}
    is_entangled = any(each.draws or each.meters or each.groups for each in pool.candidates)
    skips = any(each.slice.spec.skip_node_operations for each in candidates)
    shareable = (each.device.capacity for each in candidates if each.is_shareable)
    shared = frozenset(chain.from_iterable(shareable))
    return Load(pool, candidates, spots, at, is_entangled, skips, shared)


def _reach(candidate: Candidate, roster: Roster) -> Set:
    """At least the nodes that the device's own selection matches."""
    spec, device = candidate.slice.spec, candidate.device
    if spec.node_name or spec.all_nodes or spec.node_selector is not None:
        return roster.all
    if not spec.per_device_node_selection or device.all_nodes:
        return roster.all
    if device.node_name:
        return roster.only(device.node_name)
    if device.node_selector is None:
        return bits.NONE
    try:
        return roster.selected(device.node_selector)
    except Mistake:
        return roster.all


def first(spots: Sequence[int]) -> int:
    """By which a load is told from others of its view."""
    return spots[0] if spots else -1
