"""What things are: the kinds of resource.k8s.io/v1, field by field.

One frozen struct a type, JSON names derived by camel-casing. A missing field is the zero value
of its Go type ("" / 0 / () / {} / None), as in Kubernetes: that it was required is said by
`rules`, not by decoding. v1beta1 and v1beta2 are read into these same structs by `versions`.

Fields that the API writes even when they are zero are listed in `codec`, not here.
Source: KEP-4381 and the KEPs named at each type; API group resource.k8s.io.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dibs.model.meta import (
    Condition,
    Int32,
    Int64,
    LabelSelectorRequirement,
    NodeSelector,
    Object,
    ObjectMeta,
)
from dibs.values.quantity import Quantity

__all__ = ["Condition", "LabelSelectorRequirement", "NodeSelector", "ObjectMeta"]

GROUP = "resource.k8s.io"

# --- ResourceSlice: what hardware there is -----------------------------------------------------


class Counter(Object, frozen=True):
    """A quantity that devices draw from (KEP-4815); its policy is KEP-5941."""

    value: Quantity | None = None
    request_policy: CapacityRequestPolicy | None = None


class CounterSet(Object, frozen=True):
    name: str = ""
    counters: Mapping[str, Counter] = {}


class CounterSource(Object, frozen=True):
    """Where the drawn amount comes from instead of a fixed value (KEP-5941)."""

    capacity_key: str = ""


class CounterDraw(Object, frozen=True):
    """How much of one counter a device draws."""

    value: Quantity | None = None
    value_from: CounterSource | None = None


class DeviceCounterConsumption(Object, frozen=True):
    counter_set: str = ""
    counters: Mapping[str, CounterDraw] = {}
    # KEP-5963: devices on one counter set must share a group.
    compatibility_groups: tuple[str, ...] = ()


class DeviceAttribute(Object, frozen=True):
    """Exactly one is set. A version stays text here: `request` parses it for CEL."""

    int_: Int64 | None = msgspec.field(default=None, name="int")
    bool_: bool | None = msgspec.field(default=None, name="bool")
    string: str | None = None
    version: str | None = None
    # KEP-5491
    ints: tuple[Int64, ...] | None = None
    bools: tuple[bool, ...] | None = None
    strings: tuple[str, ...] | None = None
    versions: tuple[str, ...] | None = None


class CapacityRequestPolicyRange(Object, frozen=True):
    min: Quantity | None = None
    max: Quantity | None = None
    step: Quantity | None = None


class CapacityRequestPolicy(Object, frozen=True):
    """How requests for a shareable capacity are rounded (KEP-5075)."""

    default: Quantity | None = None
    valid_values: tuple[Quantity, ...] = ()
    valid_range: CapacityRequestPolicyRange | None = None


class DeviceCapacity(Object, frozen=True):
    value: Quantity | None = None
    request_policy: CapacityRequestPolicy | None = None


class DeviceTaint(Object, frozen=True):
    """KEP-5055."""

    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str | None = None


class NodeAllocatableMapping(Object, frozen=True):
    """KEP-5517."""

    capacity_key: str | None = None
    capacity_multiplier: Quantity | None = None
    device_multiplier: Quantity | None = None


class NodeAllocatableOverhead(Object, frozen=True):
    per_pod: Quantity | None = None
    per_container: Quantity | None = None


class NodeAllocatableResource(Object, frozen=True):
    mapping: NodeAllocatableMapping | None = None
    overhead: NodeAllocatableOverhead | None = None


class Device(Object, frozen=True):
    name: str = ""
    attributes: Mapping[str, DeviceAttribute] = {}
    capacity: Mapping[str, DeviceCapacity] = {}
    consumes_counters: tuple[DeviceCounterConsumption, ...] = ()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: tuple[DeviceTaint, ...] = ()
    # KEP-5007
    binds_to_node: bool | None = None
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    # KEP-5075
    allow_multiple_allocations: bool | None = None
    # KEP-5517
    node_allocatable_resources: Mapping[str, NodeAllocatableResource] = {}


class ResourcePool(Object, frozen=True):
    name: str = ""
    generation: Int64 = 0
    resource_slice_count: Int64 = 0


class ResourceSliceSpec(Object, frozen=True):
    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    devices: tuple[Device, ...] = ()
    per_device_node_selection: bool | None = None
    shared_counters: tuple[CounterSet, ...] = ()
    partition_type_attribute: str | None = None
    # KEP-5945
    skip_node_operations: tuple[str, ...] = ()


class ResourceSlice(Object, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceSliceSpec = ResourceSliceSpec()


# --- DeviceClass: what an administrator calls a kind of device -----------------------------------


class CELDeviceSelector(Object, frozen=True):
    expression: str = ""


class DeviceSelector(Object, frozen=True):
    cel: CELDeviceSelector | None = None


class OpaqueDeviceConfiguration(Object, frozen=True):
    driver: str = ""
    # A JSON object that only the driver understands; None is absent.
    parameters: Any = None


class DeviceClassConfiguration(Object, frozen=True):
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClassSpec(Object, frozen=True):
    selectors: tuple[DeviceSelector, ...] = ()
    config: tuple[DeviceClassConfiguration, ...] = ()
    # KEP-5004
    extended_resource_name: str | None = None


class DeviceClass(Object, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: DeviceClassSpec = DeviceClassSpec()


# --- ResourceClaim: what a workload wants, and what it got ---------------------------------------


class DeviceToleration(Object, frozen=True):
    """KEP-5055."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None


