"""The rules of one device in a slice: names, attributes, counters, nodes, conditions.

Capacities and what may be requested of them are in `capacities`. Source: KEP-4381, 4815, 5007,
5055, 5491, 5517, 5945, 5963.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from dibs.model.objects import (
    CounterDraw,
    Device,
    DeviceAttribute,
    DeviceCounterConsumption,
    NodeAllocatableMapping,
    NodeAllocatableOverhead,
    NodeAllocatableResource,
)
from dibs.model.rules import capacities, faults, fields, limits, node_selectors, taints
from dibs.model.rules.fields import Faults
from dibs.values import names
from dibs.values.quantity import Quantity

PREPARE, UNPREPARE, ALL = "NodePrepareResources", "NodeUnprepareResources", "*"
OPERATIONS = (ALL, PREPARE, UNPREPARE)

_ONE_VALUE = "exactly one value must be specified"
_NO_VERSION = "must be a string compatible with semver.org spec 2.0.0"
_TRUE_OR_UNSET = "must be either unset or set to true"
_ONE_PLACE = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when "
    "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"
)
_NO_PLACE = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set "
    "to true in the ResourceSlice spec"
)
_NO_LISTS = (None, None, None, None)
_NUMBER = r"(0|[1-9][0-9]*)"
_PRE = r"(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)"
_BUILD = r"[0-9a-zA-Z-]+"
# The API is laxer than CEL here: numbers may be of any length.
_VERSION = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_PRE}(\.{_PRE})*)?(\+{_BUILD}(\.{_BUILD})*)?"
)


def device(item: Device, old: Device | None, path: str, *, places_itself: bool) -> Faults:
    """`old` is the device of that name before; `places_itself`: with perDeviceNodeSelection."""
    yield from fields.label(item.name, f"{path}.name")
    yield from _sizes(item, path)
    yield from _attributes(item, old, f"{path}.attributes")
    if old is None or not fields.equal(item.capacity, old.capacity):
        yield from capacities.capacities(item, f"{path}.capacity")
    if old is None or not fields.equal(item.taints, old.taints):
        yield from fields.each(item.taints, f"{path}.taints", limits.TAINTS, taints.taint)
    yield from fields.each_once(
        item.consumes_counters,
        f"{path}.consumesCounters",
        limits.COUNTER_DRAWS,
        _consumption,
        lambda each: each.counter_set,
    )
    yield from _own_place(item, path) if places_itself else _no_place(item, path)
    yield from binding(item.binding_conditions, item.binding_failure_conditions, path)
    for name, resource in sorted(item.node_allocatable_resources.items()):
        here = f"{path}.nodeAllocatableResources[{name}]"
        yield from _node_resource(name, resource, item, here)


def binding(conditions: tuple[str, ...], failures: tuple[str, ...], path: str) -> Faults:
    """Both lists or none, without overlap (KEP-5007). Also used for allocation results."""
    here, there = f"{path}.bindingConditions", f"{path}.bindingFailureConditions"
    yield from fields.each_once(
        conditions, here, limits.BINDING_CONDITIONS, fields.label_key, lambda item: item
    )
    yield from fields.each_once(
        failures, there, limits.BINDING_CONDITIONS, fields.label_key, lambda item: item
    )
    for index, failure in enumerate(failures):
        if failure in conditions:
            text = "bindingFailureConditions must not overlap with bindingConditions"
            yield faults.invalid(f"{there}[{index}]", failure, text)
    if failures and not conditions:
        text = "bindingConditions are required to use bindingFailureConditions"
        yield faults.invalid(here, conditions, text)
    if conditions and not failures:
        text = "bindingFailureConditions are required to use bindingConditions"
        yield faults.invalid(there, failures, text)


def skipped_operations(items: tuple[str, ...], path: str) -> Faults:
    """Preparing can only be left out together with unpreparing (KEP-5945)."""

    def known(item: str, here: str) -> Faults:
        return fields.choice(item, here, OPERATIONS)

    yield from fields.each_once(items, path, None, known, lambda item: item)
    if PREPARE in items and UNPREPARE not in items and ALL not in items:
        text = (
            "NodePrepareResources cannot be skipped unless NodeUnprepareResources is also skipped"
        )
        yield faults.invalid(path, items, text)


def is_list(attribute: DeviceAttribute) -> bool:
    return _lists(attribute) != _NO_LISTS


def _lists(attribute: DeviceAttribute) -> tuple[Sequence[object] | None, ...]:
    return attribute.ints, attribute.bools, attribute.strings, attribute.versions


# --- attributes --------------------------------------------------------------------------------


def _sizes(item: Device, path: str) -> Faults:
    entries = len(item.attributes) + len(item.capacity)
    if entries > limits.ATTRIBUTES_AND_CAPACITIES:
        limit = limits.ATTRIBUTES_AND_CAPACITIES
        text = f"the total number of attributes and capacities must not exceed {limit}"
        yield faults.invalid(path, entries, text)
    # An empty list counts as one value, like a scalar.
    values = sum(
        sum(len(values) for values in _lists(attribute) if values) or 1
        for attribute in item.attributes.values()
    )
    if values > limits.ATTRIBUTE_VALUES:
        limit = limits.ATTRIBUTE_VALUES
        text = f"the total number of attribute values must not exceed {limit}"
        yield faults.invalid(path, values, text)


def _attributes(item: Device, old: Device | None, path: str) -> Faults:
    """A list that did not change is not looked at again (KEP-5491 is alpha)."""
    before: Mapping[str, DeviceAttribute] = old.attributes if old else {}
    kept = {
        name
        for name, attribute in item.attributes.items()
        if is_list(attribute) and before.get(name) == attribute
    }
    fresh = {name: each for name, each in item.attributes.items() if name not in kept}
    yield from fields.each_entry(
        fresh, path, None, limits.KEY_SHOWN, fields.qualified_name, _attribute
    )


def _attribute(value: DeviceAttribute, path: str) -> Faults:
    if value.string is not None:
        yield from _string(value.string, f"{path}.string")
    if value.version is not None:
        yield from _version(value.version, f"{path}.version")
    if is_list(value):
        yield from _list_values(value, path)
    scalars = (value.int_, value.bool_, value.string, value.version)
    count = sum(each is not None for each in (*scalars, *_lists(value)))
    if count != 1:
        yield faults.invalid(path, value if count else "", _ONE_VALUE)


def _list_values(value: DeviceAttribute, path: str) -> Faults:
    for name, values in (
        ("bools", value.bools),
        ("ints", value.ints),
        ("strings", value.strings),
        ("versions", value.versions),
    ):
        if values is not None and not values:
            yield faults.invalid(f"{path}.{name}", values, "must not be empty if specified")
    yield from fields.each(value.strings or (), f"{path}.strings", None, _string)
    yield from fields.each(value.versions or (), f"{path}.versions", None, _version)


def _string(value: str, path: str) -> Faults:
    yield from fields.at_most(value, path, limits.ATTRIBUTE_VALUE_LENGTH)


def _version(value: str, path: str) -> Faults:
    if not _VERSION.fullmatch(value):
        yield faults.invalid(path, value, _NO_VERSION)
    yield from fields.at_most(value, path, limits.ATTRIBUTE_VALUE_LENGTH)


# --- counters (KEP-4815) -----------------------------------------------------------------------


def _consumption(item: DeviceCounterConsumption, path: str) -> Faults:
    check_name = fields.needed(fields.label)
    yield from check_name(item.counter_set, f"{path}.counterSet")
    if not item.counters:
        yield faults.required(f"{path}.counters")
    yield from fields.each_entry(
        item.counters,
        f"{path}.counters",
        limits.COUNTERS,
        names.LABEL_MAX,
        fields.label,
        _draw,
    )
    yield from fields.each_once(
        item.compatibility_groups,
        f"{path}.compatibilityGroups",
        limits.COMPATIBILITY_GROUPS,
        fields.label,
        lambda group: group,
    )


def _draw(item: CounterDraw, path: str) -> Faults:
    if item.value is None and item.value_from is None:
        yield faults.required(f"{path}.value")
    elif item.value is not None and item.value_from is not None:
        text = "exactly one of `value` or `valueFrom` is required, but multiple fields are set"
        yield faults.invalid(path, None, text)
    elif item.value_from is not None:
        check_key = fields.needed(fields.qualified_name)
        yield from check_key(item.value_from.capacity_key, f"{path}.valueFrom.capacityKey")


# --- where the device is -------------------------------------------------------------------------


def _no_place(item: Device, path: str) -> Faults:
    places = (item.node_name, item.node_selector, item.all_nodes)
    if any(place is not None for place in places):
        yield faults.invalid(path, None, _NO_PLACE)


def _own_place(item: Device, path: str) -> Faults:
    chosen: list[str] = []
    if item.node_name is not None:
        if item.node_name:
            chosen.append("`nodeName`")
            yield from fields.subdomain(item.node_name, f"{path}.nodeName")
        else:
            yield faults.invalid(f"{path}.nodeName", item.node_name, "must not be empty")
    if item.node_selector is not None:
        chosen.append("`nodeSelector`")
        here = f"{path}.nodeSelector"
        # The documentation asks for one term; the API server does not check it.
        yield from node_selectors.selector_of_one_term(item.node_selector, here)
    if item.all_nodes is not None:
        if item.all_nodes:
            chosen.append("`allNodes`")
        else:
            yield faults.invalid(f"{path}.allNodes", item.all_nodes, _TRUE_OR_UNSET)
    if not chosen:
        yield faults.required(path, _ONE_PLACE)
    elif len(chosen) > 1:
        yield faults.invalid(path, f"{{{', '.join(chosen)}}}", _ONE_PLACE)


# --- what the device takes from its node (KEP-5517) ----------------------------------------------


def _node_resource(name: str, item: NodeAllocatableResource, owner: Device, path: str) -> Faults:
    if not names.is_node_allocatable(name):
        yield faults.invalid(path, name, "must be a node allocatable resource name")
    if item.mapping is None and item.overhead is None:
        yield faults.required(path, "at least one of mapping or overhead must be set")
    if item.mapping is not None:
        yield from _mapping(item.mapping, owner, f"{path}.mapping")
    if item.overhead is not None:
        yield from _overhead(item.overhead, f"{path}.overhead")


def _mapping(item: NodeAllocatableMapping, owner: Device, path: str) -> Faults:
    key, multiplier = item.capacity_key, item.capacity_multiplier
    if key == "":
        text = "capacityKey must not be an empty string"
        yield faults.invalid(f"{path}.capacityKey", key, text)
    elif key is not None and key not in owner.capacity:
        yield faults.not_found(f"{path}.capacityKey", key)
    if key is not None and multiplier is None:
        text = "capacityMultiplier is required when capacityKey is set"
        yield faults.required(f"{path}.capacityMultiplier", text)
    if key is None and multiplier is not None:
        text = "capacityKey is required when capacityMultiplier is set"
        yield faults.required(f"{path}.capacityKey", text)
    yield from _positive(multiplier, f"{path}.capacityMultiplier")
    yield from _positive(item.device_multiplier, f"{path}.deviceMultiplier")
    if key is None and multiplier is None and item.device_multiplier is None:
        text = "must specify one of: `capacityKey`, `deviceMultiplier`"
        yield faults.invalid(path, "", text)
    if key is not None and item.device_multiplier is not None:
        text = "must specify exactly one of: `capacityKey`, `deviceMultiplier`"
        yield faults.invalid(path, "{capacityKey, deviceMultiplier}", text)


def _overhead(item: NodeAllocatableOverhead, path: str) -> Faults:
    if item.per_pod is None and item.per_container is None:
        text = "at least one of perPod or perContainer must be set"
        yield faults.invalid(path, "", text)
    for name, amount in (("perPod", item.per_pod), ("perContainer", item.per_container)):
        if amount is not None and amount.sign() < 0:
            yield faults.invalid(f"{path}.{name}", amount, "must be non-negative")


def _positive(amount: Quantity | None, path: str) -> Faults:
    if amount is not None and amount.sign() <= 0:
        yield faults.invalid(path, amount, "must be positive")
