"""Requests for the status of pools: answered once, then kept for a while and cleared away.

A pool that is being published gets a little time; then the answer says what is missing. An answer
is of its moment: who wants a newer one asks anew.
Source: KEP-5677; resourcepoolstatusrequest controller of kube-controller-manager.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import msgspec

from dibs.api import stamps
from dibs.client.cluster import Cluster, Missing, Ref
from dibs.control.mirror import Mirror
from dibs.control.world import World
from dibs.model.kinds import Known
from dibs.model.meta import Condition
from dibs.model.objects import ResourcePoolStatusRequest, ResourcePoolStatusRequestStatus
from dibs.schedule import poolstatus

# How often an incomplete pool is looked at before that is told.
TRIES = 5
TRY_AGAIN_S = 1.0
ANSWERED_S = 3_600.0


@dataclass(slots=True)
class PoolStatusRequests:
    """Keys are requests."""

    cluster: Cluster
    mirror: Mirror
    world: World
    now: Callable[[], float]
    name: str = "pool status"
    _tries: dict[Ref, int] = field(default_factory=dict)

    def concerned(self, before: Known | None, after: Known | None) -> Iterable[Ref]:
        if isinstance(after, ResourcePoolStatusRequest):
            yield Ref.to(after)
        elif isinstance(before, ResourcePoolStatusRequest):
            self._tries.pop(Ref.to(before), None)

    async def tend(self, ref: Ref) -> float | None:
        request = self.mirror.get(ref)
        if not isinstance(request, ResourcePoolStatusRequest):
            return None
        if request.status is not None:
            return await self._clear(ref, request, ANSWERED_S)
        status = poolstatus.answer(request.spec, self.world.state)
        tries = self._tries[ref] = self._tries.get(ref, 0) + 1
        if not poolstatus.is_complete(status) and tries < TRIES:
            return TRY_AGAIN_S
        self._tries.pop(ref, None)
        status = msgspec.structs.replace(status, conditions=(self._condition(request, status),))
        answered = msgspec.structs.replace(request, status=status)
        self.mirror.wrote(await self.cluster.update(answered, "status"))
        return ANSWERED_S

    def _condition(
        self, request: ResourcePoolStatusRequest, status: ResourcePoolStatusRequestStatus
    ) -> Condition:
        count = len(status.pools)
        text = f"{count} of {status.pool_count} pools are told"
        if not status.pool_count:
            text = f"driver {request.spec.driver} publishes no such pool"
        return Condition(
            type="Complete",
            status="True",
            reason="Counted",
            message=text,
            last_transition_time=stamps.seconds(self.now()),
        )

    async def _clear(
        self, ref: Ref, request: ResourcePoolStatusRequest, keep_s: float
    ) -> float | None:
        """Delete it once it is old; its age is that of its answer."""
        since = request.metadata.creation_timestamp or ""
        if request.status is not None and request.status.conditions:
            since = request.status.conditions[0].last_transition_time or since
        left_s = stamps.read(since) + keep_s - self.now() if since else keep_s
        if left_s > 0:
            return left_s
        try:
            await self.cluster.delete(ref, uid=request.metadata.uid)
        except Missing:
            return None
        return None
