"""What speaks against one pick, given all earlier picks of the attempt.

Every sum is taken anew from the picks and from what other claims hold, so there is nothing to
keep in step. Order matters only for errors: `selectable` evaluates CEL and may be fatal.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dibs.model.core import Node
from dibs.model.objects import (
    CapacityRequestPolicyRange,
    Counter,
    Device,
    DeviceCapacity,
    DeviceConstraint,
    DeviceRequestAllocationResult,
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


@dataclass(frozen=True, slots=True)
class Judge:
    """Everything a check may look at that does not change during the search."""

    node: Node
    pools: tuple[Pool, ...]
    claims: tuple[ResourceClaim, ...]
    held: Held
    features: Features
    # With the defects of upstream 0.37 that conformance/differences.md lists.
    as_upstream: bool = False

    def takes_nothing(self, ask: Ask) -> bool:
        """Admin access takes nothing from anyone (KEP-5018); upstream has it pay like others."""
        return ask.is_admin and not self.as_upstream

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
        return not taken and all(self.takes_nothing(pick.ask) for pick in same)

    def could_hold(self, ask: Ask, candidate: Candidate) -> bool:
        """Whether the device has what the ask wants of it when nothing is taken (KEP-5075)."""
        if not self.features.consumable_capacity:
            return True
        capacity = candidate.device.capacity
        unknown = set(ask.capacity) - set(capacity)
        if not all(self._meters(candidate, name) for name in unknown):
            return False
        for name, each in capacity.items():
            if self._takes(each, ask.capacity.get(name)) < ZERO:
                raise Fatal(f"capacity {name} is negative")
        return all(
            _is_allowed(each, self._takes(each, ask.capacity.get(name)), ask.capacity.get(name))
            for name, each in capacity.items()
        )

    def _takes(self, capacity: DeviceCapacity, wanted: Quantity | None) -> Quantity:
        return consumption(capacity, wanted, self.features.fractional_capacity_range)

    def _meters(self, candidate: Candidate, name: str) -> bool:
        """Whether a counter of the device serves a request for this capacity (KEP-5941)."""
        driver = candidate.slice.spec.driver
        return any(
            each.value_from is not None
            and _is_same_name(each.value_from.capacity_key, name, driver)
            for draw in candidate.device.consumes_counters
            for each in draw.counters.values()
        )

    def is_prepared(self, candidate: Candidate) -> bool:
        """Whether the node can do without the operations that the slice leaves out (KEP-5945)."""
        if not candidate.slice.spec.skip_node_operations:
            return True
        declared = self.node.status.declared_features
        return self.features.optional_node_operations and "DRAOptionalNodeOperations" in declared

    def has_left(self, ask: Ask, candidate: Candidate, picks: tuple[Pick, ...]) -> bool:
        """Whether the sums of all shares stay within the capacity; admin access adds to none."""
        if not self.is_shareable(candidate) or self.takes_nothing(ask):
            return True
        for name, capacity in candidate.device.capacity.items():
            total = self.held.capacity.get((candidate.key, name), ZERO)
            for pick in picks:
                if pick.candidate.key == candidate.key and not self.takes_nothing(pick.ask):
                    total = total.plus(pick.consumed[name])
            total = total.plus(self._takes(capacity, ask.capacity.get(name)))
            if total > _total(capacity):
                return False
        return True

    def is_covered(self, ask: Ask, candidate: Candidate, picks: tuple[Pick, ...]) -> bool:
        """Whether the card still has what the pick draws (KEP-4815, KEP-5941), in a mode in which
        the device can be used (KEP-5963)."""
        draws = candidate.device.consumes_counters
        if self.features.partitionable_devices and self.is_shareable(candidate):
            if not self.takes_nothing(ask) and not self._is_as_remembered(candidate):
                return False
        if not draws:
            return True
        if not self.features.partitionable_devices:
            return False
        gates = self.features.shared_consumable_capacity and self.features.consumable_capacity
        is_metered = any(each.value_from for draw in draws for each in draw.counters.values())
        if is_metered and not gates:
            return False
        if self.takes_nothing(ask):
            return True
        pool = self._pool(candidate)
        mine = [
            pick
            for pick in picks
            if not self.takes_nothing(pick.ask) and pick.candidate.key[:2] == candidate.key[:2]
        ]
        new = Pick(ask, candidate, False, {})
        if not any(candidate.key == pick.candidate.key for pick in mine):
            if candidate.key not in self.held.shared and not self._goes(candidate, pool, mine):
                return False
        needed = self._drawn_by(new, pool, mine)
        if needed is None:
            return False
        drawn: Amounts = {}
        for place, pick in enumerate(mine):
            drawn = _sum(drawn, self._drawn_by(pick, pool, mine[:place]) or {})
        return all(
            drawn.get(where, ZERO).plus(amount) <= self._left(pool, *where)
            for where, amount in needed.items()
        )

    def _pool(self, candidate: Candidate) -> Pool:
        spec = candidate.slice.spec
        (pool,) = (
            each for each in self.pools if (each.driver, each.name) == (spec.driver, spec.pool.name)
        )
        return pool

    def _drawn_by(self, pick: Pick, pool: Pool, before: list[Pick]) -> Amounts | None:
        """What one pick draws beside those before it; None if a counter's policy says no."""
        candidate, ask = pick.candidate, pick.ask
        is_first = candidate.key not in self.held.shared and not any(
            candidate.key == other.candidate.key for other in before
        )
        capacity = candidate.device.capacity
        share = {name: self._takes(each, ask.capacity.get(name)) for name, each in capacity.items()}
        metered = self._metered(candidate, pool, share, ask.capacity)
        if metered is None:
            return None
        return _sum(metered, _draws([candidate.device]) if is_first else {})

    def _metered(
        self,
        candidate: Candidate,
        pool: Pool,
        share: Mapping[str, Quantity],
        wanted: Mapping[str, Quantity],
    ) -> Amounts | None:
        amounts: Amounts = {}
        driver = candidate.slice.spec.driver
        for draw in candidate.device.consumes_counters:
            for name, each in draw.counters.items():
                if each.value_from is None:
                    continue
                counter = _counter(pool, draw.counter_set, name)
                terms = DeviceCapacity(counter.value, counter.request_policy)
                key = each.value_from.capacity_key
                asked = [
                    amount
                    for known in (share, wanted)
                    for spelled, amount in known.items()
                    if _is_same_name(key, spelled, driver)
                ]
                taken = self._takes(terms, asked[0] if asked else None)
                if not _is_allowed(terms, taken, asked[0] if asked else None):
                    return None
                amounts[draw.counter_set, name] = taken
        return amounts

    def _goes(self, candidate: Candidate, pool: Pool, mine: list[Pick]) -> bool:
        """Whether on each of its counter sets all users have a compatibility group in common."""
        if not self.features.compatibility_groups:
            return True
        # A device with a share out is a user already, as its holder remembers it.
        others = [p.candidate.device for p in mine if p.candidate.key not in self.held.shared]
        for draw in candidate.device.consumes_counters:
            used = [
                each.compatibility_groups
                for device in others
                for each in device.consumes_counters
                if each.counter_set == draw.counter_set
            ]
            used = [*self._held_groups(pool, draw.counter_set), *used]
            if self.as_upstream and used and any(used) and not all(used):
                # Held in ways that don't go together: the first decides what the others are.
                used = [groups for groups in used if bool(groups) == bool(used[0])]
            used.append(draw.compatibility_groups)
            declares = [set(groups) for groups in used if groups]
            if declares and (len(declares) < len(used) or not set.intersection(*declares)):
                return False
        return True

    def _is_as_remembered(self, candidate: Candidate) -> bool:
        """Whether the device draws what the claims with a share of it remember that it drew."""
        for holding in self.held.holdings:
            if holding.key == candidate.key and holding.remembered is not None:
                amounts = {
                    (counter_set, name): Quantity.parse(text)
                    for counter_set, memory in holding.remembered.items()
                    for name, text in memory.get("counters", {}).items()
                }
                groups = {
                    name: set(memory.get("compatibilityGroups", ()))
                    for name, memory in holding.remembered.items()
                }
                draws = candidate.device.consumes_counters
                if amounts != _draws([candidate.device]):
                    return False
                if groups != {each.counter_set: set(each.compatibility_groups) for each in draws}:
                    return False
        return True

    def _held_groups(self, pool: Pool, counter_set: str) -> list[tuple[str, ...]]:
        found = []
        for _, devices, memories in self._users(pool):
            for memory in memories:
                if counter_set in memory:
                    groups = memory[counter_set].get("compatibilityGroups", ())
                    found.append(tuple(groups))
            if not memories:
                found += [
                    draw.compatibility_groups
                    for device in devices
                    for draw in device.consumes_counters
                    if draw.counter_set == counter_set
                ]
        return found

    def _users(self, pool: Pool) -> Iterator[tuple[Key, list[Device], list[Mapping[str, Any]]]]:
        """Every held device of the pool, as published and as remembered."""
        of_pool = [each for each in self.held.holdings if each.key[:2] == (pool.driver, pool.name)]
        order = [*pool.relevant, *pool.published]
        places = [device.name for slice in order for device in slice.spec.devices]
        of_pool.sort(key=lambda each: places.index(each.key[2]) if each.key[2] in places else -1)
        for key in dict.fromkeys(each.key for each in of_pool):
            devices = [
                device
                for slice in pool.published
                for device in slice.spec.devices
                if device.name == key[2]
            ]
            memories = [each.remembered for each in of_pool if each.key == key]
            yield key, devices[:1], [each for each in memories if each is not None]

    def _left(self, pool: Pool, counter_set: str, counter: str) -> Quantity:
        """What is left of a counter once all held devices have drawn; never below zero."""
        where = counter_set, counter
        taken = ZERO
        for key, devices, memories in self._users(pool):
            known = [memory.get(counter_set, {}).get("counters", {}) for memory in memories]
            amounts = [Quantity.parse(each[counter]) for each in known if counter in each]
            if amounts:
                taken = taken.plus(max(amounts))
            elif not memories:
                taken = taken.plus(_draws(devices).get(where, ZERO))
            for holding in self.held.holdings:
                if holding.key == key:
                    taken = taken.plus(self._drawn_each(holding, devices, pool).get(where, ZERO))
        left = (_counter(pool, counter_set, counter).value or ZERO).minus(taken)
        return max(left, ZERO)

    def _drawn_each(self, holding: Holding, devices: list[Device], pool: Pool) -> Amounts:
        """What one holder draws by capacity: as remembered, else by what is published."""
        if holding.remembered is not None:
            return {
                (counter_set, name): Quantity.parse(text)
                for counter_set, memory in holding.remembered.items()
                for name, text in memory.get("perShare", {}).items()
            }
        for slice in pool.published:
            for device in slice.spec.devices:
                if device in devices:
                    share = holding.consumed
                    if not holding.is_share:
                        share = {
                            name: self._takes(each, holding.wanted.get(name))
                            for name, each in device.capacity.items()
                        }
                    found = self._metered(Candidate(slice, device), pool, share, holding.wanted)
                    return found or {}
        return {}

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
            constraints.holds(
                constraint, ask, candidate, self._under(constraint, ask, picks), lists
            )
            for constraint in self.claims[ask.claim].spec.devices.constraints
            if constraints.concerns(constraint, ask)
        )

    def _under(
        self, constraint: DeviceConstraint, ask: Ask, picks: tuple[Pick, ...]
    ) -> list[tuple[Ask, Candidate]]:
        """The devices that the claim has under this constraint already."""
        return [
            (pick.ask, pick.candidate)
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


def consumption(
    capacity: DeviceCapacity, wanted: Quantity | None, in_milli: bool = True
) -> Quantity:
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
        if low is not None and step is not None and in_milli and _is_milli(policy.valid_range):
            base, each = low.milli_rounded_up(), step.milli_rounded_up()
            count = -(-(wanted.milli_rounded_up() - base) // each)
            return Quantity(base + count * each, -3)
        if low is not None and step is not None:
            bottom, width = low.rounded_up(), step.rounded_up()
            steps = -(-(wanted.rounded_up() - bottom) // width)
            return Quantity.of(bottom + steps * width)
        return wanted
    if policy.valid_values:
        return min((each for each in policy.valid_values if each >= wanted), default=wanted)
    return wanted


def _is_milli(limits: CapacityRequestPolicyRange) -> bool:
    figures = (limits.min, limits.max, limits.step)
    return all(figure is None or figure.exact_milli() is not None for figure in figures)


def _is_same_name(key: str, name: str, driver: str) -> bool:
    """A capacity may be called with or without the domain of its driver (KEP-5941)."""
    return key == name or f"{driver}/{key}" == name or key == f"{driver}/{name}"


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


Amounts = dict[tuple[str, str], Quantity]


def _sum(one: Amounts, other: Amounts) -> Amounts:
    return {
        where: one.get(where, ZERO).plus(other.get(where, ZERO))
        for where in one.keys() | other.keys()
    }


def _counter(pool: Pool, counter_set: str, name: str) -> Counter:
    (found,) = (
        each.counters[name]
        for slice in pool.published
        for each in slice.spec.shared_counters
        if each.name == counter_set
    )
    return found


def _draws(devices: Iterable[Device]) -> dict[tuple[str, str], Quantity]:
    sums: dict[tuple[str, str], Quantity] = {}
    for device in devices:
        for draw in device.consumes_counters:
            for counter, amount in draw.counters.items():
                if amount.value_from is not None:
                    continue
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
