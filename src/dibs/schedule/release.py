"""What a claim is rid of once its consumers are gone: reservations, devices, its own existence.

A claim without consumers gives its devices back at once; nobody keeps them for later. Whether a
consumer is still there is asked by whoever calls (`control.releasing`), for only a cluster knows.
Source: resourceclaim controller (syncClaim), KEP-4381, KEP-5729.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from dibs.model.core import Pod
from dibs.model.objects import ResourceClaim, ResourceClaimConsumerReference
from dibs.schedule import pods
from dibs.schedule.claims import FINALIZER

# Says whether a consumer still needs the claim.
Needs: TypeAlias = Callable[[ResourceClaimConsumerReference], bool]

PODS = "pods"
GROUPS = "podgroups"
SCHEDULING = "scheduling.k8s.io"


def is_pod(reference: ResourceClaimConsumerReference) -> bool:
    return reference.resource == PODS and not reference.api_group


def is_group(reference: ResourceClaimConsumerReference) -> bool:
    return reference.resource == GROUPS and reference.api_group == SCHEDULING


def needs(pod: Pod | None, uid: str) -> bool:
    """Whether this Pod, if it is the one with that uid, still needs its claims."""
    return pod is not None and pod.metadata.uid == uid and not pods.is_done(pod)


def released(claim: ResourceClaim, needs: Needs) -> ResourceClaim:
    """The claim without the consumers that are gone, and without devices when none is left.

    The same value when there is nothing to release.
    """
    kept = tuple(reference for reference in claim.status.reserved_for if needs(reference))
    if kept == claim.status.reserved_for and (kept or claim.status.allocation is None):
        return claim
    status = msgspec.structs.replace(claim.status, reserved_for=kept)
    if not kept:
        # What drivers said of the devices goes with them.
        status = msgspec.structs.replace(status, allocation=None, devices=())
    return msgspec.structs.replace(claim, status=status)


def unprotected(claim: ResourceClaim) -> ResourceClaim:
    """The claim without the finalizer that kept it while it had devices; or the same value."""
    if claim.status.allocation is not None or FINALIZER not in claim.metadata.finalizers:
        return claim
    left = tuple(each for each in claim.metadata.finalizers if each != FINALIZER)
    return msgspec.structs.replace(
        claim, metadata=msgspec.structs.replace(claim.metadata, finalizers=left)
    )


def is_orphan(claim: ResourceClaim, owner: Pod | None) -> bool:
    """Whether a claim that was made for a Pod has outlived it: `owner` is the Pod of its
    controller reference's name, None when there is none."""
    if claim.status.reserved_for or claim.metadata.deletion_timestamp is not None:
        return False
    reference = next((each for each in claim.metadata.owner_references if each.controller), None)
    if reference is None or reference.kind != "Pod":
        return False
    return owner is None or owner.metadata.uid != reference.uid or pods.is_done(owner)
