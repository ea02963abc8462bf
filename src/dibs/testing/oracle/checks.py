"""What speaks against one pick, given all earlier picks of the attempt.

Every sum is taken anew from the picks and from what other claims hold, so there is nothing to
keep in step. Order matters only for errors: `selectable` evaluates CEL and may be fatal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dibs.model.core import Node
from dibs.model.objects import (
    Device,
    DeviceCapacity,
    DeviceConstraint,
    DeviceTaint,
    DeviceToleration,
    ResourceClaim,
)
from dibs.request import selectors
from dibs.supply.features import Features
from dibs.supply.identity import DeviceId
from dibs.testing.oracle import constraints, pools
from dibs.testing.oracle.pools import Candidate, Fatal, Key, Pool
from dibs.testing.oracle.wishes import Ask
from dibs.values.mistake import Mistake
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


def held(claims: Iterable[ResourceClaim], features: Features) -> Held:
    whole, shared = set(), set()
    sums: dict[tuple[Key, str], Quantity] = {}
    for claim in claims:
        if claim.status.allocation is None:
            continue
        for result in claim.status.allocation.devices.results:
            key = (result.driver, result.pool, result.device)
            if result.admin_access:
                continue
            if result.share_id is None or not features.consumable_capacity:
                whole.add(key)
                continue
            shared.add(key)
            for name, amount in result.consumed_capacity.items():
                sums[key, name] = sums.get((key, name), ZERO).plus(amount)
    return Held(frozenset(whole), frozenset(shared), sums)


@dataclass(frozen=True, slots=True)
class Judge:
    """Everything a check may look at that does not change during the search."""

    node: Node
    pools: tuple[Pool, ...]
    claims: tuple[ResourceClaim, ...]
    held: Held
    features: Features

    def is_selectable(self, ask: Ask, candidate: Candidate) -> bool:
        """Binding conditions, then CEL (class before request), then the device's own nodes."""
        device = candidate.device
        if device.binding_conditions and not self.features.device_binding_and_status:
            return False
        if not all(_matches(text, candidate) for text in ask.selectors):
            return False
        return pools.reaches(candidate, self.node)

    def is_shareable(self, candidate: Candidate) -> bool:
        return self.features.consumable_capacity and bool(
            candidate.device.allow_multiple_allocations
        )

    def is_free(self, ask: Ask, candidate: Candidate, picks: tuple[Pick, ...]) -> bool:
        if self.is_shareable(candidate):
            return ask.is_admin or candidate.key not in self.held.whole
        same = [pick for pick in picks if pick.candidate.key == candidate.key]
        if any(pick.ask.claim == ask.claim for pick in same):
            return False
        if ask.is_admin:
            return True
        taken = candidate.key in self.held.whole or candidate.key in self.held.shared
        return not taken and all(pick.ask.is_admin for pick in same)

    def could_hold(self, ask: Ask, candidate: Candidate) -> bool:
        """Whether the device has what the ask wants of it when nothing is taken (KEP-5075)."""
        if not self.features.consumable_capacity:
            return True
        capacity = candidate.device.capacity
        if not set(ask.capacity) <= set(capacity):
            return False
        return all(
            _is_allowed(each, consumption(each, ask.capacity.get(name)), ask.capacity.get(name))
            for name, each in capacity.items()
        )

    def has_left(self, ask: Ask, candidate: Candidate, picks: tuple[Pick, ...]) -> bool:
        """Whether the sums of all shares stay within the capacity; admin access adds to none."""
        if not self.is_shareable(candidate) or ask.is_admin:
            return True
        for name, capacity in candidate.device.capacity.items():
            total = self.held.capacity.get((candidate.key, name), ZERO)
            for pick in picks:
                if pick.candidate.key == candidate.key and not pick.ask.is_admin:
                    total = total.plus(pick.consumed[name])
            total = total.plus(consumption(capacity, ask.capacity.get(name)))
            if total > _total(capacity):
                return False
        return True

    def is_covered(self, ask: Ask, candidate: Candidate, picks: tuple[Pick, ...]) -> bool:
        """Whether the card's counters still have what the device draws (KEP-4815)."""
        if not candidate.device.consumes_counters:
            return True
        if not self.features.partitionable_devices:
            return False
        spec = candidate.slice.spec
        if ask.is_admin or candidate.key in self.held.shared:
            return True
        drawing = {
            pick.candidate.key: pick.candidate.device
            for pick in picks
            if not pick.ask.is_admin and pick.candidate.key not in self.held.shared
        }
        if candidate.key in drawing:
            # A further share of a device that has paid already.
            return True
        (pool,) = (
            each for each in self.pools if (each.driver, each.name) == (spec.driver, spec.pool.name)
        )
        mine = [device for key, device in drawing.items() if key[:2] == candidate.key[:2]]
        for (counter_set, counter), wanted in _draws([candidate.device]).items():
            left = self._left(pool, counter_set, counter)
            if _draws(mine).get((counter_set, counter), ZERO).plus(wanted) > left:
                return False
        return True

    def _left(self, pool: Pool, counter_set: str, counter: str) -> Quantity:
        """What is left of a counter once all held devices have drawn; never below zero."""
        (declared,) = (
            each.counters[counter].value or ZERO
            for slice in pool.published
            for each in slice.spec.shared_counters
            if each.name == counter_set
        )
        taken = self.held.whole | self.held.shared
        holding = [
            device
            for slice in pool.published
            for device in slice.spec.devices
            if (pool.driver, pool.name, device.name) in taken
        ]
        left = declared.minus(_draws(holding).get((counter_set, counter), ZERO))
        return max(left, ZERO)

    def is_tolerated(self, ask: Ask, candidate: Candidate) -> bool:
        if not self.features.device_taints:
            return True
        blocking = [
            each for each in candidate.device.taints if each.effect in ("NoSchedule", "NoExecute")
        ]
        return all(any(_tolerates(t, taint) for t in ask.tolerations) for taint in blocking)

    def is_constrained_well(self, ask: Ask, candidate: Candidate, picks: tuple[Pick, ...]) -> bool:
        """Whether all constraints of the claim still hold with this device."""
        lists = self.features.list_type_attributes
        return all(
            constraints.holds(constraint, candidate, self._under(constraint, ask, picks), lists)
            for constraint in self.claims[ask.claim].spec.devices.constraints
            if constraints.concerns(constraint, ask)
        )

    def _under(
        self, constraint: DeviceConstraint, ask: Ask, picks: tuple[Pick, ...]
    ) -> list[Candidate]:
        """The devices that the claim has under this constraint already."""
        return [
            pick.candidate
            for pick in picks
            if pick.ask.claim == ask.claim and constraints.concerns(constraint, pick.ask)
        ]


