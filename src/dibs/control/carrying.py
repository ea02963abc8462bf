"""A decision is carried out: its writes, one after the other, each on what is there now.

The order is kube-scheduler's: a claim's finalizer and record, then its allocation with the
reservation, the Pod's status, the conditions of its devices, the node. Stopped anywhere, the rest
is done by the next decision on the same Pod, which finds what was written.
Source: kube-scheduler DynamicResources (PreBind), KEP-4381, KEP-5007.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

import msgspec

from dibs.api import stamps
from dibs.client.cluster import Cluster, Conflict, Missing, Ref
from dibs.control.mirror import Mirror
from dibs.model import kinds
from dibs.model.core import Pod
from dibs.model.kinds import Known
from dibs.model.objects import ResourceClaim
from dibs.schedule import claims, pods, release
from dibs.schedule.plan import (
    AddReservation,
    BindPod,
    CreateClaim,
    RecordInPod,
    Write,
    WriteAllocation,
)
from dibs.schedule.snapshot import Key, key_of
from dibs.supply import records
from dibs.view import binding

CLAIMS = kinds.BY_NAME[kinds.GROUP, "ResourceClaim"]
PODS = kinds.BY_NAME["", "Pod"]
# How long devices may take to become ready. Source: DynamicResourcesArgs.bindingTimeout.
PATIENCE_S = 600.0
# How often the conditions of devices are looked at.
POLL_S = 0.5


# By object, the uid of the one that was decided on: names are used again.
Uids: TypeAlias = Mapping[Ref, str]


class Failed(Exception):
    """A device says that it can't be made ready, or didn't say so in time (KEP-5007)."""


@dataclass(frozen=True, slots=True)
class Hand:
    """`now` is seconds since 1970, `patience_s` how long devices may take to become ready."""

    cluster: Cluster
    mirror: Mirror
    now: Callable[[], float]
    patience_s: float = PATIENCE_S

    def check(self, pod: Key, uids: Uids) -> None:
        """Raises Missing if the Pod isn't there any more, or is another one."""
        self._pod(pod, uids)

    async def carry_out(self, writes: Sequence[Write], uids: Uids) -> None:
        """Raises the exceptions of `client.cluster`; Missing too for what is of another uid."""
        for write in writes:
            match write:
                case CreateClaim():
                    await self._create(write)
                case WriteAllocation():
                    added = [each for each in writes if isinstance(each, AddReservation)]
                    await self._allocate(write, [e for e in added if e.claim == write.claim], uids)
                case AddReservation():
                    await self._reserve(write, uids)
                case RecordInPod():
                    await self._record(write, uids)
                case BindPod():
                    await self._bind(write, uids)
                case _:
                    assert_never(write)

    async def confirm(self, refs: Iterable[Ref]) -> None:
        """See how these objects stand, after writes of which it isn't known how they went."""
        for ref in refs:
            found = await self.cluster.get(ref)
            if found is not None:
                self.mirror.wrote(found)

    async def give_back(self, claim: ResourceClaim, pod: Pod) -> None:
        """A Pod that can't be placed gives up its reservation; the last one, the devices."""
        freed = without_consumer(claim, pod)
        if freed is not claim:
            self.mirror.wrote(await self.cluster.update(freed, "status"))

    async def drop(self, claim: ResourceClaim, pod: Pod) -> None:
        """A special claim of a failed attempt: the next one makes another (KEP-5004)."""
        await self.give_back(claim, pod)
        await self.cluster.delete(Ref.to(claim), uid=claim.metadata.uid)

    # --- one write -------------------------------------------------------------------------------

    async def _create(self, write: CreateClaim) -> None:
        self.mirror.wrote(await self.cluster.create(write.claim))

    async def _allocate(
        self, write: WriteAllocation, added: Sequence[AddReservation], uids: Uids
    ) -> None:
        claim = self._claim(write.claim, uids)
        if claim.metadata.deletion_timestamp is not None:
            raise Conflict(f"claim {write.claim} is being deleted")
        if claim.status.allocation is not None:
            raise Conflict(f"claim {write.claim} got allocated elsewhere in the meantime")
        prepared = _prepared(claim, write.drawn)
        allocation = msgspec.structs.replace(
            write.allocation, allocation_timestamp=stamps.seconds(self.now())
        )
        consumers = (*claim.status.reserved_for, *(each.consumer for each in added))
        status = msgspec.structs.replace(
            claim.status, allocation=allocation, reserved_for=consumers
        )
        given = msgspec.structs.replace(prepared, status=status)
        if prepared is claim:
            await self._update(given, "status")
        else:
            self.mirror.wrote(await self.cluster.update_both(given))

    async def _reserve(self, write: AddReservation, uids: Uids) -> None:
        claim = self._claim(write.claim, uids)
        if write.consumer in claim.status.reserved_for:
            return
        if claim.status.allocation is None or claim.metadata.deletion_timestamp is not None:
            raise Conflict(f"claim {write.claim} was released in the meantime")
        consumers = (*claim.status.reserved_for, write.consumer)
        status = msgspec.structs.replace(claim.status, reserved_for=consumers)
        await self._update(msgspec.structs.replace(claim, status=status), "status")

    async def _record(self, write: RecordInPod, uids: Uids) -> None:
        pod = self._pod(write.pod, uids)
        status = msgspec.structs.replace(
            pod.status,
            extended_resource_claim_status=write.extended,
            node_allocatable_resource_claim_statuses=write.natives,
        )
        changed = msgspec.structs.replace(pod, status=status)
        if changed != pod:
            self.mirror.wrote(await self.cluster.update(changed, "status"))

    async def _bind(self, write: BindPod, uids: Uids) -> None:
        pod = self._pod(write.pod, uids)
        await self.cluster.bind(Ref.to(pod), pod.metadata.uid, write.node)
        # Seen before the flight ends, so that nobody decides on the Pod again.
        await self.confirm((Ref.to(pod),))

    # --- devices that have to be made ready (KEP-5007) -------------------------------------------

    async def until_ready(self, key: Key, writes: Sequence[Write], uids: Uids) -> None:
        """Wait for the conditions that devices must have before their Pod is bound. Raises Failed,
        and the exceptions of `client.cluster`."""
        fresh = {write.claim for write in writes if isinstance(write, WriteAllocation)}
        clock = asyncio.get_running_loop().time
        started = clock()
        while True:
            awaited = False
            pod = self._pod(key, uids)
            for claim in self._used(pod, writes):
                if claim.status.allocation is None or not claims.is_reserved(claim, pod):
                    raise Conflict(f"claim {Ref.to(claim)} was released in the meantime")
                # What we allocated just now is as old as our own wait, whatever the clock says.
                is_late = clock() - started > self.patience_s
                if key_of(claim.metadata) not in fresh:
                    is_late = is_late or self._is_late(claim)
                for result in claim.status.allocation.devices.results:
                    found = binding.wait(claim, result)
                    if found.failed or (found.awaited and is_late):
                        raise Failed(f"device {result.device} {binding.text_of(found)}")
                    awaited = awaited or bool(found.awaited)
            if not awaited:
                return
            await asyncio.sleep(POLL_S)

    def _is_late(self, claim: ResourceClaim) -> bool:
        allocation = claim.status.allocation
        since = allocation.allocation_timestamp if allocation is not None else None
        return since is not None and self.now() - stamps.read(since) > self.patience_s

    def _used(self, pod: Pod, writes: Iterable[Write]) -> Iterable[ResourceClaim]:
        given = WriteAllocation | AddReservation
        names = {write.claim for write in writes if isinstance(write, given)}
        names.update(Key(pod.metadata.namespace, each) for each in claim_names(pod))
        return [self._claim(name, {}) for name in sorted(names)]

    # --- what it is written on -------------------------------------------------------------------

    def _claim(self, key: Key, uids: Uids) -> ResourceClaim:
        ref = Ref(CLAIMS, key.namespace, key.name)
        found = self.mirror.get(ref)
        if not isinstance(found, ResourceClaim) or not _is_same(found, ref, uids):
            raise Missing(f"claim {key} got deleted in the meantime")
        return found

    def _pod(self, key: Key, uids: Uids) -> Pod:
        ref = Ref(PODS, key.namespace, key.name)
        found = self.mirror.get(ref)
        if not isinstance(found, Pod) or not _is_same(found, ref, uids) or not pods.is_open(found):
            raise Missing(f"pod {key} needs no node any more")
        return found

    async def _update(self, claim: ResourceClaim, door: str = "") -> ResourceClaim:
        written = await self.cluster.update(claim, door)
        assert isinstance(written, ResourceClaim), "a claim stays a claim"
        self.mirror.wrote(written)
        return written


