"""What follows from a decision: the objects as they are written, the writes, the next state.

Nothing is written here. The order of writes is that of kube-scheduler: a claim's finalizer, its
allocation with the record of what it draws, its reservation, then the Pod.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from dibs.model.core import Pod, PodExtendedResourceClaimStatus, PodResourceClaimStatus
from dibs.model.objects import ResourceClaim
from dibs.model.workloads import PodGroup
from dibs.schedule import claims as pod_claims
from dibs.schedule.plan import (
    AddReservation,
    BindPod,
    Broken,
    CreateClaim,
    Decision,
    Placed,
    RecordInPod,
    Waits,
    Write,
    WriteAllocation,
)
from dibs.schedule.snapshot import Key, key_of
from dibs.schedule.state import State
from dibs.supply import records
from dibs.supply.records import Record


def protected(claim: ResourceClaim) -> ResourceClaim:
    """With the finalizer that keeps an allocated claim from vanishing."""
    if pod_claims.FINALIZER in claim.metadata.finalizers:
        return claim
    finalizers = (*claim.metadata.finalizers, pod_claims.FINALIZER)
    metadata = msgspec.structs.replace(claim.metadata, finalizers=finalizers)
    return msgspec.structs.replace(claim, metadata=metadata)


def remembering(claim: ResourceClaim, drawn: Sequence[Record]) -> ResourceClaim:
    """With the record of what its devices draw from counters, and no older one (designs/031)."""
    known = dict(claim.metadata.annotations)
    known.pop(records.ANNOTATION, None)
    if drawn:
        known[records.ANNOTATION] = records.text_of(drawn)
    metadata = msgspec.structs.replace(claim.metadata, annotations=known)
    return msgspec.structs.replace(claim, metadata=metadata)


def reserved(claim: ResourceClaim, pod: Pod, group: PodGroup | None = None) -> ResourceClaim:
    """Reserved for the Pod, or for the group with which it shares the claim."""
    if pod_claims.is_reserved(claim, pod):
        return claim
    consumers = (*claim.status.reserved_for, pod_claims.consumer(pod, group))
    status = msgspec.structs.replace(claim.status, reserved_for=consumers)
    return msgspec.structs.replace(claim, status=status)


def of(decision: Decision, before: State) -> list[Write]:
    """What must be written for a decision, in order: claims, allocations, reservations, the Pod."""
    writes: list[Write] = []
    subject = decision.subject
    for use in decision.claims:
        if use.is_new and subject.kind == "Pod":
            group = key_of(use.group.metadata) if use.group is not None else None
            writes.append(CreateClaim(unallocated(use.claim), subject.key, use.entry, group))
    if isinstance(decision, Waits | Broken):
        return writes
    seen: set[Key] = set()
    for use in decision.claims:
        key = key_of(use.claim.metadata)
        allocation = use.claim.status.allocation
        if use.is_fresh and allocation is not None and key not in seen:
            drawn = use.claim.metadata.annotations.get(records.ANNOTATION, "")
            writes.append(WriteAllocation(key, allocation, drawn))
        old = before.snapshot.claims.get(key)
        known = old.status.reserved_for if old is not None else ()
        if key not in seen:
            added = [each for each in use.claim.status.reserved_for if each not in known]
            writes += [AddReservation(key, consumer) for consumer in added]
        seen.add(key)
    if isinstance(decision, Placed) and subject.kind == "Pod":
        recorded = extended_status(decision)
        if recorded is not None or decision.natives:
            writes.append(RecordInPod(subject.key, recorded, decision.natives))
        writes.append(BindPod(subject.key, decision.node))
    return writes


def extended_status(decision: Placed) -> PodExtendedResourceClaimStatus | None:
    """What the Pod's status says of its special claim (KEP-5004)."""
    for use in decision.claims:
        if use.mappings:
            return PodExtendedResourceClaimStatus(use.claim.metadata.name, use.mappings)
    return None


def bound(pod: Pod, decision: Placed) -> Pod:
    """The Pod with its node, and with what its status says of the claims made for it."""
    spec = msgspec.structs.replace(pod.spec, node_name=decision.node)
    known = {each.name: each for each in pod.status.resource_claim_statuses}
    for use in decision.claims:
        if use.template:
            known[use.entry] = PodResourceClaimStatus(
                name=use.entry, resource_claim_name=use.claim.metadata.name
            )
    status = msgspec.structs.replace(
        pod.status,
        resource_claim_statuses=tuple(known.values()),
        extended_resource_claim_status=extended_status(decision),
        node_allocatable_resource_claim_statuses=decision.natives,
    )
    return msgspec.structs.replace(pod, spec=spec, status=status)


def unallocated(claim: ResourceClaim) -> ResourceClaim:
    claim = remembering(claim, ())
    finalizers = tuple(f for f in claim.metadata.finalizers if f != pod_claims.FINALIZER)
    metadata = msgspec.structs.replace(claim.metadata, finalizers=finalizers)
    return ResourceClaim(metadata=metadata, spec=claim.spec)


def after(state: State, decision: Decision) -> State:
    """The world once a decision is carried out."""
    state = remembered(state, decision)
    known = state.snapshot.claims
    changed = {
        key_of(use.claim.metadata): use.claim
        for use in decision.claims
        if known.get(key_of(use.claim.metadata)) is not use.claim
    }
    if changed:
        state = state.with_claims(changed.values())
    if isinstance(decision, Placed) and decision.subject.kind == "Pod":
        state = state.with_pod(bound(state.snapshot.pods[decision.subject.key], decision))
    return state


def remembered(state: State, decision: Decision) -> State:
    """The world in which it is known who said no."""
    if state.index is None or not isinstance(decision, Placed | Waits) or not decision.noes:
        return state
    index = state.index
    for key, nodes in decision.noes.items():
        index = index.with_noes(key, nodes)
    return msgspec.structs.replace(state, index=index)
