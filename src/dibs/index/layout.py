"""Where devices are: each in a slot of its node, or on a tray that several nodes reach.

A device that one node reaches has a slot there, so that sets of nodes, one a slot, say something
about all such devices at once. A device that several nodes reach (or one of very many) is a bit of
its tray, and the tray has the set of its nodes: never a bit for each node and each such device.
Derived from nodes and slices alone; what is taken is `standing`'s, who wants what `wants`'.
Source: KEP-4381 (node selection of slices), KEP-4815 (perDeviceNodeSelection).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from dibs.index import bits
from dibs.index.bits import Planes, Set
from dibs.index.roster import Roster
from dibs.model.core import Node
from dibs.supply.identity import PoolId
from dibs.supply.pools import Supply
from dibs.supply.published import Candidate
from dibs.supply.stock import Pool, Stock
from dibs.values.mistake import Mistake

# A node's devices beyond so many have no slots: one node would make sets for all.
SLOTS = 256


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


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """`trays` by pool; `slotted` has each node's trays with slots, `wide` all others.

    `slots` is at least the largest number of slots that a node has; `sizes` counts the devices
    that each node sees. `unseen` has the nodes for which a pool's node selectors are malformed,
    `reach` the nodes of each load without slots.
    """

    roster: Roster
    supply: Supply
    trays: Mapping[PoolId, tuple[Tray, ...]]
    slotted: tuple[tuple[Tray, ...], ...]
    wide: tuple[Tray, ...]
    slots: int
    sizes: Planes
    unseen: Mapping[PoolId, Set]
    reach: Mapping[Load, Set]
    _known: dict[int | str, Set] = field(default_factory=dict)

    @classmethod
    def of(cls, roster: Roster, supply: Supply) -> Layout:
        bare = cls(roster, supply, {}, ((),) * len(roster.nodes), (), 0, (), {}, {})
        return bare._with(roster, supply, supply.by_pool)

    def with_supply(self, supply: Supply, pools: Iterable[PoolId]) -> Layout:
        """After the slices of these pools, and no others, have changed."""
        return self._with(self.roster, supply, pools)

    def with_roster(self, roster: Roster, pools: Iterable[PoolId]) -> Layout:
        """After nodes have changed, came or went, that see these pools, or did so."""
        return self._with(roster, self.supply, pools)

    def seen_by(self, roster: Roster, names: Iterable[str]) -> set[PoolId]:
        """The pools of which these nodes saw something, or might on another roster."""
        found: set[PoolId] = set(self.supply.for_all)
        for name in names:
            number = self.roster.number.get(name)
            if number is not None:
                found |= {tray.load.pool.id for tray in self.slotted[number]}
                viewed = (tray for tray in self.wide if tray.viewers >> number & 1)
                found |= {tray.load.pool.id for tray in viewed}
                found |= {pool for pool, nodes in self.unseen.items() if nodes >> number & 1}
            if name in roster.number:
                found.update(self.supply.ids_for(roster.nodes[roster.number[name]]))
        return found

    def _with(self, roster: Roster, supply: Supply, pools: Iterable[PoolId]) -> Layout:
        trays = dict(self.trays)
        unseen = dict(self.unseen)
        gone: list[Tray] = []
        fresh: list[Tray] = []
        for pool in pools:
            old = trays.pop(pool, ())
            unseen.pop(pool, None)
            stock = supply.by_pool.get(pool)
            seen, broken = _views(roster, stock) if stock is not None else ([], bits.NONE)
            if broken:
                unseen[pool] = broken
            loads = {(tray.load.pool, _first(tray.load.spots)): tray.load for tray in old}
            new = tuple(tray for each in seen for tray in _trays(*each, roster, loads))
            if new:
                trays[pool] = new
            gone += old
            fresh += new
        size = len(roster.nodes)
        less, more = bits.tally(_sizes(gone), size), bits.tally(_sizes(fresh), size)
        sizes = bits.minus(bits.plus(self.sizes, more), less)
        slotted, wide = self._dealt(size, trays, gone, fresh)
        slots = max([self.slots, *(_slots(slotted[number]) for number in _nodes_of(fresh))])
        reach = {tray.load: tray.nodes for tray in wide}
        return Layout(roster, supply, trays, slotted, wide, slots, sizes, unseen, reach)

    @property
    def broken(self) -> Set:
        """The nodes that can't be asked for their pools: to them everything fails."""
        return bits.union(self.unseen.values())

    def twins(self, number: int) -> Set:
        """The nodes that reach exactly the same devices; the node alone if it has its own."""
        known = self._known.get(number)
        if known is None:
            known = self._known[number] = self._alike(number)
        return known

    @property
    def short_sighted(self) -> Set:
        """The nodes that see devices which they can't reach."""
        if "short" not in self._known:
            trays = chain.from_iterable(self.trays.values())
            self._known["short"] = bits.union(tray.viewers & ~tray.nodes for tray in trays)
        return self._known["short"]

    def pools(self, number: int) -> tuple[Pool, ...]:
        """As `Supply.pools`, of a node that isn't broken."""
        return self.supply.pools(self.roster.nodes[number])

    def node_of(self, tray: Tray) -> Node:
        """The node of a tray that has slots."""
        return self.roster.nodes[bits.first(tray.nodes)]

    def _alike(self, number: int) -> Set:
        alone = 1 << number
        if self.slotted[number]:
            return alone
        alike = self.roster.all & ~self._owners()
        for tray in self.wide:
            alike &= tray.nodes if tray.nodes & alone else ~tray.nodes
            alike &= tray.viewers if tray.viewers & alone else ~tray.viewers
            if alike == alone:
                break
        # What a device with skipped node operations needs, nodes have or don't (KEP-5945).
        for members in self.roster.declares.values():
            alike &= members if members & alone else ~members
        return alike

    def _owners(self) -> Set:
        """The nodes with devices of their own, in slots."""
        if "owners" not in self._known:
            numbered = (number for number, trays in enumerate(self.slotted) if trays)
            self._known["owners"] = bits.of(numbered, len(self.slotted))
        return self._known["owners"]

    def _dealt(
        self,
        size: int,
        trays: dict[PoolId, tuple[Tray, ...]],
        gone: Sequence[Tray],
        fresh: Sequence[Tray],
    ) -> tuple[tuple[tuple[Tray, ...], ...], tuple[Tray, ...]]:
        """The trays with slots and those without; slots are dealt anew only on nodes whose own
        trays have changed. `trays` is brought in line."""
        left = set(gone)
        own: dict[int, list[Tray]] = {number: [] for number in _nodes_of(gone)}
        wide: list[Tray] = []
        for tray in fresh:
            if _is_own(tray):
                own.setdefault(bits.first(tray.nodes), []).append(tray)
            else:
                wide.append(tray)
        kept: list[Tray] = []
        for tray in self.wide:
            if tray in left:
                continue
            if _is_own(tray) and bits.first(tray.nodes) in own:
                own[bits.first(tray.nodes)].append(tray)
            else:
                kept.append(tray)
        # One more for each number that has no node yet.
        slotted = [*self.slotted, *([()] * (size - len(self.slotted)))]
        for number, more in own.items():
            dealt = _with_slots([*(tray for tray in slotted[number] if tray not in left), *more])
            slotted[number] = tuple(tray for tray in dealt if tray.slot is not None)
            wide += (tray for tray in dealt if tray.slot is None)
            for tray in dealt:
                trays[tray.load.pool.id] = _in_place(trays[tray.load.pool.id], tray)
        return tuple(slotted), (*kept, *wide)


