"""Claims that Pods want made from templates: made, and named in the status of the Pod.

Names follow from the Pod's, so that a claim whose making was not heard of is met again and not
made twice. Source: resourceclaim controller of kube-controller-manager; KEP-4381, KEP-5729.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from dibs.client.cluster import Cluster, Conflict, Forbidden, Ref
from dibs.control import telling
from dibs.control.mirror import Mirror
from dibs.control.world import World
from dibs.model import kinds
from dibs.model.core import Pod, PodResourceClaimStatus
from dibs.model.kinds import Known
from dibs.model.objects import ResourceClaim, ResourceClaimTemplate
from dibs.model.workloads import PodGroup
from dibs.schedule import claims, groups, pods, writes
from dibs.schedule.plan import ClaimUse, Objection
from dibs.schedule.snapshot import Key, key_of
from dibs.values.mistake import Mistake

PODS = kinds.BY_NAME["", "Pod"]
# A template, or a group, that isn't there calls its Pods when it comes.
LOOK_AGAIN_S = 60.0
# A Pod that is gone, and that we have not heard of yet.
GONE_S = 5.0


@dataclass(slots=True)
class Making:
    """Keys are Pods. `now` is seconds since 1970."""

    cluster: Cluster
    mirror: Mirror
    world: World
    now: Callable[[], float]
    name: str = "making"
    # Pods by the template or group that they lack.
    _lacking: dict[tuple[str, Key], dict[Ref, None]] = field(default_factory=dict)
    # Whom claims were made for already, by uid: one that is gone since is asked about first.
    _served: dict[Ref, str] = field(default_factory=dict)
    # What was last complained of, by Pod: once is enough.
    _told: dict[Ref, str] = field(default_factory=dict)

    def concerned(self, before: Known | None, after: Known | None) -> Iterable[Ref]:
        match after or before:
            case Pod() as pod if wants_any(pod):
                if after is None:
                    self._told.pop(Ref.to(pod), None)
                    self._served.pop(Ref.to(pod), None)
                yield Ref.to(pod)
            case ResourceClaim() as claim if after is None:
                # Deleted while its Pod still waits for it: it is made anew.
                for owner in claim.metadata.owner_references:
                    if owner.controller and owner.kind == "Pod":
                        yield Ref(PODS, claim.metadata.namespace, owner.name)
            case ResourceClaimTemplate() | PodGroup() as lacked if before is None:
                kind = kinds.of(lacked).name
                yield from self._lacking.pop((kind, key_of(lacked.metadata)), ())

    async def tend(self, ref: Ref) -> float | None:
        pod = self.mirror.get(ref)
        if not isinstance(pod, Pod) or not wants_any(pod) or not is_waiting(pod):
            self._served.pop(ref, None)
            self._told.pop(ref, None)
            self.world.cannot_make(Key(ref.namespace, ref.name), "")
            for key in [key for key, pods_ in self._lacking.items() if ref in pods_]:
                self._lack_no_more(key, ref)
            return None
        try:
            resolved = claims.of_pod(pod, self.world.snapshot)
        except Mistake as mistake:
            await self._complain(pod, str(mistake))
            return None
        made: dict[str, str] = {}
        for use in resolved.uses:
            if not use.template:
                continue
            made[use.entry] = use.claim.metadata.name
            if use.is_new and not await self._is_there(pod):
                return GONE_S
            if use.is_new:
                await self._make(pod, use)
            await self._record_in_group(use)
        self.world.cannot_make(key_of(pod.metadata), "")
        self._served[ref] = pod.metadata.uid
        await self._record(pod, made)
        if pod.spec.node_name:
            await self._reserve(pod, resolved.uses)
        lacks = [each for each in resolved.objections if each.about in ("template", "group")]
        if not lacks:
            return None
        await self._complain(pod, "; ".join(each.text for each in lacks))
        self._remember(pod, ref, lacks)
        return LOOK_AGAIN_S

    async def _is_there(self, pod: Pod) -> bool:
        """A claim that is gone may have gone with its Pod, and only we have not heard of that: to
        make it again would go on until we do."""
        ref = Ref.to(pod)
        if self._served.get(ref) != pod.metadata.uid:
            return True
        found = await self.cluster.get(ref)
        return found is not None and found.metadata.uid == pod.metadata.uid

    async def _make(self, pod: Pod, use: ClaimUse) -> None:
        wanted = writes.unallocated(use.claim)
        try:
            created = await self.cluster.create(wanted)
        except Conflict:
            # Somebody has a claim of that name. If it is ours, we shall see it in a moment.
            found = await self.cluster.get(Ref.to(wanted))
            if found is not None:
                self.mirror.wrote(found)
            raise
        except Forbidden as refused:
            self.world.cannot_make(key_of(pod.metadata), str(refused))
            await self._complain(pod, str(refused))
            raise
        self.mirror.wrote(created)

    async def _record_in_group(self, use: ClaimUse) -> None:
        """Name the claim in the status of the group that it is for, whoever made it."""
        found = use.group and self.mirror.get(Ref.to(use.group))
        if isinstance(found, PodGroup):
            changed = groups.recording(found, use.entry, use.claim.metadata.name)
            if changed != found:
                self.mirror.wrote(await self.cluster.update(changed, "status"))

    async def _reserve(self, pod: Pod, uses: Iterable[ClaimUse]) -> None:
        """For a Pod that came to its node without the scheduler: of what is allocated."""
        for use in uses:
            claim = self.mirror.get(Ref.to(use.claim))
            if (
                isinstance(claim, ResourceClaim)
                and claim.status.allocation is not None
                and not self.world.is_in_flight(Ref.to(claim))
                and not claims.usable(claim, pod)
                and not claims.is_reserved(claim, pod)
            ):
                reserved = writes.reserved(claim, pod, use.group)
                self.mirror.wrote(await self.cluster.update(reserved, "status"))

    async def _record(self, pod: Pod, made: dict[str, str]) -> None:
        """Name the claims of all entries in the Pod's status, in the order of its spec."""
        known = {each.name: each for each in pod.status.resource_claim_statuses}
        statuses = [
            PodResourceClaimStatus(name=entry.name, resource_claim_name=made[entry.name])
            if entry.name in made
            else known[entry.name]
            for entry in pod.spec.resource_claims
            if entry.name in made or entry.name in known
        ]
        if tuple(statuses) == pod.status.resource_claim_statuses:
            return
        told = [
            {"name": each.name, "resourceClaimName": each.resource_claim_name} for each in statuses
        ]
        patch = {
            "metadata": {"uid": pod.metadata.uid},
            "status": {"resourceClaimStatuses": told},
        }
        self.mirror.wrote(await self.cluster.patch(Ref.to(pod), patch, "status"))

    def _remember(self, pod: Pod, ref: Ref, lacks: Iterable[Objection]) -> None:
        namespace = key_of(pod.metadata).namespace
        for against in lacks:
            if against.about == "group" and (group := groups.key_of_pod(pod)) is not None:
                self._lacking.setdefault(("PodGroup", group), {})[ref] = None
        for entry in pod.spec.resource_claims:
            if template := entry.resource_claim_template_name:
                lacked = ("ResourceClaimTemplate", Key(namespace, template))
                if lacked[1] not in self.world.snapshot.templates:
                    self._lacking.setdefault(lacked, {})[ref] = None

    def _lack_no_more(self, key: tuple[str, Key], ref: Ref) -> None:
        self._lacking[key].pop(ref)
        if not self._lacking[key]:
            del self._lacking[key]

    async def _complain(self, pod: Pod, text: str) -> None:
        ref = Ref.to(pod)
        if self._told.get(ref) == text:
            return
        self._told[ref] = text
        await self.cluster.report(
            telling.event(pod, self.now(), "FailedResourceClaimCreation", text, "Warning")
        )


def wants_any(pod: Pod) -> bool:
    """Whether claims are to be made for it, or reserved because the scheduler passed it by."""
    return any(
        entry.resource_claim_template_name or pod.spec.node_name
        for entry in pod.spec.resource_claims
    )


def is_waiting(pod: Pod) -> bool:
    """Whether claims are still made for it: not once it runs, is done, or on its way out."""
    return (
        not pods.is_done(pod)
        and pod.metadata.deletion_timestamp is None
        and pod.status.phase in ("", "Pending")
    )
