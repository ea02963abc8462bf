"""Whether a card still has what a pick draws, in a mode in which the device can be used.

Counters are added up anew for each pick: what held devices draw, as their claims remember it or
as it is published now, and what the picks so far draw.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from dibs.model.objects import Counter, Device, DeviceCapacity
from dibs.supply.features import Features
from dibs.testing.oracle import capacity as capacities
from dibs.testing.oracle.holding import Held, Holding, Pick
from dibs.testing.oracle.pools import Candidate, Key, Pool
from dibs.testing.oracle.wishes import Ask
from dibs.values.quantity import Quantity

ZERO = Quantity.of(0)


@dataclass(frozen=True, slots=True)
class Cards:
    """What partitions have in common: counters (KEP-4815, KEP-5941) and modes (KEP-5963)."""

    pools: tuple[Pool, ...]
    held: Held
    features: Features
    as_upstream: bool

    def takes_nothing(self, ask: Ask) -> bool:
        """Admin access takes nothing from anyone (KEP-5018); upstream has it pay like others."""
        return ask.is_admin and not self.as_upstream

    def is_shareable(self, candidate: Candidate) -> bool:
        return self.features.consumable_capacity and bool(
            candidate.device.allow_multiple_allocations
        )

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
                if not capacities.is_allowed(terms, taken, asked[0] if asked else None):
                    return None
                if taken < ZERO:
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
            elif not memories or _has_outdated(memories, pool):
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
                    candidate = Candidate(slice, device)
                    found = self._metered(candidate, pool, share, holding.wanted)
                    if found is not None:
                        return found
                    return self._given(candidate, pool, share, holding.wanted)
        return {}

    def _given(
        self,
        candidate: Candidate,
        pool: Pool,
        share: Mapping[str, Quantity],
        wanted: Mapping[str, Quantity],
    ) -> Amounts:
        """What was given by capacity to who holds it, where the counters' policies forbid some of
        it by now: that much of those, as ever of the others."""
        amounts: Amounts = {}
        for draw in candidate.device.consumes_counters:
            for name, each in draw.counters.items():
                if each.value_from is None:
                    continue
                only = replace(
                    candidate.device,
                    consumes_counters=(replace(draw, counters={name: each}),),
                )
                alone = self._metered(Candidate(candidate.slice, only), pool, share, wanted)
                if alone is None:
                    key, driver = each.value_from.capacity_key, candidate.slice.spec.driver
                    asked = [
                        amount
                        for known in (share, wanted)
                        for spelled, amount in known.items()
                        if _is_same_name(key, spelled, driver)
                    ]
                    alone = {(draw.counter_set, name): max(asked[0], ZERO) if asked else ZERO}
                amounts |= alone
        return amounts

    def _takes(self, capacity: DeviceCapacity, wanted: Quantity | None) -> Quantity:
        return capacities.consumption(capacity, wanted, self.features.fractional_capacity_range)


def meters(candidate: Candidate, name: str) -> bool:
    """Whether a counter of the device serves a request for this capacity (KEP-5941)."""
    driver = candidate.slice.spec.driver
    return any(
        each.value_from is not None and _is_same_name(each.value_from.capacity_key, name, driver)
        for draw in candidate.device.consumes_counters
        for each in draw.counters.values()
    )


def _is_same_name(key: str, name: str, driver: str) -> bool:
    """A capacity may be called with or without the domain of its driver (KEP-5941)."""
    return key == name or f"{driver}/{key}" == name or key == f"{driver}/{name}"


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


def _has_outdated(memories: Iterable[Mapping[str, Any]], pool: Pool) -> bool:
    """Whether a fixed draw is remembered of a counter that the pool has under no such name."""
    known = {
        (each.name, name)
        for slice in pool.published
        for each in slice.spec.shared_counters
        for name in each.counters
    }
    return any(
        (counter_set, name) not in known
        for memory in memories
        for counter_set, drawn in memory.items()
        for name in drawn.get("counters", {})
    )


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
