"""The devices that the input publishes, each with the place it stands at.

Only the newest generation of a pool counts: an older one is on its way out. Unlike
`supply.pools` this knows no node, and keeps the devices of faulty pools: they are to be looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from dibs.client.dump import Entry, Loaded
from dibs.lint import inputs
from dibs.model.objects import Device, ResourceSlice
from dibs.supply.identity import DeviceId, PoolId
from dibs.supply.pools import pool_of

Listed = tuple[Entry, ResourceSlice]


@dataclass(frozen=True, slots=True)
class Published:
    """One device in its slice: `path` is `spec.devices[i]`."""

    entry: Entry
    slice: ResourceSlice
    id: DeviceId
    device: Device
    path: str


@dataclass(frozen=True, eq=False)
class Group:
    """Devices that many requests may have in common; what is asked of them is worked out once."""

    devices: tuple[Published, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.devices)

    @cached_property
    def attributes(self) -> frozenset[str]:
        """The full names of all attributes; a bare name is in the driver's domain (KEP-4381)."""
        return frozenset(
            key if "/" in key else f"{each.id.driver}/{key}"
            for each in self.devices
            for key in each.device.attributes
        )

    @cached_property
    def most_on_a_node(self) -> int | None:
        """How many of them one node can reach at most, None when it can't be said."""
        if any(each.device.allow_multiple_allocations for each in self.devices):
            return None  # one device may serve several times (KEP-5075)
        nodes = Counter(each.slice.spec.node_name or each.device.node_name for each in self.devices)
        # Where a selector decides, or all nodes are meant, take it that any node is.
        everywhere = nodes.pop(None, 0)
        return max(nodes.values(), default=0) + everywhere


@dataclass(frozen=True, slots=True)
class Generation:
    """The slices of a pool's newest generation."""

    slices: tuple[Listed, ...]

    @property
    def counts(self) -> set[int]:
        return {slice_.spec.pool.resource_slice_count for _, slice_ in self.slices}

    @property
    def is_complete(self) -> bool:
        return self.counts == {len(self.slices)}


def pools(loaded: Loaded) -> dict[PoolId, Generation]:
    """Return the newest generation of every pool, in order of appearance."""
    found: dict[PoolId, list[Listed]] = {}
    for entry, slice_ in inputs.of_kind(loaded, ResourceSlice):
        found.setdefault(pool_of(slice_), []).append((entry, slice_))
    return {pool: Generation(newest(slices)) for pool, slices in found.items()}


def devices(loaded: Loaded) -> Iterator[Published]:
    """Yield what can be allocated somewhere.

    A node looks at its own slices only: one of another node, however new, makes none of them old.
    """
    found: dict[tuple[PoolId, str | None], list[Listed]] = {}
    for entry, slice_ in inputs.of_kind(loaded, ResourceSlice):
        found.setdefault((pool_of(slice_), slice_.spec.node_name), []).append((entry, slice_))
    for (pool, _), slices in found.items():
        for entry, slice_ in newest(slices):
            for index, device in enumerate(slice_.spec.devices):
                name = DeviceId(pool.driver, pool.name, device.name)
                yield Published(entry, slice_, name, device, f"spec.devices[{index}]")


def newest(slices: list[Listed]) -> tuple[Listed, ...]:
    generation = max(slice_.spec.pool.generation for _, slice_ in slices)
    return tuple(pair for pair in slices if pair[1].spec.pool.generation == generation)
