"""All slices of one moment → the pools of a node; and how that follows when a slice changes.

A slice is relevant to a node when its node selection matches. What a pool is then, and what may be
wrong with it, is decided in `stock`; what a device is, in `published`; what is taken, in `ledger`.
Source: KEP-4381 (ResourceSlice), KEP-4815 (per-device selection).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypeAlias, TypeVar

from dibs.model.core import Node
from dibs.model.objects import ResourceSlice
from dibs.supply import stock as stocks
from dibs.supply.features import ALL, Features
from dibs.supply.identity import PoolId
from dibs.supply.node_selectors import Handle
from dibs.supply.published import Candidate, Listing, is_reachable, pool_of
from dibs.supply.stock import Pool, PoolFault, Stock
from dibs.values.layered import Layered

# Nouns of the files below that go with a Supply, for whoever asks one.
__all__ = [
    "Candidate",
    "Listing",
    "Pool",
    "PoolFault",
    "Stock",
    "Supply",
    "is_reachable",
    "pool_of",
    "remarks_on",
]

PoolIds: TypeAlias = tuple[PoolId, ...]

K = TypeVar("K")


@dataclass(frozen=True, slots=True, eq=False)
class Supply:
    """All slices of one moment, indexed; asked node by node. A value: a change makes another one.

    A change costs what its pool has of slices, and the next look at the pool what it has of
    devices. Everything else is shared with the Supply before. `on_node` and `on_label` find pools
    by what a node must have to see them; `for_any` are those of which nothing of the kind can be
    said, `for_all` those of which all nodes see the same. All are in order of their ids.
    """

    features: Features
    by_pool: Layered[PoolId, Stock]
    by_name: Layered[str, Listing]
    on_node: Layered[str, PoolIds]
    on_label: Layered[Handle, PoolIds]
    for_any: PoolIds
    for_all: PoolIds
    # Where a slice of a new name goes: 0 while slices are in order of their names.
    next_number: int = 0
    # The views of `for_all`, in order, once they are asked for. It belongs to this value.
    alike: list[tuple[Pool, ...]] = field(default_factory=list)

    @classmethod
    def of(cls, slices: Iterable[ResourceSlice], features: Features = ALL) -> Supply:
        """Index slices; taint rules must have been applied to them already.

        Where slices contradict each other, those that come first count.
        """
        slices = list(slices)
        names = [slice_.metadata.name for slice_ in slices]
        is_by_name = all(before < after for before, after in pairwise(names))
        listings = [
            Listing.of((0 if is_by_name else number, slice_.metadata.name), slice_, features)
            for number, slice_ in enumerate(slices)
        ]
        grouped: dict[PoolId, list[Listing]] = defaultdict(list)
        for listing in listings:
            grouped[listing.pool].append(listing)
        by_id = [Stock.of(id_, grouped[id_], features) for id_ in sorted(grouped)]
        on_node: dict[str, list[PoolId]] = defaultdict(list)
        on_label: dict[Handle, list[PoolId]] = defaultdict(list)
        for stock in by_id:
            for name in stock.node_names:
                on_node[name].append(stock.id)
            for label in stock.labels:
                on_label[label].append(stock.id)
        return cls(
            features=features,
            by_pool=Layered({stock.id: stock for stock in by_id}, _id),
            by_name=Layered({listing.slice.metadata.name: listing for listing in listings}),
            on_node=Layered({name: tuple(ids) for name, ids in on_node.items()}),
            on_label=Layered({label: tuple(ids) for label, ids in on_label.items()}),
            for_any=tuple(each.id for each in by_id if each.is_for_any),
            for_all=tuple(each.id for each in by_id if each.is_for_all),
            next_number=0 if is_by_name else len(slices),
        )

    def with_slice(self, slice_: ResourceSlice) -> Supply:
        """With this slice, in place of the one of its name; names are unique, as in the API."""
        name = slice_.metadata.name
        old = self.by_name.get(name)
        number = old.place[0] if old is not None else self.next_number
        listing = Listing.of((number, name), slice_, self.features)
        after = self if old is None or old.pool == listing.pool else self._less(old)
        stock = after.by_pool.get(listing.pool)
        kept = [each for each in stock if each is not old] if stock is not None else []
        after = after._restocked(listing.pool, [*kept, listing])
        # Where the order isn't that of names, new ones come last.
        is_later = old is None and self.next_number > 0
        return replace(
            after,
            by_name=after.by_name.plus(name, listing),
            next_number=self.next_number + is_later,
        )

    def without_slice(self, name: str) -> Supply:
        """As if nothing of this name were published; this very value when nothing is."""
        old = self.by_name.get(name)
        if old is None:
            return self
        return replace(self._less(old), by_name=self.by_name.minus(name))

    def pools(self, node: Node) -> tuple[Pool, ...]:
        """Every pool the node sees, faulty ones included, in the order of candidates.

        Raises Mistake for a node selector that is malformed.
        """
        seen = [
            view for id_ in self.ids_for(node) if (view := self.by_pool[id_].view(node)) is not None
        ]
        alike = self._alike()
        if not seen:
            return alike
        return tuple(sorted((*alike, *seen), key=stocks.order))

    def ids_for(self, node: Node) -> Iterable[PoolId]:
        """The pools of which the node may see something, without those `for_all`."""
        own = self.on_node.get(node.metadata.name, ())
        if not self.on_label and not self.for_any:
            return own
        found = dict.fromkeys((*own, *self.for_any))
        if self.on_label:
            for label in node.metadata.labels.items():
                found.update(dict.fromkeys(self.on_label.get(Handle(*label), ())))
        return found

    def nodes_of(self, pool: PoolId) -> frozenset[str] | None:
        """The names of the nodes that may see something of the pool; None when any may."""
        stock = self.by_pool.get(pool)
        if stock is None:
            return frozenset()
        return None if stock.handles is None or stock.labels else stock.node_names

    def pools_of_slice(self, name: str) -> PoolIds:
        """The pool that a slice of this name belongs to, if there is one."""
        listing = self.by_name.get(name)
        return (listing.pool,) if listing is not None else ()

    def _alike(self) -> tuple[Pool, ...]:
        if not self.alike:
            views = (self.by_pool[id_].common_view() for id_ in self.for_all)
            self.alike.append(tuple(sorted(views, key=stocks.order)))
        return self.alike[0]

    def _less(self, listing: Listing) -> Supply:
        kept = [each for each in self.by_pool[listing.pool] if each is not listing]
        return self._restocked(listing.pool, kept)

    def _restocked(self, id_: PoolId, listings: Sequence[Listing]) -> Supply:
        """With these as the slices of a pool."""
        old = self.by_pool.get(id_, Stock.of(id_, (), self.features))
        new = Stock.of(id_, listings, self.features)
        return replace(
            self,
            by_pool=self.by_pool.plus(id_, new) if listings else self.by_pool.minus(id_),
            on_node=_moved(self.on_node, id_, old.node_names, new.node_names),
            on_label=_moved(self.on_label, id_, old.labels, new.labels),
            for_any=_put(self.for_any, id_, is_in=new.is_for_any),
            for_all=_put(self.for_all, id_, is_in=new.is_for_all),
            alike=[],
        )


def remarks_on(slices: Iterable[ResourceSlice]) -> Iterator[str]:
    """Which slices have devices that nobody is given, because counter sets stand beside them.

    Slices have had either the one or the other since Kubernetes 1.36 (KEP-4815); older ones, and
    dumps of them, may have both.
    """
    for each in slices:
        if each.spec.shared_counters and each.spec.devices:
            count = len(each.spec.devices)
            yield (
                f"resourceslice {each.metadata.name} has {count} device{'s' * (count > 1)} beside "
                "counter sets: nobody is given them until the driver publishes the two in slices "
                "of their own"
            )


def _id(stock: Stock) -> PoolId:
    return stock.id


def _moved(
    index: Layered[K, PoolIds], id_: PoolId, old: frozenset[K], new: frozenset[K]
) -> Layered[K, PoolIds]:
    """The index once the pool is found by `new` instead of `old`."""
    for key in old - new:
        rest = _put(index[key], id_, is_in=False)
        index = index.plus(key, rest) if rest else index.minus(key)
    for key in new - old:
        index = index.plus(key, _put(index.get(key, ()), id_, is_in=True))
    return index


def _put(ids: PoolIds, id_: PoolId, *, is_in: bool) -> PoolIds:
    """With the pool, or without it, in order; the very same tuple when that is so already."""
    place = bisect_left(ids, id_)
    was_in = ids[place : place + 1] == (id_,)
    if was_in == is_in:
        return ids
    return (*ids[:place], id_, *ids[place:]) if is_in else ids[:place] + ids[place + 1 :]
