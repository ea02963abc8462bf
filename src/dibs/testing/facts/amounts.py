"""How much of a capacity, or of a counter by it, a request gets (KEP-5075, KEP-5941)."""

from __future__ import annotations

from collections.abc import Mapping

from dibs.model.objects import (
    CapacityRequestPolicy,
    Counter,
    DeviceSubRequest,
    ExactDeviceRequest,
)
from dibs.testing.facts.tables import CounterKey, Spot, milli
from dibs.values.quantity import Quantity


def could_hold(wish: ExactDeviceRequest | DeviceSubRequest, spot: Spot) -> dict[str, int] | None:
    """What the device gives if nothing of it is taken, by capacity; None if it can't."""
    asked = dict(wish.capacity.requests) if wish.capacity is not None else {}
    if not set(asked) <= set(spot.device.capacity):
        return None
    found = {}
    for name, capacity in spot.device.capacity.items():
        wanted = milli(asked[name]) if name in asked else None
        taken = consumed(capacity.value, capacity.request_policy, wanted)
        if not _is_allowed(capacity.value, capacity.request_policy, taken, wanted):
            return None
        found[name] = taken
    return found


def metered(
    spot: Spot, consumed: Mapping[str, int], counters: Mapping[CounterKey, Counter]
) -> dict[CounterKey, int] | None:
    """What is drawn from counters by what is consumed of a capacity; None if it mayn't be."""
    found = {}
    for draw in spot.device.consumes_counters:
        for name, each in draw.counters.items():
            if each.value_from is None:
                continue
            key = spot.id.driver, spot.id.pool, draw.counter_set, name
            counter, wanted = counters[key], consumed.get(each.value_from.capacity_key)
            taken = amount(counter, wanted)
            if not _is_allowed(counter.value, counter.request_policy, taken, wanted):
                return None
            found[key] = taken
    return found


def consumed(
    total: Quantity | None, policy: CapacityRequestPolicy | None, wanted: int | None
) -> int:
    """The wish rounded up by the policy; without a wish, its default, else everything."""
    if wanted is None:
        has_default = policy is not None and policy.default is not None
        return milli(policy.default) if policy and has_default else milli(total)
    if policy is None:
        return wanted
    if policy.valid_range is not None:
        low = milli(policy.valid_range.min)
        if wanted <= low:
            return low
        if policy.valid_range.step is None:
            return wanted
        step = milli(policy.valid_range.step)
        return low + -(-(wanted - low) // step) * step
    larger = [milli(each) for each in policy.valid_values if milli(each) >= wanted]
    return min(larger, default=wanted)


def _is_allowed(
    total: Quantity | None, policy: CapacityRequestPolicy | None, taken: int, wanted: int | None
) -> bool:
    if taken > milli(total):
        return False
    if policy is None or wanted is None or taken == milli(policy.default):
        return True
    if policy.valid_range is not None:
        return policy.valid_range.max is None or taken <= milli(policy.valid_range.max)
    return not policy.valid_values or taken in {milli(each) for each in policy.valid_values}


def amount(counter: Counter, asked: int | None) -> int:
    """What is drawn of a counter for so much of a capacity: its policy rounds once more."""
    return consumed(counter.value, counter.request_policy, asked)
