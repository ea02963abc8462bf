"""The rules of a claim's status: allocation, consumers, and what drivers report of devices.

Only changes are checked: what is stored stays good. Who may write which part is authorization,
and not asked here. Source: KEP-4381, 4817, 5007, 5075.
"""

from __future__ import annotations

import ipaddress
import re

from msgspec.structs import replace

from dibs.model.objects import (
    AllocatedDeviceStatus,
    AllocationResult,
    DeviceAllocationConfiguration,
    DeviceRequestAllocationResult,
    NetworkDeviceData,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimStatus,
)
from dibs.model.rules import (
    claims,
    devices,
    faults,
    fields,
    limits,
    metadata,
    node_selectors,
    opaque,
    requests,
    taints,
)
from dibs.model.rules.context import Context
from dibs.model.rules.fields import Faults
from dibs.values.quoted import quoted

SOURCES = ("FromClaim", "FromClass")

_NO_ALLOCATION = "may not be specified when `allocated` is not set"
_BEING_DELETED = (
    "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
)
_NOT_ALLOCATED = "must be an allocated device in the claim"
_NO_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_CIDR = re.compile(r"([0-9a-fA-F:.]{2,45})/([0-9]{1,3})", re.ASCII)


def status(item: ResourceClaim, old: ResourceClaim, context: Context) -> Faults:
    new = without_lost_devices(item.status, old.status)
    before = old.status
    yield from fields.each_once(
        new.reserved_for,
        "status.reservedFor",
        limits.RESERVED_FOR,
        _consumer,
        lambda consumer: consumer.uid,
    )
    yield from _reports(new)
    yield from _reservation(item, new, before)
    if new.allocation is None:
        return
    if before.allocation is not None:
        yield from fields.immutable(new.allocation, before.allocation, "status.allocation")
        return
    yield from _allocation(
        new.allocation, "status.allocation", requests.request_names(item.spec.devices)
    )
    yield from _admin(new.allocation, item.metadata.namespace, context)


def without_lost_devices(new: ResourceClaimStatus, old: ResourceClaimStatus) -> ResourceClaimStatus:
    """Drop reports of devices that left the allocation, as the server does for deallocators."""
    lost = _held(old.allocation) - _held(new.allocation)
    if not lost:
        return new
    kept = tuple(each for each in new.devices if (each.driver, each.pool, each.device) not in lost)
    return replace(new, devices=kept)


def _held(allocation: AllocationResult | None) -> frozenset[tuple[str, str, str]]:
    results = allocation.devices.results if allocation else ()
    return frozenset((each.driver, each.pool, each.device) for each in results)


def _consumer(item: ResourceClaimConsumerReference, path: str) -> Faults:
    for name, value in (("resource", item.resource), ("name", item.name), ("uid", item.uid)):
        if not value:
            yield faults.required(f"{path}.{name}")


def _reservation(
    item: ResourceClaim, new: ResourceClaimStatus, before: ResourceClaimStatus
) -> Faults:
    if not new.reserved_for:
        return
    if new.allocation is None:
        yield faults.forbidden("status.reservedFor", _NO_ALLOCATION)
    elif item.metadata.deletion_timestamp is not None:
        known = {each.uid for each in before.reserved_for}
        if any(each.uid not in known for each in new.reserved_for):
            yield faults.forbidden("status.reservedFor", _BEING_DELETED)


# --- the allocation ----------------------------------------------------------------------------


def _allocation(value: AllocationResult, path: str, known: requests.Names) -> Faults:
    def result(item: DeviceRequestAllocationResult, here: str) -> Faults:
        return _result(item, here, known)

    def config(item: DeviceAllocationConfiguration, here: str) -> Faults:
        if not item.source:
            yield faults.required(f"{here}.source")
        else:
            yield from fields.choice(item.source, f"{here}.source", SOURCES)
        yield from requests.references(item.requests, f"{here}.requests", known)
        yield from opaque.configuration(item.opaque, here)

    given = value.devices
    yield from fields.each(given.results, f"{path}.devices.results", limits.RESULTS, result)
    yield from fields.each(given.config, f"{path}.devices.config", limits.ALLOCATED_CONFIGS, config)
    if value.node_selector is not None:
        yield from node_selectors.selector(value.node_selector, f"{path}.nodeSelector")