def _prepared(claim: ResourceClaim, drawn: str) -> ResourceClaim:
    """With the finalizer, and with what is remembered of counters: nothing is given without."""
    metadata = claim.metadata
    if claims.FINALIZER not in metadata.finalizers:
        metadata = msgspec.structs.replace(
            metadata, finalizers=(*metadata.finalizers, claims.FINALIZER)
        )
    if metadata.annotations.get(records.ANNOTATION, "") != drawn:
        known = {**metadata.annotations, records.ANNOTATION: drawn}
        if not drawn:
            del known[records.ANNOTATION]
        metadata = msgspec.structs.replace(metadata, annotations=known)
    if metadata is claim.metadata:
        return claim
    return msgspec.structs.replace(claim, metadata=metadata)


def _is_same(found: Known, ref: Ref, uids: Uids) -> bool:
    return found.metadata.uid == uids.get(ref, found.metadata.uid)


def claim_names(pod: Pod) -> frozenset[str]:
    """The claims that a Pod names, in its spec or its status."""
    entries = [each.resource_claim_name for each in pod.spec.resource_claims]
    entries += [each.resource_claim_name for each in pod.status.resource_claim_statuses]
    if (special := pod.status.extended_resource_claim_status) is not None and pod.spec.node_name:
        # Before it is bound, what it says there is of an attempt that may have failed.
        entries.append(special.resource_claim_name)
    return frozenset(each for each in entries if each)


def without_consumer(claim: ResourceClaim, pod: Pod) -> ResourceClaim:
    """The claim without the Pod (or its group) among its consumers, and without devices when
    none is left; or the same value."""
    kept = tuple(each for each in claim.status.reserved_for if not claims.is_reserved_by(each, pod))
    return release.released(claim, lambda reference: reference in kept)
