"""Structs to trees: zero values are left out, except those that the API server always writes.

A field whose Go type is a plain struct is always written, if only as {}; which others are, a table
says. Trees come out in the shape of v1; `versions` turns them into others.
"""

from __future__ import annotations

from dibs.model import core, meta, objects
from dibs.model.codec_shapes import Amount, ListOf, MapOf, Record, Shape
from dibs.values.quantity import Quantity

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
    always = _ALWAYS.get(shape.struct, frozenset())
    tree: dict[str, object] = {}
    for name, field in shape.fields.items():
        value = getattr(item, field.attribute)
        if isinstance(field.default, meta.Object):
            tree[name] = _written(field.shape, value)
        elif value != field.default or name in always:
            is_empty = value == field.default and value in ((), {})
            tree[name] = None if is_empty else _written(field.shape, value)
    # What Partial types do not name.
    tree.update(getattr(item, "rest", {}))
    return tree


def _written(shape: Shape, value: object) -> object:
    match shape, value:
        case _, None:
            return None
        case Record(), meta.Object():
            return tree_of(shape, value)
        case ListOf(item), tuple():
            return [_written(item, part) for part in value]
        case MapOf(item), dict():
            return {key: _written(item, part) for key, part in value.items()}
        case Amount(), Quantity():
            return value.as_written
        case _:
            return value
