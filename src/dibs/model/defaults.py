"""What the API server fills in when a field is left out: mode, count, operator, limit.

Separate from decoding, so that an object can be shown and checked as it was written. Times
(`timeAdded`) come from a clock and are not filled in here.
Source: defaults of resource.k8s.io/v1; KEP-4381, KEP-5055, KEP-5677.
"""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from dibs.model.kinds import Known
from dibs.model.objects import (
    DeviceRequest,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimStatus,
    ResourceClaimTemplate,
    ResourcePoolStatusRequest,
)

Item = TypeVar("Item", bound=Known)

EXACT_COUNT = "ExactCount"
_POOL_STATUS_LIMIT = 100


def apply(item: Item) -> Item:
    """Return the object as the API server would store it; the same one if nothing was missing."""
    if isinstance(item, ResourceClaim):
        return replace(item, spec=_claim_spec(item.spec), status=_status(item.status))
    if isinstance(item, ResourceClaimTemplate):
        return replace(item, spec=replace(item.spec, spec=_claim_spec(item.spec.spec)))
    if isinstance(item, ResourcePoolStatusRequest) and item.spec.limit is None:
        return replace(item, spec=replace(item.spec, limit=_POOL_STATUS_LIMIT))
    return item


def _claim_spec(spec: ResourceClaimSpec) -> ResourceClaimSpec:
    requests = tuple(_request(request) for request in spec.devices.requests)
    return replace(spec, devices=replace(spec.devices, requests=requests))


def _status(status: ResourceClaimStatus) -> ResourceClaimStatus:
    """The tolerations that an allocation copied."""
    if status.allocation is None:
        return status
    devices = status.allocation.devices
    results = tuple(
        replace(result, tolerations=tuple(map(_toleration, result.tolerations)))
        for result in devices.results
    )
    allocation = replace(status.allocation, devices=replace(devices, results=results))
    return replace(status, allocation=allocation)


def _request(request: DeviceRequest) -> DeviceRequest:
    return replace(
        request,
        exactly=_ask(request.exactly) if request.exactly else None,
        first_available=tuple(_ask(ask) for ask in request.first_available),
    )


Ask = TypeVar("Ask", ExactDeviceRequest, DeviceSubRequest)


def _ask(ask: Ask) -> Ask:
    mode = ask.allocation_mode or EXACT_COUNT
    count = 1 if mode == EXACT_COUNT and ask.count == 0 else ask.count
    tolerations = tuple(_toleration(toleration) for toleration in ask.tolerations)
    return replace(ask, allocation_mode=mode, count=count, tolerations=tolerations)


def _toleration(toleration: DeviceToleration) -> DeviceToleration:
    return toleration if toleration.operator else replace(toleration, operator="Equal")