class CapacityRequirements(Object, frozen=True):
    requests: Mapping[str, Quantity] = {}


class DerivedAttribute(Object, frozen=True):
    """KEP-6080."""

    name: str = ""
    expression: str = ""


class ExactDeviceRequest(Object, frozen=True):
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: Int64 = 0
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None
    derived_attributes: tuple[DerivedAttribute, ...] = ()


class DeviceSubRequest(Object, frozen=True):
    """One alternative of a prioritized list (KEP-4816)."""

    name: str = ""
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: Int64 = 0
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None
    derived_attributes: tuple[DerivedAttribute, ...] = ()


class DeviceRequest(Object, frozen=True):
    name: str = ""
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()


class DeviceConstraint(Object, frozen=True):
    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaimConfiguration(Object, frozen=True):
    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClaim(Object, frozen=True):
    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[DeviceClaimConfiguration, ...] = ()


class ResourceClaimSpec(Object, frozen=True):
    devices: DeviceClaim = DeviceClaim()


class DeviceRequestAllocationResult(Object, frozen=True):
    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str | None = msgspec.field(default=None, name="shareID")
    consumed_capacity: Mapping[str, Quantity] = {}
    skip_node_operations: tuple[str, ...] = ()


class DeviceAllocationConfiguration(Object, frozen=True):
    source: str = ""
    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceAllocationResult(Object, frozen=True):
    results: tuple[DeviceRequestAllocationResult, ...] = ()
    config: tuple[DeviceAllocationConfiguration, ...] = ()


class AllocationResult(Object, frozen=True):
    devices: DeviceAllocationResult = DeviceAllocationResult()
    node_selector: NodeSelector | None = None
    allocation_timestamp: str | None = None


class ResourceClaimConsumerReference(Object, frozen=True):
    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class NetworkDeviceData(Object, frozen=True):
    interface_name: str = ""
    ips: tuple[str, ...] = ()
    hardware_address: str = ""


class AllocatedDeviceStatus(Object, frozen=True):
    """KEP-4817."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    share_id: str | None = msgspec.field(default=None, name="shareID")
    conditions: tuple[Condition, ...] = ()
    data: Any = None
    network_data: NetworkDeviceData | None = None


class ResourceClaimStatus(Object, frozen=True):
    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


class ResourceClaim(Object, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()


class ResourceClaimTemplateSpec(Object, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceClaimSpec = ResourceClaimSpec()


class ResourceClaimTemplate(Object, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceClaimTemplateSpec = ResourceClaimTemplateSpec()


# --- DeviceTaintRule, ResourcePoolStatusRequest --------------------------------------------------


class DeviceTaintSelector(Object, frozen=True):
    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpec(Object, frozen=True):
    device_selector: DeviceTaintSelector | None = None
    taint: DeviceTaint = DeviceTaint()


class DeviceTaintRuleStatus(Object, frozen=True):
    conditions: tuple[Condition, ...] = ()


class DeviceTaintRule(Object, frozen=True):
    """KEP-5055."""

    metadata: ObjectMeta = ObjectMeta()
    spec: DeviceTaintRuleSpec = DeviceTaintRuleSpec()
    status: DeviceTaintRuleStatus = DeviceTaintRuleStatus()


class ResourcePoolStatusRequestSpec(Object, frozen=True):
    driver: str = ""
    pool_name: str | None = None
    limit: Int32 | None = None
    default_partition_type_attribute: str | None = None


class PartitionTypeStatus(Object, frozen=True):
    attribute: str = ""
    type: str = ""
    total: Int32 = 0
    allocatable: Int32 = 0


class ShareableCapacityStatus(Object, frozen=True):
    name: str = ""
    total: Quantity | None = None
    consumed: Quantity | None = None
    available: Quantity | None = None


class ShareableSummaryStatus(Object, frozen=True):
    fully_available_devices: Int32 = 0
    partially_available_devices: Int32 = 0
    capacity: tuple[ShareableCapacityStatus, ...] = ()


class PoolStatus(Object, frozen=True):
    driver: str = ""
    pool_name: str = ""
    generation: Int64 = 0
    resource_slice_count: Int32 | None = None
    total_devices: Int32 | None = None
    allocated_devices: Int32 | None = None
    available_devices: Int32 | None = None
    unavailable_devices: Int32 | None = None
    node_name: str | None = None
    validation_error: str | None = None
    partition_summary: tuple[PartitionTypeStatus, ...] = ()
    shareable_summary: ShareableSummaryStatus | None = None


class ResourcePoolStatusRequestStatus(Object, frozen=True):
    pool_count: Int32 | None = None
    pools: tuple[PoolStatus, ...] = ()
    conditions: tuple[Condition, ...] = ()


class ResourcePoolStatusRequest(Object, frozen=True):
    """KEP-5677; v1alpha3 only."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourcePoolStatusRequestSpec = ResourcePoolStatusRequestSpec()
    status: ResourcePoolStatusRequestStatus | None = None
