"""How a device and a pool are named: the keys that slices, claims and taint rules share.

A device is (driver, pool, device); a pool is (driver, pool) — never the pool name alone, because
most drivers name their pool after the node (KEP-4381, ResourcePool; kubernetes#140434).
"""

from __future__ import annotations

from typing import NamedTuple

# Compatibility groups (KEP-5963). A device that declares none goes only with others of that kind:
# these form a group of their own, under a name that no driver can give.
Groups = frozenset[str]
NO_GROUPS: Groups = frozenset([""])


class PoolId(NamedTuple):
    driver: str
    name: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.name}"


class CounterSetId(NamedTuple):
    """What one card has to give (KEP-4815): its name is scoped to the pool."""

    pool: PoolId
    name: str


class CounterId(NamedTuple):
    """One counter of one counter set (KEP-4815): names are scoped to the pool."""

    pool: PoolId
    set: str
    name: str


class DeviceId(NamedTuple):
    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"
