"""What the API server fills in before it looks at an object.

Go types without a pointer can't tell "0" from "not written", so neither do we: a count of 0 is
one device. `timeAdded` of a taint is not filled in here, for want of a clock.
Source: defaulting of resource.k8s.io.
"""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from dibs.model.kinds import Known
from dibs.model.objects import (
    DeviceClaim,
    DeviceRequest,
    DeviceRequestAllocationResult,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimStatus,
    ResourceClaimTemplate,
    ResourcePoolStatusRequest,
)

EXACT_COUNT = "ExactCount"
EQUAL = "Equal"
POOL_STATUS_LIMIT = 100

AnyRequest = TypeVar("AnyRequest", ExactDeviceRequest, DeviceSubRequest)


def with_defaults(item: Known) -> Known:
    """Return the object with allocation modes, counts, operators and limits filled in."""
    match item:
        case ResourceClaim():
            return replace(item, spec=_spec(item.spec), status=_status(item.status))
        case ResourceClaimTemplate():
            return replace(item, spec=replace(item.spec, spec=_spec(item.spec.spec)))
        case ResourcePoolStatusRequest() if item.spec.limit is None:
            return replace(item, spec=replace(item.spec, limit=POOL_STATUS_LIMIT))
    return item


def of_request(wanted: AnyRequest) -> AnyRequest:
    mode = wanted.allocation_mode or EXACT_COUNT
    count = wanted.count or (1 if mode == EXACT_COUNT else 0)
    tolerations = tuple(map(of_toleration, wanted.tolerations))
    return replace(wanted, allocation_mode=mode, count=count, tolerations=tolerations)


def of_toleration(toleration: DeviceToleration) -> DeviceToleration:
    return toleration if toleration.operator else replace(toleration, operator=EQUAL)


def _spec(spec: ResourceClaimSpec) -> ResourceClaimSpec:
    devices: DeviceClaim = spec.devices
    return replace(spec, devices=replace(devices, requests=tuple(map(_request, devices.requests))))


def _request(request: DeviceRequest) -> DeviceRequest:
    return replace(
        request,
        exactly=of_request(request.exactly) if request.exactly else None,
        first_available=tuple(map(of_request, request.first_available)),
    )


def _status(status: ResourceClaimStatus) -> ResourceClaimStatus:
    if not status.allocation:
        return status
    devices = status.allocation.devices
    results = tuple(map(_result, devices.results))
    return replace(
        status,
        allocation=replace(status.allocation, devices=replace(devices, results=results)),
    )


def _result(result: DeviceRequestAllocationResult) -> DeviceRequestAllocationResult:
    return replace(result, tolerations=tuple(map(of_toleration, result.tolerations)))
