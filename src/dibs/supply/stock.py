"""The slices of one pool → what a node sees of it, in which order of devices, and what is wrong.

A pool is its relevant slices of the highest generation, complete when as many were published as
announced, and invalid when they contradict each other. Faulty pools give no devices and say why.
Which pools there are, and which of them to ask for a node, is `pools`'.
Source: KEP-4381 (ResourcePool), KEP-4815 (counter sets, per-device selection).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

from dibs.model.core import Node
from dibs.model.objects import CounterSet
from dibs.supply.features import Features
from dibs.supply.identity import PoolId
from dibs.supply.node_selectors import NAME_FIELD, Handle
from dibs.supply.published import Candidate, Listing, Place


@dataclass(frozen=True, slots=True)
class PoolFault:
    """Why a pool that the node sees is not used; `text` begins with the pool's name."""

    pool: PoolId
    kind: Literal["incomplete", "invalid", "obsolete"]
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """What one node sees of a pool. A faulty pool has no candidates.

    `candidates` are in the order in which they are tried; `elsewhere` are devices of the same
    pool that this node doesn't see but that draw from the same counters.
    """

    id: PoolId
    generation: int
    candidates: tuple[Candidate, ...] = ()
    elsewhere: tuple[Candidate, ...] = ()
    counters: Mapping[str, CounterSet] = field(default_factory=dict)
    fault: PoolFault | None = None
    # Whether any device, reachable or not, has binding conditions: such pools come last (KEP-5007).
    is_binding: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Stock:
    """Every slice of one pool, of all generations, in order.

    `common` are those that all nodes see, `by_node` those that name their node, `choosy` those that
    each node is asked about. `handles` are what a node must have one of to see any; None when any
    node may. A change of one of its slices makes a new stock; the other pools' go on into the next
    Supply as they are, with the views they remember: one for each set of slices that a node sees.
    """

    id: PoolId
    listings: tuple[Listing, ...]
    features: Features
    common: tuple[Listing, ...]
    by_node: Mapping[str, tuple[Listing, ...]]
    choosy: tuple[Listing, ...]
    handles: frozenset[Handle] | None
    views: dict[tuple[str, tuple[Listing, ...]], Pool] = field(default_factory=dict)
    editions: dict[int, Edition] = field(default_factory=dict)

    @classmethod
    def of(cls, id_: PoolId, listings: Iterable[Listing], features: Features) -> Stock:
        in_order = tuple(sorted(listings, key=_place))
        common: list[Listing] = []
        by_node: dict[str, list[Listing]] = {}
        choosy: list[Listing] = []
        handles: set[Handle] | None = set()
        for listing in in_order:
            if not listing.is_seen:
                continue
            if listing.is_for_all:
                common.append(listing)
            elif listing.slice.spec.node_name:
                by_node.setdefault(listing.slice.spec.node_name, []).append(listing)
            else:
                choosy.append(listing)
            of_listing = listing.handles()
            handles = None if handles is None or of_listing is None else handles | of_listing
        return cls(
            id_,
            in_order,
            features,
            tuple(common),
            {node: tuple(own) for node, own in by_node.items()},
            tuple(choosy),
            None if handles is None else frozenset(handles),
        )

    def __iter__(self) -> Iterator[Listing]:
        return iter(self.listings)

    def __len__(self) -> int:
        return len(self.listings)

    @property
    def is_for_all(self) -> bool:
        """Whether all nodes see the same of it."""
        return bool(self.common) and not self.by_node and not self.choosy

    @property
    def is_for_any(self) -> bool:
        """Whether every node must be asked."""
        return self.handles is None and not self.is_for_all

    @property
    def node_names(self) -> frozenset[str]:
        found = self.handles or ()
        return frozenset(handle.value for handle in found if handle.key == NAME_FIELD)

    @property
    def labels(self) -> frozenset[Handle]:
        return frozenset(handle for handle in self.handles or () if handle.key != NAME_FIELD)

    def view(self, node: Node) -> Pool | None:
        """What the node sees of it. Raises Mistake for a node selector that is malformed."""
        own = self.by_node.get(node.metadata.name, ())
        chosen = tuple(each for each in self.choosy if each.is_for(node)) if self.choosy else ()
        key = node.metadata.name if own else "", chosen
        view = self.views.get(key)
        if view is None and (own or chosen or self.common):
            relevant = sorted((*self.common, *own, *chosen), key=_place)
            view = self.views[key] = _build(self, relevant)
        return view

    def common_view(self) -> Pool:
        """What every node sees of a pool that `is_for_all`."""
        view = self.views.get(("", ()))
        if view is None:
            view = self.views["", ()] = _build(self, self.common)
        return view

    def edition(self, generation: int) -> Edition:
        """All that is published of one generation, whoever sees it."""
        if generation not in self.editions:
            self.editions[generation] = Edition.of(
                each
                for each in self.listings
                # Who can't tell what goes with what leaves the pool alone, so that the answer
                # doesn't depend on the order of allocation (KEP-5963): without these slices it
                # is incomplete.
                if each.generation == generation and not each.is_left_out
            )
        return self.editions[generation]


