"""Slices × node → pools: which devices a node may be given, in which order, and what is wrong.

A slice is relevant when its node selection matches; a pool is its relevant slices of the highest
generation, complete when as many were published as announced, and invalid when they contradict
each other. Faulty pools give no devices and say why. What is taken is `ledger`'s.
Source: KEP-4381 (ResourceSlice, ResourcePool), KEP-4815 (counter sets, per-device selection).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from dibs.model.core import Node
from dibs.model.meta import NodeSelector
from dibs.model.objects import CounterSet, Device, DeviceTaint, ResourceSlice
from dibs.supply import node_selectors, taints
from dibs.supply.features import ALL, Features
from dibs.supply.identity import NO_GROUPS, CounterId, CounterSetId, DeviceId, Groups, PoolId
from dibs.values.mistake import Mistake
from dibs.values.quantity import Quantity

ZERO = Quantity.of(0)


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """One published device. Made once a slice: every node that sees it sees this same value."""

    id: DeviceId
    device: Device
    slice: ResourceSlice
    # Gates are resolved here: without KEP-5055 no taint blocks, without KEP-5075 nothing is shared,
    # without KEP-4815 nothing is drawn.
    blocking: tuple[DeviceTaint, ...] = ()
    is_shareable: bool = False
    # What it draws from which counters, once it is held (KEP-4815).
    draws: tuple[tuple[CounterId, Quantity], ...] = ()
    # From which counters each pick draws as much as it wants of which capacity (KEP-5941).
    meters: tuple[tuple[CounterId, str], ...] = ()
    # How it may be used beside others of its counter sets (KEP-5963).
    groups: tuple[tuple[CounterSetId, Groups], ...] = ()

    @property
    def pool(self) -> PoolId:
        return PoolId(self.id.driver, self.id.pool)


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


@dataclass(frozen=True, slots=True)
class Listing:
    """A slice with its place in the input and its devices."""

    place: int
    slice: ResourceSlice
    candidates: tuple[Candidate, ...]

    @property
    def generation(self) -> int:
        return self.slice.spec.pool.generation


@dataclass(frozen=True, slots=True, eq=False)
class Supply:
    """All slices of one moment, indexed once; asked node by node.

    `views` remembers each pool as built from one set of relevant slices, so that a pool which
    all nodes see is built once. It belongs to this value and never outlives it.
    """

    features: Features
    by_pool: Mapping[PoolId, tuple[Listing, ...]]
    on_node: Mapping[str, tuple[Listing, ...]]
    anywhere: tuple[Listing, ...]
    views: dict[tuple[PoolId, tuple[int, ...]], Pool] = field(default_factory=dict)

    @classmethod
    def of(cls, slices: Iterable[ResourceSlice], features: Features = ALL) -> Supply:
        """Index slices; taint rules must have been applied to them already."""
        listings = [_listing(place, slice_, features) for place, slice_ in enumerate(slices)]
        by_pool: dict[PoolId, list[Listing]] = defaultdict(list)
        on_node: dict[str, list[Listing]] = defaultdict(list)
        anywhere: list[Listing] = []
        for listing in listings:
            spec = listing.slice.spec
            pool = pool_of(listing.slice)
            by_pool[pool].append(listing)
            if not features.partitionable_devices and _needs_partitions(listing.slice):
                continue  # still counted for completeness
            if not features.compatibility_groups and _is_grouped(listing.slice):
                continue  # and not counted: see _build
            if spec.node_name:
                on_node[spec.node_name].append(listing)
            else:
                anywhere.append(listing)
        return cls(
            features=features,
            by_pool={pool: tuple(listed) for pool, listed in by_pool.items()},
            on_node={node: tuple(listed) for node, listed in on_node.items()},
            anywhere=tuple(anywhere),
        )

    def pools(self, node: Node) -> tuple[Pool, ...]:
        """Every pool the node sees, faulty ones included, in the order of candidates.

        Raises Mistake for a node selector that is malformed.
        """
        relevant: dict[PoolId, list[Listing]] = defaultdict(list)
        for listing in self.on_node.get(node.metadata.name, ()):
            relevant[pool_of(listing.slice)].append(listing)
        for listing in self.anywhere:
            if _is_relevant(listing.slice, node):
                relevant[pool_of(listing.slice)].append(listing)
        pools = [self._view(pool, listed) for pool, listed in relevant.items()]
        return tuple(sorted(pools, key=lambda pool: (pool.is_binding, pool.id)))

    def _view(self, pool: PoolId, relevant: list[Listing]) -> Pool:
        listed = sorted(relevant, key=lambda listing: listing.place)
        key = pool, tuple(listing.place for listing in listed)
        if key not in self.views:
            self.views[key] = _build(pool, listed, self.by_pool[pool], self.features)
        return self.views[key]


def pool_of(slice_: ResourceSlice) -> PoolId:
    return PoolId(slice_.spec.driver, slice_.spec.pool.name)


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


def is_reachable(candidate: Candidate, node: Node) -> bool:
    """Whether the device's own node selection, where its slice has one, matches.

    Raises Mistake for a node selector that is malformed.
    """
    if not candidate.slice.spec.per_device_node_selection or _selects_itself(candidate.slice):
        return True
    return _selects(candidate.device, node, f"device {candidate.id}")


def _listing(place: int, slice_: ResourceSlice, features: Features) -> Listing:
    spec = slice_.spec
    candidates = tuple(
        Candidate(
            DeviceId(spec.driver, spec.pool.name, device.name),
            device,
            slice_,
            taints.blocking(device.taints) if features.device_taints else (),
            bool(device.allow_multiple_allocations) and features.consumable_capacity,
            _draws(pool_of(slice_), device) if features.partitionable_devices else (),
            _meters(pool_of(slice_), device) if features.partitionable_devices else (),
            _groups(pool_of(slice_), device) if features.partitionable_devices else (),
        )
        for device in spec.devices
    )
    return Listing(place, slice_, candidates)


def _draws(pool: PoolId, device: Device) -> tuple[tuple[CounterId, Quantity], ...]:
    # The API lets negative amounts through: who draws one must not make room for others.
    return tuple(
        (CounterId(pool, draw.counter_set, name), max(amount.value or ZERO, ZERO))
        for draw in device.consumes_counters
        for name, amount in draw.counters.items()
        if amount.value_from is None
    )


def _meters(pool: PoolId, device: Device) -> tuple[tuple[CounterId, str], ...]:
    return tuple(
        (CounterId(pool, draw.counter_set, name), amount.value_from.capacity_key)
        for draw in device.consumes_counters
        for name, amount in draw.counters.items()
        if amount.value_from is not None
    )


def _groups(pool: PoolId, device: Device) -> tuple[tuple[CounterSetId, Groups], ...]:
    return tuple(
        (CounterSetId(pool, draw.counter_set), Groups(draw.compatibility_groups) or NO_GROUPS)
        for draw in device.consumes_counters
    )


def _is_grouped(slice_: ResourceSlice) -> bool:
    return any(
        draw.compatibility_groups
        for device in slice_.spec.devices
        for draw in device.consumes_counters
    )


def _needs_partitions(slice_: ResourceSlice) -> bool:
    return slice_.spec.per_device_node_selection is not None or bool(slice_.spec.shared_counters)


def _selects_itself(slice_: ResourceSlice) -> bool:
    spec = slice_.spec
    return bool(spec.node_name or spec.all_nodes or spec.node_selector is not None)


def _is_relevant(slice_: ResourceSlice, node: Node) -> bool:
    if _selects_itself(slice_):
        return _selects(slice_.spec, node, f"resource slice {slice_.metadata.name}")
    if slice_.spec.per_device_node_selection:
        return any(
            _selects(device, node, f"device {device.name} of slice {slice_.metadata.name}")
            for device in slice_.spec.devices
        )
    # Nothing that we know is set: an extension of a later version, left alone (KEP-4381).
    return False


def _selects(where: object, node: Node, who: str) -> bool:
    """Evaluate the three ways in which a slice and a device name their nodes."""
    node_name: str | None = getattr(where, "node_name", None)
    selector: NodeSelector | None = getattr(where, "node_selector", None)
    if node_name:
        return node_name == node.metadata.name
    if getattr(where, "all_nodes", None):
        return True
    if selector is None:
        return False
    try:
        return node_selectors.matches(selector, node)
    except Mistake as mistake:
        raise Mistake(f"{who}: {mistake.message}") from mistake


def _build(
    pool: PoolId, relevant: Iterable[Listing], published: Iterable[Listing], features: Features
) -> Pool:
    relevant = list(relevant)
    generation = max(listing.generation for listing in relevant)
    current = [listing for listing in relevant if listing.generation == generation]
    announced = current[0].slice.spec.pool.resource_slice_count
    everywhere = current
    # Only when the relevant slices aren't all there is do the others of the pool matter: for
    # most drivers a pool is a node, and its slices are the pool.
    if len(current) != announced:
        published = list(published)
        newest = max(listing.generation for listing in published)
        everywhere = [listing for listing in published if listing.generation == generation]
        if newest > generation:
            text = f"generation {generation} seen here, generation {newest} elsewhere"
            return _faulty(pool, generation, "obsolete", text)
        if not features.compatibility_groups:
            # Who can't tell what goes with what leaves the pool alone, so that the answer doesn't
            # depend on the order of allocation (KEP-5963): without these slices it is incomplete.
            everywhere = [each for each in everywhere if not _is_grouped(each.slice)]
        if len(everywhere) != announced:
            text = f"{len(everywhere)} of {announced} slices, generation {generation}"
            if len(everywhere) > announced:
                text = f"{len(everywhere)} slices say that there are {announced} of them, "
                text += f"generation {generation}"
            if not features.compatibility_groups and any(_is_grouped(e.slice) for e in published):
                text += "; those with compatibility groups, which are switched off, don't count"
            return _faulty(pool, generation, "incomplete", text)
    return _checked(pool, current, everywhere, features)


def _checked(
    pool: PoolId, current: list[Listing], everywhere: list[Listing], features: Features
) -> Pool:
    generation = current[0].generation
    by_name = sorted(current, key=lambda listing: listing.slice.metadata.name)
    offering = by_name
    if features.partitionable_devices:
        # A slice with counter sets offers no devices (KEP-4815; the API forbids having both).
        offering = [listing for listing in by_name if not listing.slice.spec.shared_counters]
    candidates = tuple(candidate for listing in offering for candidate in listing.candidates)
    here = {id(listing) for listing in current}
    elsewhere = tuple(
        candidate
        for listing in everywhere
        if id(listing) not in here
        for candidate in listing.candidates
    )
    sets = [each for listing in everywhere for each in listing.slice.spec.shared_counters]
    counters = {each.name: each for each in sets}
    drawing = [*(each for listing in current for each in listing.candidates), *elsewhere]
    if twice := _first_repeated(candidate.id.device for candidate in candidates):
        return _faulty(pool, generation, "invalid", f"device {twice} is published twice")
    is_binding = any(candidate.device.binding_conditions for candidate in candidates)
    if not features.partitionable_devices:
        return Pool(pool, generation, candidates, is_binding=is_binding)
    if twice := _first_repeated(each.name for each in sets):
        return _faulty(pool, generation, "invalid", f"counter set {twice} is published twice")
    if wrong := next(_wrong_draws(drawing, counters), None):
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


def _first_repeated(names: Iterable[str]) -> str:
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
