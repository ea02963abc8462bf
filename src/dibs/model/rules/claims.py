"""The rules of ResourceClaim and ResourceClaimTemplate, and who may ask for admin access.

What a claim asks for is checked by `requests`, what it was given by `status`. Both specs never
change: an update is compared, not checked again.
"""

from __future__ import annotations

from dibs.model.objects import DeviceClaim, ResourceClaim, ResourceClaimTemplate
from dibs.model.rules import faults, fields, metadata, requests
from dibs.model.rules.context import Context
from dibs.model.rules.faults import FieldFault
from dibs.model.rules.fields import Faults

ADMIN_LABEL = "resource.kubernetes.io/admin-access"


def claim_spec(item: ResourceClaim, old: ResourceClaim | None, context: Context) -> Faults:
    if old is not None:
        yield from fields.immutable(item.spec, old.spec, "spec")
        return
    yield from requests.claim(item.spec.devices, "spec.devices", context)
    yield from _admin(item.spec.devices, "spec.devices", item.metadata.namespace, context)


def template_spec(
    item: ResourceClaimTemplate, old: ResourceClaimTemplate | None, context: Context
) -> Faults:
    if old is not None:
        yield from fields.immutable(item.spec, old.spec, "spec")
        return
    yield from metadata.of_template(item.spec.metadata, "spec.metadata")
    devices = item.spec.spec.devices
    yield from requests.claim(devices, "spec.spec.devices", context)
    yield from _admin(devices, "spec.spec.devices", item.metadata.namespace, context)


def admin_fault(path: str, namespace: str, context: Context) -> FieldFault | None:
    """Say why a namespace has no admin access; None when it has, or when nobody knows."""
    if context.admin_access is None:
        return None
    allowed = context.admin_access(namespace or "default")
    if allowed is None:
        text = (
            "could not retrieve namespace to verify admin access: "
            f'namespaces "{namespace or "default"}" not found'
        )
        return faults.internal(path, text)
    if allowed:
        return None
    text = (
        f"admin access to devices requires the `{ADMIN_LABEL}: true` label "
        "on the containing namespace"
    )
    return faults.forbidden(path, text)


def _admin(devices: DeviceClaim, path: str, namespace: str, context: Context) -> Faults:
    for index, request in enumerate(devices.requests):
        if request.exactly is None or not request.exactly.admin_access:
            continue
        # The API server names the field without `exactly`, as v1beta1 had it.
        if fault := admin_fault(f"{path}.requests[{index}].adminAccess", namespace, context):
            yield fault
