"""Claims whose consumers are gone: freed, unprotected, and deleted if they were made for one.

Source: resourceclaim controller of kube-controller-manager (syncClaim).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from dibs.client.cluster import Cluster, Ref
from dibs.control import carrying, evicting
from dibs.control.mirror import Mirror
from dibs.model import kinds
from dibs.model.core import Pod
from dibs.model.kinds import Known
from dibs.model.objects import ResourceClaim, ResourceClaimConsumerReference
from dibs.model.workloads import PodGroup
from dibs.schedule import release

CLAIMS, PODS, GROUPS = (kinds.BY_NAME[key] for key in (
    (kinds.GROUP, "ResourceClaim"), ("", "Pod"), ("scheduling.k8s.io", "PodGroup"),
))  # fmt: skip


@dataclass(slots=True)
class Releasing:
    """Keys are claims. `is_busy` says of which the scheduler is writing: it makes them whole, and
    has us called when that is over (`World.when_landed`)."""

    cluster: Cluster
    mirror: Mirror
    is_busy: Callable[[Ref], bool] = lambda ref: False
    name: str = "releasing"
    # Claims by the namespace and name of who uses or owns them.
    _users: dict[tuple[str, str], dict[Ref, None]] = field(default_factory=dict)

    def concerned(self, before: Known | None, after: Known | None) -> Iterable[Ref]:
        match after or before:
            case ResourceClaim():
                self._index(before, after)
                if after is not None:
                    yield Ref.to(after)
            case Pod() as pod:
                # Only the end of a Pod frees anything.
                is_over = after is None or not release.needs(pod, pod.metadata.uid)
                if is_over or (before is not None and before.metadata.uid != pod.metadata.uid):
                    yield from self._of(pod.metadata.namespace, pod.metadata.name)
                    # Those that it has through its group too.
                    for each in (before, after):
                        if isinstance(each, Pod):
                            yield from (
                                Ref(CLAIMS, each.metadata.namespace, name)
                                for name in sorted(carrying.claim_names(each))
                            )
            case PodGroup() as group if after is None:
                yield from self._of(group.metadata.namespace, group.metadata.name)

    def _of(self, namespace: str, name: str) -> Iterable[Ref]:
        """Claims that a Pod or group of this name uses, or that were made for it."""
        return tuple(self._users.get((namespace, name), ()))

    def _index(self, before: Known | None, after: Known | None) -> None:
        for claim, is_now in ((before, False), (after, True)):
            if not isinstance(claim, ResourceClaim):
                continue
            ref = Ref.to(claim)
            for name in _names(claim):
                claims = self._users.setdefault((ref.namespace, name), {})
                if is_now:
                    claims[ref] = None
                else:
                    claims.pop(ref, None)
                    if not claims:
                        del self._users[ref.namespace, name]

    async def tend(self, ref: Ref) -> float | None:
        claim = self.mirror.get(ref)
        if not isinstance(claim, ResourceClaim):
            return None
        if self.is_busy(ref):
            return None
        gone = await self._gone(claim)
        freed = release.released(claim, lambda reference: reference not in gone)
        bare = release.unprotected(freed)
        if bare is not claim:
            claim = self._seen(await self._written(claim, freed, bare))
        if claim.metadata.deletion_timestamp is not None:
            # Whoever deletes it has seen to that; without the finalizer it is gone by now.
            return None
        if release.is_orphan(claim, await self._owner(claim)):
            await self.cluster.delete(ref, uid=claim.metadata.uid)
        return None

    async def _written(
        self, claim: ResourceClaim, freed: ResourceClaim, bare: ResourceClaim
    ) -> Known:
        if bare is freed:
            return await self.cluster.update(freed, "status")
        if freed is claim:
            return await self.cluster.update(bare)
        # First it has no devices, then nothing protects it.
        return await self.cluster.update_both(bare, status_first=True)

    def _seen(self, written: Known) -> ResourceClaim:
        assert isinstance(written, ResourceClaim), "a claim stays a claim"
        if written.metadata.deletion_timestamp is None or written.metadata.finalizers:
            self.mirror.wrote(written)
        return written

    async def _gone(self, claim: ResourceClaim) -> frozenset[ResourceClaimConsumerReference]:
        """The consumers that need the claim no more; of other kinds than ours nobody knows."""
        namespace = claim.metadata.namespace
        found = set()
        for reference in claim.status.reserved_for:
            if release.is_pod(reference):
                pod = await self._pod(Ref(PODS, namespace, reference.name), reference.uid)
                if not release.needs(pod, reference.uid):
                    found.add(reference)
            elif release.is_group(reference):
                group = await self._sure(Ref(GROUPS, namespace, reference.name), reference.uid)
                # Who runs on the devices keeps them, though the group is gone.
                if group is None and not any(evicting.users(claim, self.mirror, going=True)):
                    found.add(reference)
        return frozenset(found)

    async def _owner(self, claim: ResourceClaim) -> Pod | None:
        for owner in claim.metadata.owner_references:
            if owner.controller and owner.kind == "Pod":
                return await self._pod(Ref(PODS, claim.metadata.namespace, owner.name), owner.uid)
        return None

    async def _pod(self, ref: Ref, uid: str) -> Pod | None:
        found = await self._sure(ref, uid)
        return found if isinstance(found, Pod) else None

    async def _sure(self, ref: Ref, uid: str) -> Known | None:
        """The object with this uid. What isn't in the mirror, or is there with another uid, may
        only be late: devices in use must not be given away."""
        known = self.mirror.get(ref)
        if known is None or known.metadata.uid != uid:
            known = await self.cluster.get(ref)
        return known if known is not None and known.metadata.uid == uid else None


def _names(claim: ResourceClaim) -> frozenset[str]:
    """Who uses the claim or owns it, by name."""
    users = (each.name for each in claim.status.reserved_for)
    return frozenset((*users, *(each.name for each in claim.metadata.owner_references)))
