"""What other claims hold, and what that leaves of devices, counters and modes.

KEP-5075 (shares), KEP-4815 (counters), KEP-5941 (counters drawn by capacity), KEP-5963 (groups).
What claims remember of their drawing is not read: `tight` has no such claims.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dibs.model.objects import (
    Counter,
    CounterDraw,
    Device,
    DeviceCapacity,
    ResourceClaim,
    ResourceSlice,
)
from dibs.supply.identity import DeviceId
from dibs.testing.facts import amounts
from dibs.testing.facts.pools import Pool
from dibs.testing.facts.tables import CardKey, CounterKey, Spot, milli, modes_of


@dataclass(frozen=True, slots=True)
class Held:
    """Devices that are with other claims; the shares of them with what each consumes and wanted."""

    whole: frozenset[DeviceId]
    shares: Mapping[DeviceId, tuple[Mapping[str, int], ...]]


def held(claims: Sequence[ResourceClaim]) -> Held:
    whole: set[DeviceId] = set()
    shares: dict[DeviceId, tuple[Mapping[str, int], ...]] = {}
    for claim in claims:
        assert claim.status.allocation is not None
        for pick in claim.status.allocation.devices.results:
            id_ = DeviceId(pick.driver, pick.pool, pick.device)
            if pick.admin_access:
                continue
            if pick.share_id is None:
                whole.add(id_)
            else:
                consumed = {name: milli(each) for name, each in pick.consumed_capacity.items()}
                shares[id_] = (*shares.get(id_, ()), consumed)
    return Held(frozenset(whole), shares)


def spot(slice_: ResourceSlice, device: Device, held: Held) -> Spot:
    id_ = DeviceId(slice_.spec.driver, slice_.spec.pool.name, device.name)
    shares = held.shares.get(id_, ())
    left = {
        name: milli(each.value) - sum(share.get(name, 0) for share in shares)
        for name, each in device.capacity.items()
    }
    return Spot(id_, device, slice_, id_ in held.whole, bool(shares), left)


@dataclass(frozen=True, slots=True)
class _User:
    """A device that others have: as a whole, or shares of it."""

    device: Device
    is_whole: bool
    shares: tuple[Mapping[str, int], ...]


def _users(pool: Pool, held: Held) -> Iterator[_User]:
    for slice_ in pool.published:
        for device in slice_.spec.devices:
            id_ = DeviceId(pool.driver, pool.name, device.name)
            if id_ in held.whole or id_ in held.shares:
                yield _User(device, id_ in held.whole, held.shares.get(id_, ()))


def left(key: CounterKey, counter: Counter, seen: Sequence[Pool], held: Held) -> int:
    """What is left of a counter: nothing, where more is drawn than there is (KEP-4815)."""
    driver, name, counter_set, counter_name = key
    (pool,) = (each for each in seen if (each.driver, each.name) == (driver, name))
    drawn = sum(
        _drawn(draw.counters[counter_name], counter, user)
        for user in _users(pool, held)
        for draw in user.device.consumes_counters
        if draw.counter_set == counter_set and counter_name in draw.counters
    )
    return max(milli(counter.value) - drawn, 0)


def _drawn(draw: CounterDraw, counter: Counter, user: _User) -> int:
    """Once a device, or once a share by what it consumes (KEP-5941).

    A whole device was given what an empty request gets.
    """
    if draw.value_from is None:
        return milli(draw.value)
    key = draw.value_from.capacity_key
    asked = [share.get(key) for share in user.shares]
    if user.is_whole:
        asked.append(_all_of(user.device.capacity.get(key)))
    return sum(amounts.amount(counter, each) for each in asked)


def _all_of(capacity: DeviceCapacity | None) -> int | None:
    if capacity is None:
        return None
    return amounts.consumed(capacity.value, capacity.request_policy, None)


def modes(seen: Sequence[Pool], held: Held) -> dict[CardKey, frozenset[str] | None]:
    """Devices that draw from one counter set need a group in common, or none at all (KEP-5963)."""
    found: dict[CardKey, frozenset[str] | None] = {}
    for pool in seen:
        for name in pool.counters:
            common: frozenset[str] | None = None
            for user in _users(pool, held):
                for draw in user.device.consumes_counters:
                    if draw.counter_set == name:
                        its = modes_of(draw.compatibility_groups)
                        common = its if common is None else common & its
            found[pool.driver, pool.name, name] = common
    return found
