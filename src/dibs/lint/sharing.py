"""Counters, capacities and shares that the API accepts and that nobody can draw from as meant.

Partitions (KEP-4815) and shares (KEP-5075): amounts that are negative or more than there is, names
that stand twice in a pool, capacities that no device of the class has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dibs.lint import rule
from dibs.lint.hardware import draws
from dibs.lint.inputs import Wish
from dibs.lint.published import Generation
from dibs.lint.rule import Remark, Rule, World
from dibs.model.objects import CounterSet, Device, ResourceClaim, ResourceSlice
from dibs.values.quantity import Quantity

ROOM = "an amount that is drawn or consumed is zero or more; this one counts as zero"


def exceeded_counters(world: World) -> Iterator[Remark]:
    for pool in world.pools.values():
        sets = counter_sets(pool)
        for entry, slice_ in pool.slices:
            for path, draw in draws(slice_):
                known = sets[draw.counter_set].counters if draw.counter_set in sets else {}
                for name, amount in draw.counters.items():
                    total = known[name].value if name in known else None
                    if total is None or amount.value is None or is_negative(total):
                        continue
                    if amount.value > total:
                        yield Remark(
                            entry,
                            f"{path}.counters[{name}].value",
                            f"the device draws {amount.value} of {draw.counter_set}/{name}, "
                            f"the set has {total}",
                            "it can never be allocated",
                        )


def negative_amounts(world: World) -> Iterator[Remark]:
    for entry, slice_ in world.entries(ResourceSlice):
        for path, amount in published_amounts(slice_):
            if is_negative(amount):
                remedy = ROOM if "consumesCounters" in path else "nothing can be had of it"
                yield Remark(entry, path, f"{amount} is negative", remedy)
    for wish in world.wishes():
        for path, requests in wanted_amounts(wish):
            for name, amount in requests.items():
                if is_negative(amount):
                    yield Remark(
                        wish.entry,
                        f"{path}.capacity.requests[{name}]",
                        f"{amount} of {name} is asked for, which is negative",
                        "ask for what is needed, or for nothing to get the default",
                    )
    for entry, claim in world.entries(ResourceClaim):
        allocation = claim.status.allocation
        for index, result in enumerate(allocation.devices.results if allocation else ()):
            for name, amount in result.consumed_capacity.items():
                if is_negative(amount):
                    yield Remark(
                        entry,
                        f"status.allocation.devices.results[{index}].consumedCapacity[{name}]",
                        f"the claim consumes {amount} of {name}, which is negative",
                        ROOM,
                    )


def published_twice(world: World) -> Iterator[Remark]:
    for pool_id, pool in world.pools.items():
        first: dict[tuple[str, str], ResourceSlice] = {}
        for entry, slice_ in pool.slices:
            named = [
                *((f"spec.devices[{i}].name", "device", each.name) for i, each in devices(slice_)),
                *(
                    (f"spec.sharedCounters[{i}].name", "counter set", each.name)
                    for i, each in enumerate(slice_.spec.shared_counters)
                ),
            ]
            for path, kind, name in named:
                # Twice in one slice is the API server's to refuse.
                other = first.setdefault((kind, name), slice_)
                if other is not slice_:
                    yield Remark(
                        entry,
                        path,
                        f"{kind} {name} of pool {pool_id} stands in slice "
                        f"{other.metadata.name} already",
                        "the pool is invalid, and nothing is allocated from it, until it is "
                        "published once",
                    )


def unknown_capacity(world: World) -> Iterator[Remark]:
    # Many requests are for one class: its devices are looked through once.
    known_of: dict[int, frozenset[str]] = {}
    for demand in world.survey.demands:
        wanted = demand.request.capacity.requests if demand.request.capacity else {}
        if not wanted or not demand.offered:
            continue
        if world.survey.is_spare(demand.wish.entry, demand.path):
            continue
        group = demand.offered
        if id(group) not in known_of:
            known_of[id(group)] = frozenset(
                name for each in group.devices for name in capacities(each.device, each.id.driver)
            )
        for name in wanted:
            if name not in known_of[id(group)]:
                yield Remark(
                    demand.wish.entry,
                    f"{demand.path}.capacity.requests[{name}]",
                    f"no device of class {demand.request.device_class_name} has a capacity {name}",
                    rule.instead(name, known_of[id(group)]),
                )


RULES = (
    Rule(
        "counters-exceeded",
        "error",
        "a device draws more of a counter than its set has",
        exceeded_counters,
    ),
    Rule(
        "amount-negative",
        "error",
        "an amount of a counter or capacity is negative",
        negative_amounts,
    ),
    Rule(
        "published-twice",
        "error",
        "two slices of one pool publish a device or a counter set of one name",
        published_twice,
    ),
    Rule(
        "capacity-unknown",
        "error",
        "a request asks for a capacity that no device of its class has",
        unknown_capacity,
    ),
)


def counter_sets(pool: Generation) -> Mapping[str, CounterSet]:
    return {each.name: each for _, slice_ in pool.slices for each in slice_.spec.shared_counters}


def devices(slice_: ResourceSlice) -> Iterator[tuple[int, Device]]:
    return iter(enumerate(slice_.spec.devices))


def published_amounts(slice_: ResourceSlice) -> Iterator[tuple[str, Quantity | None]]:
    """Every amount of a slice with its path."""
    for index, counter_set in enumerate(slice_.spec.shared_counters):
        for name, counter in counter_set.counters.items():
            yield f"spec.sharedCounters[{index}].counters[{name}].value", counter.value
    for index, device in devices(slice_):
        for name, capacity in device.capacity.items():
            yield f"spec.devices[{index}].capacity[{name}].value", capacity.value
    for path, draw in draws(slice_):
        for name, amount in draw.counters.items():
            yield f"{path}.counters[{name}].value", amount.value


def wanted_amounts(wish: Wish) -> Iterator[tuple[str, Mapping[str, Quantity]]]:
    """What every request and alternative of a claim asks for, with its path."""
    for index, request in enumerate(wish.spec.devices.requests):
        path = f"{wish.root}.devices.requests[{index}]"
        if request.exactly is not None and request.exactly.capacity is not None:
            yield f"{path}.exactly", request.exactly.capacity.requests
        for place, sub in enumerate(request.first_available):
            if sub.capacity is not None:
                yield f"{path}.firstAvailable[{place}]", sub.capacity.requests


def is_negative(amount: Quantity | None) -> bool:
    return amount is not None and amount.sign() < 0


def capacities(device: Device, driver: str) -> Iterator[str]:
    """The names under which a request can ask for an amount, as they have to be written."""
    yield from device.capacity
    for draw in device.consumes_counters:
        for amount in draw.counters.values():
            if amount.value_from is not None:
                # What a counter gives is known with and without the driver's domain (KEP-5941).
                key = amount.value_from.capacity_key
                domain, slash, name = key.partition("/")
                yield from (key, name) if slash and domain == driver else (key, f"{driver}/{key}")
