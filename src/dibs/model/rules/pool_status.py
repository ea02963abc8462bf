"""The rules of ResourcePoolStatusRequest (KEP-5677): a question to the pools and its one answer."""

from __future__ import annotations

from dibs.model.objects import (
    PartitionTypeStatus,
    PoolStatus,
    ResourcePoolStatusRequest,
    ResourcePoolStatusRequestStatus,
    ShareableCapacityStatus,
    ShareableSummaryStatus,
)
from dibs.model.rules import faults, fields, limits, metadata
from dibs.model.rules.fields import Faults

_NOT_NEGATIVE = "must be non-negative"


def spec(item: ResourcePoolStatusRequest, old: ResourcePoolStatusRequest | None) -> Faults:
    if old is not None:
        yield from fields.immutable(item.spec, old.spec, "spec")
        return
    yield from fields.driver(item.spec.driver, "spec.driver")
    if item.spec.pool_name is not None:
        yield from fields.pool(item.spec.pool_name, "spec.poolName")
    limit = item.spec.limit
    if limit is not None and limit < 1:
        yield faults.invalid("spec.limit", limit, "must be at least 1")
    if limit is not None and limit > limits.POOLS:
        yield faults.invalid("spec.limit", limit, f"must not exceed {limits.POOLS}")
    attribute = item.spec.default_partition_type_attribute
    if attribute is not None:
        yield from fields.full_name(attribute, "spec.defaultPartitionTypeAttribute")


def status(item: ResourcePoolStatusRequest, old: ResourcePoolStatusRequest) -> Faults:
    """The answer is given once."""
    if old.status is not None:
        yield from fields.immutable(item.status, old.status, "status")
    elif item.status is not None:
        yield from _answer(item.status, "status")


def _answer(value: ResourcePoolStatusRequestStatus, path: str) -> Faults:
    if value.pool_count is None:
        yield faults.required(f"{path}.poolCount")
    else:
        yield from _count(value.pool_count, f"{path}.poolCount")
    yield from fields.each(value.pools, f"{path}.pools", limits.POOLS, _pool)
    yield from metadata.conditions(value.conditions, f"{path}.conditions", limits.POOL_CONDITIONS)


def _pool(value: PoolStatus, path: str) -> Faults:
    yield from fields.driver(value.driver, f"{path}.driver")
    yield from fields.pool(value.pool_name, f"{path}.poolName")
    if value.node_name is not None:
        yield from fields.subdomain(value.node_name, f"{path}.nodeName")
    for name, count in (
        ("generation", value.generation),
        ("totalDevices", value.total_devices),
        ("allocatedDevices", value.allocated_devices),
        ("availableDevices", value.available_devices),
        ("unavailableDevices", value.unavailable_devices),
    ):
        if count is not None:
            yield from _count(count, f"{path}.{name}")
    slices = value.resource_slice_count
    if slices is not None and slices < 1:
        yield faults.invalid(f"{path}.resourceSliceCount", slices, "must be at least 1")
    if value.validation_error is not None:
        here = f"{path}.validationError"
        yield from fields.at_most(value.validation_error, here, limits.VALIDATION_ERROR_LENGTH)
    yield from fields.each_once(
        value.partition_summary,
        f"{path}.partitionSummary",
        limits.PARTITION_SUMMARY,
        _partition,
        lambda each: f"{each.attribute}/{each.type}",
    )
    if value.shareable_summary is not None:
        yield from _shareable(value.shareable_summary, f"{path}.shareableSummary")


def _partition(value: PartitionTypeStatus, path: str) -> Faults:
    if not value.attribute:
        yield faults.required(f"{path}.attribute")
    if not value.type:
        yield faults.required(f"{path}.type")
    yield from _count(value.total, f"{path}.total")
    yield from _count(value.allocatable, f"{path}.allocatable")


def _shareable(value: ShareableSummaryStatus, path: str) -> Faults:
    yield from _count(value.fully_available_devices, f"{path}.fullyAvailableDevices")
    yield from _count(value.partially_available_devices, f"{path}.partiallyAvailableDevices")
    yield from fields.each_once(
        value.capacity,
        f"{path}.capacity",
        limits.SHAREABLE_CAPACITY,
        _capacity,
        lambda each: each.name,
    )


def _capacity(value: ShareableCapacityStatus, path: str) -> Faults:
    if not value.name:
        yield faults.required(f"{path}.name")
    for name, amount in (
        ("total", value.total),
        ("consumed", value.consumed),
        ("available", value.available),
    ):
        if amount is None:
            yield faults.required(f"{path}.{name}")
        elif amount.sign() < 0:
            yield faults.invalid(f"{path}.{name}", amount, _NOT_NEGATIVE)


def _count(value: int, path: str) -> Faults:
    if value < 0:
        yield faults.invalid(path, value, _NOT_NEGATIVE)
