"""Structs to trees: zero values are left out, except those that the API server always writes.

A field whose Go type is a plain struct is always written, if only as {}; which others are, a table
says. Trees come out in the shape of v1; `versions` turns them into others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from operator import attrgetter
from typing import Any

from dibs.model import core, meta, objects
from dibs.model.codec_shapes import Amount, ListOf, MapOf, Record, Shape

# Fields without `omitempty` in k8s.io/api. An empty list or map is written as null.
_NAMES: dict[type[meta.Object], str] = {
    meta.OwnerReference: "apiVersion kind name uid",
    meta.Condition: "type status lastTransitionTime reason message",
    meta.LabelSelectorRequirement: "key operator",
    meta.NodeSelector: "nodeSelectorTerms",
    objects.CounterSet: "name counters",
    objects.DeviceCounterConsumption: "counterSet counters",
    objects.DeviceTaint: "key effect",
    objects.Device: "name",
    objects.ResourcePool: "name generation resourceSliceCount",
    objects.ResourceSliceSpec: "driver",
    objects.CELDeviceSelector: "expression",
    objects.OpaqueDeviceConfiguration: "driver parameters",
    objects.ExactDeviceRequest: "deviceClassName",
    objects.DeviceSubRequest: "name deviceClassName",
    objects.DeviceRequest: "name",
    objects.DerivedAttribute: "name expression",
    objects.DeviceClaim: "requests",
    objects.DeviceRequestAllocationResult: "request driver pool device",
    objects.DeviceAllocationConfiguration: "source",
    objects.ResourceClaimConsumerReference: "resource name uid",
    objects.AllocatedDeviceStatus: "driver pool device conditions",
    objects.ResourcePoolStatusRequestSpec: "driver",
    objects.PoolStatus: "driver poolName generation",
    objects.PartitionTypeStatus: "attribute type total allocatable",
    objects.ShareableSummaryStatus: "fullyAvailableDevices partiallyAvailableDevices",
    objects.ShareableCapacityStatus: "name",
    core.Taint: "key effect",
    core.PodResourceClaim: "name",
    core.ContainerResourceClaim: "name",
    core.Container: "name",
    core.PodSpec: "containers",
    core.PodResourceClaimStatus: "name",
    core.ContainerExtendedResourceRequest: "containerName resourceName requestName",
    core.PodExtendedResourceClaimStatus: "requestMappings resourceClaimName",
}
_ALWAYS = {struct: frozenset(names.split()) for struct, names in _NAMES.items()}


def tree_of(shape: Record, item: meta.Object) -> dict[str, object]:
    """Return the tree of one struct, in the order of its fields."""
    return _writing(shape)(item)


# What writes a value that isn't written as it is.
Writes = Callable[[Any], Any]


@cache
def _writing(shape: Record) -> Callable[[meta.Object], dict[str, object]]:
    """Made once a shape: every object that is stored or sent is written by it."""
    always = _ALWAYS.get(shape.struct, frozenset())
    parts = [
        (
            name,
            # A struct is written though it be empty.
            _NOTHING if isinstance(field.default, meta.Object) else field.default,
            name in always,
            _writes(field.shape),
        )
        for name, field in shape.fields.items()
    ]
    values_of = _getter([field.attribute for field in shape.fields.values()])

    def write(item: meta.Object) -> dict[str, object]:
        tree: dict[str, object] = {}
        for (name, default, is_always, writes), value in zip(parts, values_of(item), strict=True):
            if value is default or value == default:
                if is_always:
                    tree[name] = None if value in ((), {}) else value
            elif writes is None or value is None:
                tree[name] = value
            else:
                tree[name] = writes(value)
        if shape.is_open:
            # What Partial types do not name.
            tree.update(_rest_of(item))
        return tree

    return write


_rest_of: Callable[[meta.Object], Mapping[str, object]] = attrgetter("rest")
# Equal to no value of a field.
_NOTHING = object()


def _getter(attributes: list[str]) -> Callable[[meta.Object], tuple[object, ...]]:
    if len(attributes) == 1:
        [only] = attributes
        return lambda item: (getattr(item, only),)
    return attrgetter(*attributes)


def _writes(shape: Shape) -> Writes | None:
    match shape:
        case Record():
            return _writing(shape)
        case ListOf(item):
            return partial(_list, _writes(item))
        case MapOf(item):
            return partial(_map, _writes(item))
        case Amount():
            return attrgetter("as_written")
        case _:
            return None


def _list(writes: Writes | None, values: tuple[Any, ...]) -> list[Any]:
    return [*values] if writes is None else [writes(value) for value in values]


def _map(writes: Writes | None, values: Mapping[str, Any]) -> dict[str, Any]:
    if writes is None:
        return {**values}
    return {key: writes(value) for key, value in values.items()}
