"""The devices that the input publishes, each with the place it stands at.

Only the newest generation of a pool counts: an older one is on its way out. Unlike
`supply.pools` this knows no node, and keeps the devices of faulty pools: they are to be looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dibs.client.dump import Entry, Loaded
from dibs.lint import inputs
from dibs.model.objects import Device, ResourceSlice
from dibs.supply.identity import DeviceId, PoolId
from dibs.supply.pools import pool_of


@dataclass(frozen=True, slots=True)
class Published:
    """One device in its slice: `path` is `spec.devices[i]`."""

    entry: Entry
    slice: ResourceSlice
    id: DeviceId
    device: Device
    path: str


@dataclass(frozen=True, slots=True)
class Generation:
    """The slices of a pool's newest generation."""

    slices: tuple[tuple[Entry, ResourceSlice], ...]

    @property
    def counts(self) -> set[int]:
        return {slice_.spec.pool.resource_slice_count for _, slice_ in self.slices}

    @property
    def is_complete(self) -> bool:
        return self.counts == {len(self.slices)}


def pools(loaded: Loaded) -> dict[PoolId, Generation]:
    """Return the newest generation of every pool, in order of appearance."""
    found: dict[PoolId, list[tuple[Entry, ResourceSlice]]] = {}
    for entry, slice_ in inputs.of_kind(loaded, ResourceSlice):
        found.setdefault(pool_of(slice_), []).append((entry, slice_))
    newest: dict[PoolId, Generation] = {}
    for pool, slices in found.items():
        generation = max(slice_.spec.pool.generation for _, slice_ in slices)
        newest[pool] = Generation(
            tuple(pair for pair in slices if pair[1].spec.pool.generation == generation)
        )
    return newest


def devices(newest: Mapping[PoolId, Generation]) -> Iterator[Published]:
    for pool, generation in newest.items():
        for entry, slice_ in generation.slices:
            for index, device in enumerate(slice_.spec.devices):
                name = DeviceId(pool.driver, pool.name, device.name)
                yield Published(entry, slice_, name, device, f"spec.devices[{index}]")