# --- selectors ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Asked:
    """A device as selectors want to be asked about it."""

    id: DeviceId
    device: Device


def _matches(expression: str, candidate: Candidate) -> bool:
    """Whether the selector is true. Raises Fatal when it doesn't compile, or fails."""
    try:
        selector = selectors.Selector.compile(expression)
        return selector.matches(_Asked(DeviceId(*candidate.key), candidate.device))
    except Mistake as mistake:
        raise Fatal(f"selector on device {candidate.device.name}: {mistake}") from mistake


# --- capacity ----------------------------------------------------------------------------------


def consumption(capacity: DeviceCapacity, wanted: Quantity | None) -> Quantity:
    """How much a share takes: the wish rounded up by the policy, or its default (KEP-5075)."""
    policy = capacity.request_policy
    if wanted is None:
        default = policy.default if policy is not None else None
        return default if default is not None else _total(capacity)
    if policy is None:
        return wanted
    if policy.valid_range is not None:
        low, step = policy.valid_range.min, policy.valid_range.step
        if low is not None and wanted < low:
            return low
        if low is not None and step is not None:
            bottom, width = low.rounded_up(), step.rounded_up()
            steps = -(-(wanted.rounded_up() - bottom) // width)
            return Quantity.of(bottom + steps * width)
        return wanted
    if policy.valid_values:
        return min((each for each in policy.valid_values if each >= wanted), default=wanted)
    return wanted


def _is_allowed(capacity: DeviceCapacity, taken: Quantity, wanted: Quantity | None) -> bool:
    if taken > _total(capacity):
        return False
    policy = capacity.request_policy
    if policy is None or taken == policy.default or wanted is None:
        return True
    if policy.valid_range is not None:
        high = policy.valid_range.max
        return high is None or taken <= high
    return not policy.valid_values or taken in policy.valid_values


def _total(capacity: DeviceCapacity) -> Quantity:
    return capacity.value or ZERO


# --- counters and taints -----------------------------------------------------------------------


def _draws(devices: Iterable[Device]) -> dict[tuple[str, str], Quantity]:
    sums: dict[tuple[str, str], Quantity] = {}
    for device in devices:
        for draw in device.consumes_counters:
            for counter, amount in draw.counters.items():
                where = (draw.counter_set, counter)
                sums[where] = sums.get(where, ZERO).plus(amount.value or ZERO)
    return sums


def _tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.value == taint.value
