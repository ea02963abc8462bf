"""Slices and taint rules that the API accepts and that allocation will trip over.

What `published` finds is looked at: the newest generation of each pool.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dibs.lint import rule
from dibs.lint.published import Published
from dibs.lint.rule import Remark, Rule, World
from dibs.model.core import Pod
from dibs.model.objects import (
    Device,
    DeviceCounterConsumption,
    DeviceTaint,
    DeviceTaintRule,
    DeviceTaintSelector,
    DeviceToleration,
    ResourceClaim,
    ResourceSlice,
)
from dibs.supply import taints


def incomplete_pool(world: World) -> Iterator[Remark]:
    for pool_id, pool in world.pools.items():
        entry, first = pool.slices[0]
        wanted = first.spec.pool.resource_slice_count
        if len(pool.counts) == 1 and len(pool.slices) < wanted:
            yield Remark(
                entry,
                "spec.pool.resourceSliceCount",
                f"pool {pool_id} is incomplete: {len(pool.slices)} of {wanted} slices of "
                f"generation {first.spec.pool.generation} are here",
                "nothing is allocated from it until the driver has published the rest",
            )
        if len(pool.counts) == 1 and 0 < wanted < len(pool.slices):
            yield Remark(
                entry,
                "spec.pool.resourceSliceCount",
                f"pool {pool_id} has {len(pool.slices)} slices of generation "
                f"{first.spec.pool.generation}, and they say that there are {wanted}",
                "nothing is allocated from it until its driver has counted them anew",
            )


def unequal_counts(world: World) -> Iterator[Remark]:
    for pool_id, pool in world.pools.items():
        if len(pool.counts) > 1:
            entry, last = pool.slices[-1]
            yield Remark(
                entry,
                "spec.pool.resourceSliceCount",
                f"the slices of pool {pool_id}, generation {last.spec.pool.generation}, "
                f"say that there are {rule.listed(map(str, sorted(pool.counts)))} slices",
                "the pool is invalid until its driver publishes one count in all of them",
            )


def missing_counters(world: World) -> Iterator[Remark]:
    for pool_id, pool in world.pools.items():
        if not pool.is_complete:
            continue  # they may be in a slice that is not here
        sets = {
            counter_set.name: counter_set.counters
            for _, slice_ in pool.slices
            for counter_set in slice_.spec.shared_counters
        }
        for entry, slice_ in pool.slices:
            for path, draw in draws(slice_):
                if draw.counter_set not in sets:
                    yield Remark(
                        entry,
                        f"{path}.counterSet",
                        f"counter set {draw.counter_set} is in no slice of pool {pool_id}",
                        rule.instead(draw.counter_set, sets),
                    )
                    continue
                known = sets[draw.counter_set]
                for counter in sorted(set(draw.counters) - set(known)):
                    yield Remark(
                        entry,
                        f"{path}.counters[{counter}]",
                        f"counter set {draw.counter_set} has no counter {counter}",
                        rule.instead(counter, known),
                    )


def same_uuid(world: World) -> Iterator[Remark]:
    first: dict[tuple[str, str], Published] = {}
    for device in world.devices:
        uuid = text_of(device, "uuid")
        if not uuid:
            continue
        other = first.setdefault((device.id.driver, uuid), device)
        # Partitions of one card may well name the card, as long as counters keep them apart.
        if other is not device and not share_counters(other.device, device.device):
            yield Remark(
                device.entry,
                f"{device.path}.attributes",
                f"devices {other.device.name} and {device.device.name} publish one uuid, {uuid}",
                "one piece of hardware that is published twice is given away twice",
            )


def advertised_parent(world: World) -> Iterator[Remark]:
    by_uuid = {(each.id.driver, text_of(each, "uuid")): each for each in world.devices}
    for child in world.devices:
        uuid = text_of(child, "parentUUID")
        parent = by_uuid.get((child.id.driver, uuid)) if uuid else None
        if parent is not None and not share_counters(parent.device, child.device):
            yield Remark(
                child.entry,
                child.path,
                f"{child.device.name} is a partition of {parent.device.name}, both are published "
                "and draw on no common counters, so both can be allocated at once",
                "publish only one of the two, or let both consume the card's counters",
            )


def health_attribute(world: World) -> Iterator[Remark]:
    for pool in world.pools.values():
        for entry, each in pool.slices:
            found = [
                (index, key)
                for index, device in enumerate(each.spec.devices)
                for key, value in device.attributes.items()
                if key.rpartition("/")[2] in ("healthy", "health") and value.bool_ is not None
            ]
            if found:
                index, key = found[0]
                yield Remark(
                    entry,
                    f"spec.devices[{index}].attributes[{key}]",
                    f"health is told as attribute {key}, which no allocation looks at",
                    "a device taint keeps claims off a sick device",
                )


def no_memory(world: World) -> Iterator[Remark]:
    for device in world.devices:
        for key, capacity in device.device.capacity.items():
            if key.rpartition("/")[2] != "memory" or capacity.value is None:
                continue
            if str(capacity.value) == "0":
                yield Remark(
                    device.entry,
                    f"{device.path}.capacity[{key}]",
                    f"{device.device.name} has no memory, as its driver says",
                    "no selector on a memory size matches it; see the driver's log",
                )


def name_twice(world: World) -> Iterator[Remark]:
    """A bare name is in the driver's domain: `memory` and `gpu.example.com/memory` are one."""
    for found in world.devices:
        for field in ("attributes", "capacity"):
            names = getattr(found.device, field)
            for name in names:
                full = f"{found.id.driver}/{name}"
                if "/" not in name and full in names:
                    yield Remark(
                        found.entry,
                        f"{found.path}.{field}[{name}]",
                        f"{found.device.name} publishes {name} and {full}, which selectors "
                        "can't tell apart",
                        f"they read {full}; its driver should publish one of them",
                    )