@dataclass(frozen=True, slots=True, eq=False)
class Edition:
    """The slices of one generation of a pool, and what concerns all nodes of it."""

    listings: tuple[Listing, ...]
    sets: tuple[CounterSet, ...]
    # The devices that draw from counters: a node must know of those it doesn't see, too.
    drawing: tuple[Candidate, ...]

    @classmethod
    def of(cls, listings: Iterable[Listing]) -> Edition:
        listings = tuple(listings)
        return cls(
            listings,
            tuple(each for listing in listings for each in listing.slice.spec.shared_counters),
            tuple(
                each
                for listing in listings
                if listing.draws_any
                for each in listing.candidates
                if each.device.consumes_counters
            ),
        )


def _place(listing: Listing) -> Place:
    return listing.place


def order(pool: Pool) -> tuple[bool, PoolId]:
    """In which order the devices of pools are tried."""
    return pool.is_binding, pool.id


def _build(stock: Stock, relevant: Sequence[Listing]) -> Pool:
    generation = max(listing.generation for listing in relevant)
    current = [listing for listing in relevant if listing.generation == generation]
    announced = current[0].slice.spec.pool.resource_slice_count
    # Only when the relevant slices aren't all there is do the others of the pool matter: for
    # most drivers a pool is a node, and its slices are the pool.
    if len(current) == announced:
        return _checked(stock, current, Edition.of(current))
    everywhere = stock.edition(generation)
    newest = max(listing.generation for listing in stock)
    if newest > generation:
        text = f"generation {generation} seen here, generation {newest} elsewhere"
        return _faulty(stock.id, generation, "obsolete", text)
    if len(everywhere.listings) != announced:
        count = len(everywhere.listings)
        text = f"{count} of {announced} slices, generation {generation}"
        if count > announced:
            text = f"{count} slices say that there are {announced} of them, "
            text += f"generation {generation}"
        if any(each.is_left_out for each in stock):
            text += "; those with compatibility groups, which are switched off, don't count"
        return _faulty(stock.id, generation, "incomplete", text)
    return _checked(stock, current, everywhere)


def _checked(stock: Stock, current: list[Listing], everywhere: Edition) -> Pool:
    pool, generation = stock.id, current[0].generation
    offering = sorted(current, key=lambda listing: listing.slice.metadata.name)
    if stock.features.partitionable_devices:
        # A slice with counter sets offers no devices (KEP-4815; the API forbids having both).
        offering = [listing for listing in offering if not listing.slice.spec.shared_counters]
    candidates = tuple(chain.from_iterable(listing.candidates for listing in offering))
    if twice := _first_repeated([*chain.from_iterable(each.names for each in offering)]):
        return _faulty(pool, generation, "invalid", f"device {twice} is published twice")
    is_binding = any(listing.is_binding for listing in offering)
    if not stock.features.partitionable_devices:
        return Pool(pool, generation, candidates, is_binding=is_binding)
    if twice := _first_repeated([each.name for each in everywhere.sets]):
        return _faulty(pool, generation, "invalid", f"counter set {twice} is published twice")
    counters = {each.name: each for each in everywhere.sets}
    here = {id(listing.slice) for listing in current}
    elsewhere = tuple(each for each in everywhere.drawing if id(each.slice) not in here)
    own = chain.from_iterable(each.candidates for each in current if each.draws_any)
    if wrong := next(_wrong_draws(chain(own, elsewhere), counters), None):
        return _faulty(pool, generation, "invalid", wrong)
    return Pool(pool, generation, candidates, elsewhere, counters, is_binding=is_binding)


def _wrong_draws(drawing: Iterable[Candidate], counters: Mapping[str, CounterSet]) -> Iterator[str]:
    for candidate in drawing:
        for draw in candidate.device.consumes_counters:
            found = counters.get(draw.counter_set)
            who = f"device {candidate.id.device} draws from"
            if found is None:
                yield f"{who} counter set {draw.counter_set}, which is not published"
                continue
            for name in draw.counters:
                if name not in found.counters:
                    yield f"{who} counter {name}, which set {draw.counter_set} doesn't have"


def _first_repeated(names: Sequence[str]) -> str:
    if len(set(names)) == len(names):
        return ""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return ""


def _faulty(
    pool: PoolId, generation: int, kind: Literal["incomplete", "invalid", "obsolete"], text: str
) -> Pool:
    return Pool(
        pool, generation, fault=PoolFault(pool, kind, f"pool {pool.name} is {kind}: {text}")
    )
