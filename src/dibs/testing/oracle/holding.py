"""What this attempt has picked, and what other claims hold: results read one by one.

A share whose feature is off holds the whole device; admin access holds nothing (KEP-5018). What a
claim remembers of counters is in its annotation (designs/031).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dibs.model.objects import DeviceRequestAllocationResult, ResourceClaim
from dibs.supply.features import Features
from dibs.testing.oracle.pools import Candidate, Key
from dibs.testing.oracle.wishes import Ask
from dibs.values.quantity import Quantity

ZERO = Quantity.of(0)


@dataclass(frozen=True, slots=True)
class Pick:
    """One device for one ask. `consumed` is empty unless a share was taken."""

    ask: Ask
    candidate: Candidate
    is_share: bool
    consumed: Mapping[str, Quantity]


@dataclass(frozen=True, slots=True)
class Held:
    """What other claims have: whole devices, devices with shares, and the sums of the shares."""

    whole: frozenset[Key]
    shared: frozenset[Key]
    capacity: Mapping[tuple[Key, str], Quantity]
    holdings: tuple[Holding, ...]


@dataclass(frozen=True, slots=True)
class Holding:
    """One result that takes something, and what its claim wanted and remembers of it."""

    key: Key
    is_share: bool
    consumed: Mapping[str, Quantity]
    wanted: Mapping[str, Quantity]
    remembered: Mapping[str, Any] | None


def held(claims: Iterable[ResourceClaim], features: Features) -> Held:
    whole, shared = set(), set()
    sums: dict[tuple[Key, str], Quantity] = {}
    holdings = []
    for claim in claims:
        if claim.status.allocation is None:
            continue
        for result in claim.status.allocation.devices.results:
            key = (result.driver, result.pool, result.device)
            if result.admin_access:
                continue
            is_share = result.share_id is not None and features.consumable_capacity
            consumed = result.consumed_capacity if is_share else {}
            wanted, memory = _wanted(claim, result), _memory(claim, result)
            holdings.append(Holding(key, is_share, consumed, wanted, memory))
            if result.share_id is None or not features.consumable_capacity:
                whole.add(key)
                continue
            shared.add(key)
            for name, amount in result.consumed_capacity.items():
                sums[key, name] = sums.get((key, name), ZERO).plus(amount)
    return Held(frozenset(whole), frozenset(shared), sums, tuple(holdings))


def _wanted(claim: ResourceClaim, result: DeviceRequestAllocationResult) -> Mapping[str, Quantity]:
    for request in claim.spec.devices.requests:
        alternatives = [(f"{request.name}/{sub.name}", sub) for sub in request.first_available]
        for name, each in [(request.name, request.exactly), *alternatives]:
            if name == result.request and each is not None and each.capacity is not None:
                return each.capacity.requests
    return {}


def _memory(
    claim: ResourceClaim, result: DeviceRequestAllocationResult
) -> Mapping[str, Any] | None:
    """What the claim remembers of counters: designs/031."""
    text = claim.metadata.annotations.get("resource.dibs.dev/drawn-counters", "[]")
    mine = (result.driver, result.pool, result.device, result.share_id)
    for entry in json.loads(text):
        if (entry["driver"], entry["pool"], entry["device"], entry.get("shareID")) == mine:
            sets: Mapping[str, Any] = entry["counterSets"]
            return sets
    return None
