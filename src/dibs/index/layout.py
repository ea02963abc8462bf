"""Where devices are: each in a slot of its node, or on a tray that several nodes reach.

A device that one node reaches has a slot there, so that sets of nodes, one a slot, say something
about all such devices at once. A device that several nodes reach (or one of very many) is a bit of
its tray, and the tray has the set of its nodes: never a bit for each node and each such device.
Derived from nodes and slices alone; what is taken is `standing`'s, who wants what `wants`'.
Source: KEP-4381 (node selection of slices), KEP-4815 (perDeviceNodeSelection).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from dibs.index import bits, loading
from dibs.index.bits import Planes, Set
from dibs.index.loading import Load, Tray, views_of
from dibs.index.roster import Roster
from dibs.model.core import Node
from dibs.supply.identity import PoolId
from dibs.supply.pools import Supply
from dibs.supply.stock import Pool

# A node's devices beyond so many have no slots: one node would make sets for all.
SLOTS = 256


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
            seen, broken = loading.views(roster, stock) if stock is not None else ([], bits.NONE)
            if broken:
                unseen[pool] = broken
            loads = {(tray.load.pool, loading.first(tray.load.spots)): tray.load for tray in old}
            new = tuple(tray for each in seen for tray in loading.of_view(*each, roster, loads))
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


def _sizes(trays: Iterable[Tray]) -> Iterator[tuple[int, Set]]:
    return ((len(view.candidates), viewers) for view, viewers in views_of(trays))


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
    return tray.load.pool.id, loading.first(tray.load.spots)


def _in_place(trays: tuple[Tray, ...], dealt: Tray) -> tuple[Tray, ...]:
    """With the tray that has its slot in place of the one that had none, or another."""
    return tuple(
        dealt if each.load is dealt.load and each.nodes == dealt.nodes else each for each in trays
    )


def _slots(trays: Sequence[Tray]) -> int:
    last = trays[-1] if trays else None
    return last.slot + len(last.load) if last is not None and last.slot is not None else 0