def everything_tainted(world: World) -> Iterator[Remark]:
    for entry, taint_rule in world.entries(DeviceTaintRule):
        selector = taint_rule.spec.device_selector
        if selector != DeviceTaintSelector():
            continue
        taint = taint_rule.spec.taint
        message = "an empty deviceSelector matches every device of every driver"
        if world.devices:
            message += f", {len(world.devices)} here"
        if taint.effect == "NoExecute" and (pods := evicted(world, taint)):
            namespaces = {namespace for namespace, _ in pods}
            message += (
                f"; it would evict {rule.plural(len(pods), 'Pod')} "
                f"in {rule.plural(len(namespaces), 'namespace')}: "
                + rule.listed(f"{namespace}/{name}" for namespace, name in pods)
            )
        yield Remark(entry, "spec.deviceSelector", message, "name a driver, a pool or a device")


RULES = (
    Rule(
        "pool-incomplete",
        "warning",
        "slices of a pool's newest generation are missing, or more than they say",
        incomplete_pool,
    ),
    Rule(
        "pool-counts",
        "error",
        "the slices of one pool disagree on how many they are",
        unequal_counts,
    ),
    Rule(
        "counters-missing",
        "error",
        "a device consumes a counter set or a counter that its pool does not have",
        missing_counters,
    ),
    Rule("uuid-twice", "warning", "two devices of one driver publish one uuid", same_uuid),
    Rule(
        "parent-published",
        "error",
        "a card and its partition are both published, and no counters keep them apart",
        advertised_parent,
    ),
    Rule(
        "health-attribute",
        "warning",
        "a driver tells health as an attribute instead of a taint",
        health_attribute,
    ),
    Rule("memory-zero", "warning", "a device publishes a memory of 0", no_memory),
    Rule(
        "name-twice",
        "warning",
        "a device publishes one name with and without its driver's domain",
        name_twice,
    ),
    Rule(
        "taints-everything",
        "error",
        "a DeviceTaintRule matches every device of every driver",
        everything_tainted,
    ),
)


def draws(slice_: ResourceSlice) -> Iterator[tuple[str, DeviceCounterConsumption]]:
    for index, device in enumerate(slice_.spec.devices):
        for draw_index, draw in enumerate(device.consumes_counters):
            yield f"spec.devices[{index}].consumesCounters[{draw_index}]", draw


def text_of(found: Published, name: str) -> str | None:
    """Return a string attribute of the driver's own domain."""
    attributes = found.device.attributes
    value = attributes.get(f"{found.id.driver}/{name}") or attributes.get(name)
    return value.string if value else None


def share_counters(one: Device, other: Device) -> bool:
    """Whether the two draw on a common counter set, which is how the API keeps devices apart."""
    sets = {draw.counter_set for draw in one.consumes_counters}
    return any(draw.counter_set in sets for draw in other.consumes_counters)


def evicted(world: World, taint: DeviceTaint) -> set[tuple[str, str]]:
    """Return namespace and name of the Pods whose devices don't tolerate the taint."""
    gone: set[tuple[str, str]] = set()
    pods = {pod.metadata.uid: pod for _, pod in world.entries(Pod) if pod.metadata.uid}
    for _, claim in world.entries(ResourceClaim):
        allocation = claim.status.allocation
        if allocation is None:
            continue
        if all(keeps(result.tolerations, taint) for result in allocation.devices.results):
            continue
        namespace = claim.metadata.namespace or "default"
        for consumer in claim.status.reserved_for:
            if consumer.resource == "pods":
                known = pods.get(consumer.uid)
                gone.add((namespace, known.metadata.name if known else consumer.name))
    return gone


def keeps(tolerations: Iterable[DeviceToleration], taint: DeviceTaint) -> bool:
    """Whether a Pod with these tolerations stays; one with a time limit only stays for a while."""
    return any(
        toleration.toleration_seconds is None and taints.tolerates(toleration, taint)
        for toleration in tolerations
    )
