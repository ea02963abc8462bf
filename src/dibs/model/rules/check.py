"""The public verbs: which rules an object of each kind is put to, on create, update and status.

Objects are given their defaults first, as the API server does (`defaults`): a missing mode, count
or operator is no fault. What each rule says is in the files beside this one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from msgspec.structs import replace

from dibs.model import defaults, kinds
from dibs.model.core import Namespace, Node, Pod
from dibs.model.kinds import Known
from dibs.model.objects import (
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceClaimStatus,
    ResourceClaimTemplate,
    ResourcePoolStatusRequest,
    ResourceSlice,
)
from dibs.model.rules import (
    claims,
    classes,
    metadata,
    pods,
    pool_status,
    slices,
    status,
    taints,
    workloads,
)
from dibs.model.rules.context import NO_CONTEXT, Context
from dibs.model.rules.faults import FieldFault
from dibs.model.rules.fields import Faults
from dibs.model.workloads import PodGroup, Workload
from dibs.values import names


def validate(
    item: Known, old: Known | None = None, *, context: Context = NO_CONTEXT
) -> tuple[FieldFault, ...]:
    """Return every fault of a new object, or of the change from `old` to `item`.

    The status is not looked at: on its main resource the API server drops or keeps it. `old` must
    be of the same kind. Never raises on an object that was decoded.
    """
    new, before = _defaulted(item, old)
    return distinct((*_metadata(new, before), *_spec(new, before, context)))


def validate_status(
    item: Known, old: Known, *, context: Context = NO_CONTEXT
) -> tuple[FieldFault, ...]:
    """Return every fault of a write to the status subresource, `()` for kinds without one.

    Only the status of `item` counts; its spec should be the old one.
    """
    new, before = defaults.apply(item), defaults.apply(old)
    changed = metadata.updated(new.metadata, before.metadata)
    return distinct((*changed, *_status(new, before, context)))


def validate_as_found(item: Known, *, context: Context = NO_CONTEXT) -> tuple[FieldFault, ...]:
    """Return every fault of an object as it stands in a file or a dump, status included.

    The status is checked as if it were written now, to the same object without one.
    """
    new = defaults.apply(item)
    found = (*_metadata(new, None), *_spec(new, None, context))
    return distinct((*found, *_status(new, _without_status(new), context)))


def distinct(found: Iterable[FieldFault]) -> tuple[FieldFault, ...]:
    """Drop what was said twice, as the API server does when it makes one message of them."""
    return tuple({str(fault): fault for fault in found}.values())


def _defaulted(item: Known, old: Known | None) -> tuple[Known, Known | None]:
    assert old is None or type(old) is type(item), f"{type(old)} became {type(item)}"
    return defaults.apply(item), defaults.apply(old) if old is not None else None


def _metadata(item: Known, old: Known | None) -> Faults:
    if old is not None:
        return metadata.updated(item.metadata, old.metadata)
    # A namespace is the one object whose name must be a label.
    is_label = isinstance(item, Namespace)
    check = names.faults_of_dns_label if is_label else names.faults_of_dns_subdomain
    namespaced = kinds.of(item).namespaced
    return metadata.created(item.metadata, namespaced=namespaced, name_faults=check)


def _spec(item: Known, old: Known | None, context: Context) -> Faults:
    match item:
        case ResourceSlice():
            return slices.spec(item, old if isinstance(old, ResourceSlice) else None)
        case DeviceClass():
            return classes.spec(item, old if isinstance(old, DeviceClass) else None, context)
        case ResourceClaim():
            before = old if isinstance(old, ResourceClaim) else None
            return claims.claim_spec(item, before, context)
        case ResourceClaimTemplate():
            stored = old if isinstance(old, ResourceClaimTemplate) else None
            return claims.template_spec(item, stored, context)
        case DeviceTaintRule():
            return taints.rule_spec(item, old if isinstance(old, DeviceTaintRule) else None)
        case ResourcePoolStatusRequest():
            asked = old if isinstance(old, ResourcePoolStatusRequest) else None
            return pool_status.spec(item, asked)
        case Pod():
            return pods.spec(item, old if isinstance(old, Pod) else None)
        case PodGroup():
            return workloads.group_spec(item, old if isinstance(old, PodGroup) else None)
        case Workload():
            return workloads.workload_spec(item, old if isinstance(old, Workload) else None)
        case Node() | Namespace():
            return iter(())
    assert_never(item)


def _status(item: Known, old: Known, context: Context) -> Faults:
    match item, old:
        case ResourceClaim(), ResourceClaim():
            return status.status(item, old, context)
        case DeviceTaintRule(), _:
            return taints.rule_status(item)
        case ResourcePoolStatusRequest(), ResourcePoolStatusRequest():
            return pool_status.status(item, old)
        case Pod(), Pod():
            return pods.status(item, old)
        case PodGroup(), _:
            return workloads.group_status(item)
    return iter(())


def _without_status(item: Known) -> Known:
    match item:
        case ResourceClaim():
            # Consumers count as known: a deleted claim keeps those it had.
            kept = ResourceClaimStatus(reserved_for=item.status.reserved_for)
            return replace(item, status=kept)
        case ResourcePoolStatusRequest():
            return replace(item, status=None)
        case Pod():
            bare = replace(item.status, extended_resource_claim_status=None)
            return replace(item, status=bare)
    return item
