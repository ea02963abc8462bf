"""The rules of ResourceSlice: its pool, its nodes, its devices or its counter sets.

Rules that need the other slices of the pool (counts, unique devices, counter sets that exist) are
`supply`'s. Source: KEP-4381, 4815, 5945.
"""

from __future__ import annotations

from dibs.model.objects import CounterSet, Device, ResourcePool, ResourceSlice, ResourceSliceSpec
from dibs.model.rules import capacities, devices, faults, fields, limits, node_selectors
from dibs.model.rules.fields import Faults
from dibs.values import names

_ONE_PLACE = (
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
)
_TRUE_OR_UNSET = "must be either unset or set to true"
_NOT_EMPTY = "must be either unset or set to a non-empty string"
_NO_PARTITIONS = "may only be set on a slice which declares devices that consume counters"
_NO_TYPE = (
    "device consumes counters and `partitionTypeAttribute` names this attribute, so it must be set"
)
_NO_STRING = "must be a string value because `partitionTypeAttribute` names this attribute"


def spec(item: ResourceSlice, old: ResourceSlice | None) -> Faults:
    new, before = item.spec, old.spec if old else None
    yield from fields.driver(new.driver, "spec.driver")
    yield from _pool(new.pool, "spec.pool")
    if before is not None:
        yield from fields.immutable(new.pool.name, before.pool.name, "spec.pool.name")
        yield from fields.immutable(new.driver, before.driver, "spec.driver")
        yield from fields.immutable(new.node_name, before.node_name, "spec.nodeName")
    yield from _place(new, "spec")
    if new.shared_counters and new.devices:
        yield faults.invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed")
    yield from _devices(new, before)
    yield from fields.each_once(
        new.shared_counters,
        "spec.sharedCounters",
        limits.COUNTER_SETS,
        _counter_set,
        lambda each: each.name,
    )
    if new.partition_type_attribute is not None:
        yield from _partition_types(new, new.partition_type_attribute)
    yield from devices.skipped_operations(new.skip_node_operations, "spec.skipNodeOperations")


def device_limit(value: ResourceSliceSpec) -> int:
    """How many devices a slice may have: fewer, if one of them has more to it."""
    has_more = any(
        device.taints
        or device.consumes_counters
        or any(map(devices.is_list, device.attributes.values()))
        for device in value.devices
    )
    return limits.DEVICES_WITH_MORE if has_more else limits.DEVICES


def _pool(value: ResourcePool, path: str) -> Faults:
    yield from fields.pool(value.name, f"{path}.name")
    if value.resource_slice_count <= 0:
        text = "must be greater than zero"
        yield faults.invalid(f"{path}.resourceSliceCount", value.resource_slice_count, text)
    if value.generation < 0:
        text = "must be greater than or equal to zero"
        yield faults.invalid(f"{path}.generation", value.generation, text)


def _place(value: ResourceSliceSpec, path: str) -> Faults:
    chosen: list[str] = []
    if value.node_name is not None:
        if value.node_name:
            chosen.append("`nodeName`")
            yield from fields.subdomain(value.node_name, f"{path}.nodeName")
        else:
            yield faults.invalid(f"{path}.nodeName", value.node_name, _NOT_EMPTY)
    if value.node_selector is not None:
        chosen.append("`nodeSelector`")
        here = f"{path}.nodeSelector"
        yield from node_selectors.selector_of_one_term(value.node_selector, here)
    for name, flag in (
        ("allNodes", value.all_nodes),
        ("perDeviceNodeSelection", value.per_device_node_selection),
    ):
        if flag:
            chosen.append(f"`{name}`")
        elif flag is not None:
            yield faults.invalid(f"{path}.{name}", flag, _TRUE_OR_UNSET)
    if not chosen:
        yield faults.required(path, _ONE_PLACE)
    elif len(chosen) > 1:
        text = f"{_ONE_PLACE}, but multiple fields are set"
        yield faults.invalid(path, f"{{{', '.join(chosen)}}}", text)


def _devices(new: ResourceSliceSpec, before: ResourceSliceSpec | None) -> Faults:
    known = {device.name: device for device in reversed(before.devices if before else ())}
    places_itself = bool(new.per_device_node_selection)

    def check(device: Device, path: str) -> Faults:
        return devices.device(device, known.get(device.name), path, places_itself=places_itself)

    yield from fields.each_once(
        new.devices, "spec.devices", device_limit(new), check, lambda device: device.name
    )


def _counter_set(value: CounterSet, path: str) -> Faults:
    check_name = fields.needed(fields.label)
    yield from check_name(value.name, f"{path}.name")
    if not value.counters:
        yield faults.required(f"{path}.counters")
    yield from fields.each_entry(
        value.counters,
        f"{path}.counters",
        limits.COUNTERS,
        names.LABEL_MAX,
        fields.label,
        capacities.counter,
    )


def _partition_types(value: ResourceSliceSpec, name: str) -> Faults:
    """Each device that draws on counters says its type as a string, under this name."""
    path = "spec.partitionTypeAttribute"
    malformed = tuple(fields.full_name(name, path))
    yield from malformed
    if not any(device.consumes_counters for device in value.devices):
        yield faults.invalid(path, name, _NO_PARTITIONS)
        return
    if malformed:
        return
    # In the driver's own domain the short spelling will do; the long one wins.
    short = name.removeprefix(f"{value.driver}/")
    for index, device in enumerate(value.devices):
        if not device.consumes_counters:
            continue
        here = f"spec.devices[{index}].attributes[{name}]"
        attribute = device.attributes.get(name) or device.attributes.get(short)
        if attribute is None:
            yield faults.required(here, _NO_TYPE)
        elif attribute.string is None:
            yield faults.invalid(here, attribute, _NO_STRING)