def _result(item: DeviceRequestAllocationResult, path: str, known: requests.Names) -> Faults:
    yield from requests.reference(item.request, f"{path}.request", known)
    yield from fields.driver(item.driver, f"{path}.driver")
    yield from fields.pool(item.pool, f"{path}.pool")
    yield from fields.label(item.device, f"{path}.device")
    yield from devices.binding(item.binding_conditions, item.binding_failure_conditions, path)
    yield from taints.tolerations(item.tolerations, f"{path}.tolerations")
    if item.share_id is not None:
        yield from fields.uuid(item.share_id, f"{path}.shareID")
    yield from devices.skipped_operations(item.skip_node_operations, f"{path}.skipNodeOperations")


def _admin(value: AllocationResult, namespace: str, context: Context) -> Faults:
    for index, item in enumerate(value.devices.results):
        path = f"status.allocation.devices.results[{index}].adminAccess"
        if item.admin_access and (fault := claims.admin_fault(path, namespace, context)):
            yield fault
            return


# --- what drivers report (KEP-4817) --------------------------------------------------------------


def _reports(new: ResourceClaimStatus) -> Faults:
    results = new.allocation.devices.results if new.allocation else ()
    allocated = {_shared_id(each) for each in results}

    def report(item: AllocatedDeviceStatus, path: str) -> Faults:
        yield from _report(item, path)
        if _shared_id(item) not in allocated:
            yield faults.invalid(path, _shared_id(item), _NOT_ALLOCATED)

    yield from fields.each_once(new.devices, "status.devices", None, report, _shared_id)


def _shared_id(item: DeviceRequestAllocationResult | AllocatedDeviceStatus) -> str:
    whole = f"{item.driver}/{item.pool}/{item.device}"
    return whole if item.share_id is None else f"{whole}/{item.share_id}"


def _report(item: AllocatedDeviceStatus, path: str) -> Faults:
    yield from fields.driver(item.driver, f"{path}.driver")
    yield from fields.pool(item.pool, f"{path}.pool")
    yield from fields.label(item.device, f"{path}.device")
    if item.share_id is not None:
        yield from fields.uuid(item.share_id, f"{path}.shareID")
    yield from metadata.conditions(item.conditions, f"{path}.conditions", limits.DEVICE_CONDITIONS)
    if item.data is not None:
        yield from opaque.raw(item.data, f"{path}.data", limits.DEVICE_DATA_LENGTH)
    if item.network_data is not None:
        yield from _network(item.network_data, f"{path}.networkData")


def _network(value: NetworkDeviceData, path: str) -> Faults:
    yield from fields.at_most(
        value.interface_name, f"{path}.interfaceName", limits.INTERFACE_NAME_LENGTH
    )
    yield from fields.at_most(
        value.hardware_address, f"{path}.hardwareAddress", limits.HARDWARE_ADDRESS_LENGTH
    )
    yield from fields.each_once(
        value.ips, f"{path}.ips", limits.IPS, _interface_address, lambda ip: ip
    )


def _interface_address(value: str, path: str) -> Faults:
    """An address with its prefix length, `10.0.0.5/24`, written in the one canonical way."""
    canonical = _canonical(value)
    if canonical is None:
        yield faults.invalid(path, value, _NO_CIDR)
    elif canonical != value:
        yield faults.invalid(path, value, f"must be in canonical form ({quoted(canonical)})")


def _canonical(value: str) -> str | None:
    shape = _CIDR.fullmatch(value)
    if not shape:
        return None
    address, length = shape.group(1), int(shape.group(2))
    if ":" not in address:
        # Leading zeros are read as decimal, as Kubernetes always has.
        octets = address.split(".")
        address = ".".join(octet.lstrip("0") or "0" for octet in octets if octet)
        if len(octets) != address.count(".") + 1:
            return None
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return None
    if length > parsed.max_prefixlen:
        return None
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        # `::ffff:10.0.0.5/120` is `10.0.0.5/24`.
        return f"{parsed.ipv4_mapped}/{length - 96 if length >= 96 else length}"
    return f"{parsed}/{length}"