def views_of(trays: Iterable[Tray]) -> Iterable[tuple[Pool, Set]]:
    """The views that trays are of, each once, with the nodes that see it."""
    return {tray.load.pool: tray.viewers for tray in trays}.items()


def _sizes(trays: Iterable[Tray]) -> Iterator[tuple[int, Set]]:
    return ((len(view.candidates), viewers) for view, viewers in views_of(trays))


def _views(roster: Roster, stock: Stock) -> tuple[list[tuple[Pool, Set]], Set]:
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


def _trays(pool: Pool, viewers: Set, roster: Roster, loads: Loads) -> Iterator[Tray]:
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
        known = loads.get((pool, _first(spots)))
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


def _is_own(tray: Tray) -> bool:
    """Whether it is of one node only."""
    return bool(tray.nodes) and not tray.nodes & (tray.nodes - 1)


def _nodes_of(trays: Iterable[Tray]) -> set[int]:
    """The nodes of which some of the trays are each node's own."""
    return {bits.first(tray.nodes) for tray in trays if _is_own(tray)}


def _with_slots(trays: Iterable[Tray]) -> list[Tray]:
    """One node's own trays in the order of pools, with slots as long as there are some."""
    dealt = []
    slot = 0
    for tray in sorted(trays, key=_pool_then_spot):
        given = slot if slot + len(tray.load) <= SLOTS else None
        dealt.append(tray if tray.slot == given else replace(tray, slot=given))
        if given is not None:
            slot += len(tray.load)
    return dealt


def _pool_then_spot(tray: Tray) -> tuple[PoolId, int]:
    return tray.load.pool.id, _first(tray.load.spots)


def _first(spots: Sequence[int]) -> int:
    return spots[0] if spots else -1


def _in_place(trays: tuple[Tray, ...], dealt: Tray) -> tuple[Tray, ...]:
    """With the tray that has its slot in place of the one that had none, or another."""
    return tuple(
        dealt if each.load is dealt.load and each.nodes == dealt.nodes else each for each in trays
    )


def _slots(trays: Sequence[Tray]) -> int:
    last = trays[-1] if trays else None
    return last.slot + len(last.load) if last is not None and last.slot is not None else 0
