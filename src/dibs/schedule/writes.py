"""What follows from a decision: the objects as they are written, the writes, the next state.

Nothing is written here. The order of writes is that of kube-scheduler: a claim's finalizer and
allocation, its reservation, then the Pod.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec

from dibs.model.core import Pod
from dibs.model.objects import ResourceClaim
from dibs.schedule import claims as pod_claims
from dibs.schedule.plan import (
    AddReservation,
    BindPod,
    Broken,
    CreateClaim,
    Decision,
    Placed,
    Waits,
    Write,
    WriteAllocation,
)
from dibs.schedule.snapshot import Key, key_of
from dibs.schedule.state import State


def protected(claim: ResourceClaim) -> ResourceClaim:
    """With the finalizer that keeps an allocated claim from vanishing."""
    if pod_claims.FINALIZER in claim.metadata.finalizers:
        return claim
    finalizers = (*claim.metadata.finalizers, pod_claims.FINALIZER)
    metadata = msgspec.structs.replace(claim.metadata, finalizers=finalizers)
    return msgspec.structs.replace(claim, metadata=metadata)


def reserved(claim: ResourceClaim, pod: Pod) -> ResourceClaim:
    if pod_claims.is_reserved(claim, pod):
        return claim
    consumers = (*claim.status.reserved_for, pod_claims.consumer(pod))
    status = msgspec.structs.replace(claim.status, reserved_for=consumers)
    return msgspec.structs.replace(claim, status=status)


def of(decision: Decision, before: State) -> list[Write]:
    """What must be written for a decision, in order: claims, allocations, reservations, the Pod."""
    writes: list[Write] = []
    subject = decision.subject
    for use in decision.claims:
        if use.is_new and subject.kind == "Pod":
            writes.append(CreateClaim(unallocated(use.claim), subject.key, use.entry))
    if isinstance(decision, Waits | Broken):
        return writes
    seen: set[Key] = set()
    for use in decision.claims:
        key = key_of(use.claim.metadata)
        allocation = use.claim.status.allocation
        if use.is_fresh and allocation is not None and key not in seen:
            writes.append(WriteAllocation(key, allocation))
        old = before.snapshot.claims.get(key)
        known = old.status.reserved_for if old is not None else ()
        if key not in seen:
            added = [each for each in use.claim.status.reserved_for if each not in known]
            writes += [AddReservation(key, consumer) for consumer in added]
        seen.add(key)
    if isinstance(decision, Placed) and subject.kind == "Pod":
        writes.append(BindPod(subject.key, decision.node))
    return writes


def unallocated(claim: ResourceClaim) -> ResourceClaim:
    finalizers = tuple(f for f in claim.metadata.finalizers if f != pod_claims.FINALIZER)
    metadata = msgspec.structs.replace(claim.metadata, finalizers=finalizers)
    return ResourceClaim(metadata=metadata, spec=claim.spec)


def after(state: State, decision: Decision) -> State:
    """The world once a decision is carried out."""
    known = state.snapshot.claims
    changed = [
        use.claim
        for use in decision.claims
        if known.get(key_of(use.claim.metadata)) is not use.claim
    ]
    if not changed:
        return state
    ledger = state.ledger
    for use in {key_of(use.claim.metadata): use for use in decision.claims}.values():
        if use.is_fresh:
            ledger = ledger.plus(use.claim)
    return replace(state, snapshot=state.snapshot.with_claims(changed), ledger=ledger)
