"""Claims that the Pods of a group share (KEP-5729): which entries those are, and whose claim it is.

A Pod's entry is the group's when the PodGroup has one that is equal in name and both references.
Then there is one claim for all, made once and reserved once, for the group. When the Pods of a
group are placed together (KEP-4671) is no matter of this file, nor yet of this room.
"""

from __future__ import annotations

import msgspec

from dibs.model.core import Pod, PodResourceClaim, PodResourceClaimStatus
from dibs.model.meta import OwnerReference
from dibs.model.objects import ResourceClaim, ResourceClaimConsumerReference
from dibs.model.workloads import GROUP, PodGroup
from dibs.schedule import ids
from dibs.schedule.snapshot import Key, Snapshot, key_of

RESOURCE = "podgroups"


def key_of_pod(pod: Pod) -> Key | None:
    """The group that a Pod says it belongs to, whether or not it is there."""
    group = pod.spec.scheduling_group
    if group is None or not group.pod_group_name:
        return None
    return Key(key_of(pod.metadata).namespace, group.pod_group_name)


def sharing(pod: Pod, entry: PodResourceClaim, snapshot: Snapshot) -> PodGroup | None:
    """The group with which the Pod shares the claim of this entry, if it does."""
    key = key_of_pod(pod)
    group = snapshot.groups.get(key) if key is not None else None
    return group if group is not None and entry in group.spec.resource_claims else None


def claim_of(group: PodGroup, entry: str, snapshot: Snapshot) -> ResourceClaim | None:
    """The claim that was made for an entry of the group: recorded, or found by its owner."""
    key = key_of(group.metadata)
    for status in group.status.resource_claim_statuses:
        if status.name == entry and status.resource_claim_name:
            recorded = snapshot.claims.get(Key(key.namespace, status.resource_claim_name))
            if recorded is not None and is_owned(recorded, group):
                return recorded
    names = snapshot.shared.get((key, entry), ())
    found = snapshot.claims[names[-1]] if names else None
    return found if found is not None and is_owned(found, group) else None


def needs_none(group: PodGroup, entry: str) -> bool:
    """The group's status says that no claim is needed for the entry."""
    statuses = group.status.resource_claim_statuses
    return any(each.name == entry and not each.resource_claim_name for each in statuses)


def is_owned(claim: ResourceClaim, group: PodGroup) -> bool:
    return any(
        owner.controller and owner.kind == "PodGroup" and owner.uid == uid_of(group)
        for owner in claim.metadata.owner_references
    )


def owner(group: PodGroup) -> OwnerReference:
    return OwnerReference(
        api_version=f"{GROUP}/v1beta1",
        kind="PodGroup",
        name=group.metadata.name,
        uid=uid_of(group),
        controller=True,
        block_owner_deletion=True,
    )


def consumer(group: PodGroup) -> ResourceClaimConsumerReference:
    """The one entry of status.reservedFor for all Pods of the group."""
    return ResourceClaimConsumerReference(
        api_group=GROUP, resource=RESOURCE, name=group.metadata.name, uid=uid_of(group)
    )


def is_consumer(reference: ResourceClaimConsumerReference, pod: Pod) -> bool:
    """Whether a reference is the Pod's group: by name, since a Pod doesn't know the uid."""
    key = key_of_pod(pod)
    return (
        key is not None
        and (reference.api_group, reference.resource) == (GROUP, RESOURCE)
        and reference.name == key.name
    )


def recording(group: PodGroup, entry: str, claim: str) -> PodGroup:
    """The group with the name of a claim in its status."""
    known = {each.name: each for each in group.status.resource_claim_statuses}
    known[entry] = PodResourceClaimStatus(name=entry, resource_claim_name=claim)
    status = msgspec.structs.replace(group.status, resource_claim_statuses=tuple(known.values()))
    return msgspec.structs.replace(group, status=status)


def uid_of(group: PodGroup) -> str:
    return group.metadata.uid or ids.uid("PodGroup", key_of(group.metadata))
