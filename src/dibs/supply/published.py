"""What a driver publishes: a slice and its devices, made ready once, and which nodes it is for.

Gates are resolved here, so that nobody deeper asks for a flag. What a node sees of a pool, and what
is wrong with it, is decided in `pools`.
Source: KEP-4381 (ResourceSlice), KEP-4815 (per-device selection, counters), KEP-5941, KEP-5963.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dibs.model.core import Node
from dibs.model.objects import Device, DeviceTaint, ResourceSlice, ResourceSliceSpec
from dibs.supply import node_selectors, taints
from dibs.supply.features import Features
from dibs.supply.identity import NO_GROUPS, CounterId, CounterSetId, DeviceId, Groups, PoolId
from dibs.supply.node_selectors import Handle
from dibs.values.mistake import Mistake
from dibs.values.quantity import Quantity

ZERO = Quantity.of(0)

# Where a slice or listing comes in its pool: by number, then by name.
Place = tuple[int, str]


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """One published device. Made once a slice: every node that sees it sees this same value."""

    id: DeviceId
    pool: PoolId
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


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """A slice with its place among all slices, and its devices."""

    place: Place
    slice: ResourceSlice
    candidates: tuple[Candidate, ...]
    # Nodes are only given devices of slices that this release of Kubernetes, with these gates,
    # understands; the others still count for whether a pool is complete.
    is_seen: bool = True
    # With compatibility groups, while those are off: see `stock`.
    is_left_out: bool = False
    # Of its devices, all of which a pool of 100,000 can't be asked for again at each change:
    names: tuple[str, ...] = ()
    is_binding: bool = False
    draws_any: bool = False

    @classmethod
    def of(cls, place: Place, slice_: ResourceSlice, features: Features) -> Listing:
        is_left_out = not features.compatibility_groups and _is_grouped(slice_)
        is_seen = features.partitionable_devices or not _needs_partitions(slice_)
        devices = slice_.spec.devices
        return cls(
            place,
            slice_,
            tuple(_candidates(slice_, features)),
            is_seen and not is_left_out,
            is_left_out,
            tuple(device.name for device in devices),
            any(device.binding_conditions for device in devices),
            any(device.consumes_counters for device in devices),
        )

    @property
    def generation(self) -> int:
        return self.slice.spec.pool.generation

    @property
    def pool(self) -> PoolId:
        return pool_of(self.slice)

    @property
    def is_for_all(self) -> bool:
        """Whether every node sees it, whatever its name and labels are."""
        spec = self.slice.spec
        return self.is_seen and bool(spec.all_nodes) and not spec.node_name

    def is_for(self, node: Node) -> bool:
        """Raises Mistake for a node selector that is malformed."""
        return self.is_seen and _is_relevant(self.slice, node)

    def handles(self) -> frozenset[Handle] | None:
        """A node that has none of these labels doesn't see it; None when any node may."""
        spec = self.slice.spec
        if not self.is_seen:
            return frozenset()
        if selects_itself(self.slice):
            return _handles(spec)
        if not spec.per_device_node_selection:
            return frozenset()
        found: set[Handle] = set()
        for device in spec.devices:
            of_device = _handles(device)
            if of_device is None:
                return None
            found |= of_device
        return frozenset(found)


def pool_of(slice_: ResourceSlice) -> PoolId:
    return PoolId(slice_.spec.driver, slice_.spec.pool.name)


def is_reachable(candidate: Candidate, node: Node) -> bool:
    """Whether the device's own node selection, where its slice has one, matches.

    Raises Mistake for a node selector that is malformed.
    """
    if not candidate.slice.spec.per_device_node_selection or selects_itself(candidate.slice):
        return True
    return _selects(candidate.device, node, f"device {candidate.id}")


def _candidates(slice_: ResourceSlice, features: Features) -> Iterator[Candidate]:
    spec, pool = slice_.spec, pool_of(slice_)
    for device in spec.devices:
        # Most devices draw nothing.
        draws_any = features.partitionable_devices and device.consumes_counters
        yield Candidate(
            DeviceId(spec.driver, spec.pool.name, device.name),
            pool,
            device,
            slice_,
            taints.blocking(device.taints) if features.device_taints and device.taints else (),
            bool(device.allow_multiple_allocations) and features.consumable_capacity,
            _draws(pool, device) if draws_any else (),
            _meters(pool, device) if draws_any else (),
            _groups(pool, device) if draws_any else (),
        )


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


def selects_itself(slice_: ResourceSlice) -> bool:
    spec = slice_.spec
    return bool(spec.node_name or spec.all_nodes or spec.node_selector is not None)


def _is_relevant(slice_: ResourceSlice, node: Node) -> bool:
    if selects_itself(slice_):
        return _selects(slice_.spec, node, f"resource slice {slice_.metadata.name}")
    if slice_.spec.per_device_node_selection:
        return any(
            _selects(device, node, f"device {device.name} of slice {slice_.metadata.name}")
            for device in slice_.spec.devices
        )
    # Nothing that we know is set: an extension of a later version, left alone (KEP-4381).
    return False


def _selects(where: ResourceSliceSpec | Device, node: Node, who: str) -> bool:
    """Evaluate the three ways in which a slice and a device name their nodes."""
    if where.node_name:
        return where.node_name == node.metadata.name
    if where.all_nodes:
        return True
    if where.node_selector is None:
        return False
    try:
        return node_selectors.matches(where.node_selector, node)
    except Mistake as mistake:
        raise Mistake(f"{who}: {mistake.message}") from mistake


def _handles(where: ResourceSliceSpec | Device) -> frozenset[Handle] | None:
    """The nodes that a slice or a device selects, as `_selects` does, by what they must have."""
    if where.node_name:
        return frozenset([Handle(node_selectors.NAME_FIELD, where.node_name)])
    if where.all_nodes:
        return None
    if where.node_selector is None:
        return frozenset()
    return node_selectors.handles_of(where.node_selector)
