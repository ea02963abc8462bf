"""The scheduler's loop: takes a Pod from the queue, decides, and has it carried out.

One Pod is decided on at a time, on a State that has all earlier decisions in it; their writes are
under way at the same time. What can't be placed is told why, and waits for something to happen.
Source: kube-scheduler; spec of DynamicResources (Reserve, PreBind, PostFilter).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import assert_never

from dibs.client.cluster import Cluster, Conflict, Forbidden, Missing, Ref, Unreachable
from dibs.control import carrying, telling
from dibs.control.carrying import Hand
from dibs.control.mirror import Mirror
from dibs.control.queueing import Queue, Rank
from dibs.control.world import World
from dibs.model.core import Namespace, Node, Pod
from dibs.model.kinds import Known
from dibs.model.objects import (
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourcePoolStatusRequest,
    ResourceSlice,
)
from dibs.model.workloads import PodGroup, Workload
from dibs.schedule import pods, writes
from dibs.schedule.plan import Broken, Decision, Placed, Settled, Subject, Waits, Write
from dibs.schedule.snapshot import Key, key_of
from dibs.values.mistake import Mistake
from dibs.view import brief

LOG = logging.getLogger("dibs.control")
CLAIMS, PODS = carrying.CLAIMS, carrying.PODS
# Pods of other schedulers are theirs.
NAMES = ("", "default-scheduler", "dibs")
# Decisions whose writes are under way at once.
MOST_FLIGHTS = 64
# Reasons cost more than decisions: a Pod that waits on is told anew only after so long.
TELL_AGAIN_S = 10.0
# Between two looks at whether an object has come to be as it was written.
CONFIRM_S = 1.0


@dataclass(slots=True)
class Scheduling:
    """`now` is seconds since 1970; `clock` seconds that only go forward."""

    cluster: Cluster
    mirror: Mirror
    world: World
    hand: Hand
    now: Callable[[], float]
    clock: Callable[[], float]
    queue: Queue = field(default_factory=Queue)
    _wakeup: asyncio.Event = field(default_factory=asyncio.Event)
    _flights: set[asyncio.Task[None]] = field(default_factory=set)
    # The last decision under way that concerns an object: the next one waits for it.
    _last: dict[Ref, asyncio.Task[None]] = field(default_factory=dict)
    _told_at: dict[Key, float] = field(default_factory=dict)

    @property
    def is_idle(self) -> bool:
        """Whether nobody is being decided on, and nothing decided is under way."""
        return not self._flights and not self._wakeup.is_set()

    def remembered(self) -> list[str]:
        """What is under way, and what is kept of Pods that are not in the queue."""
        under_way = [*map(str, self._last), *map(str, self.world.in_flight())]
        return under_way + [str(key) for key in self._told_at if key not in self.queue]

    # --- what happens ----------------------------------------------------------------------------

    def changed(self, before: Known | None, after: Known | None) -> None:
        """Told by the mirror, after the world."""
        match after or before:
            case Pod() as pod:
                self._pod_changed(before, after, pod)
            case ResourceClaim() as claim:
                self._claim_changed(before, after, claim)
            case Node() | ResourceSlice() | DeviceClass() | DeviceTaintRule() | PodGroup():
                # What is gone helps nobody, but for taints.
                if after is not None or isinstance(before, DeviceTaintRule):
                    self._wake_all()
            case Namespace() | ResourceClaimTemplate() | Workload() | ResourcePoolStatusRequest():
                return
            case None:
                return
            case never:
                assert_never(never)

    def _pod_changed(self, before: Known | None, after: Known | None, pod: Pod) -> None:
        key = key_of(pod.metadata)
        if after is None or not is_ours(pod):
            self._forget(key)
            was_there = isinstance(before, Pod) and before.spec.node_name
            if was_there and (after is None or pods.is_done(pod)):
                # What it took of its node is free again.
                self._wake_all()
            return
        if not isinstance(before, Pod) or is_news(before, pod):
            created = pod.metadata.creation_timestamp or ""
            self.queue.add(Rank.of(key, pod.spec.priority or 0, created))
            self._wakeup.set()

    def _claim_changed(
        self, before: Known | None, after: Known | None, claim: ResourceClaim
    ) -> None:
        was_held = isinstance(before, ResourceClaim) and before.status.allocation is not None
        is_held = isinstance(after, ResourceClaim) and after.status.allocation is not None
        if was_held and not is_held:
            self._wake_all()
            return
        namespace = claim.metadata.namespace
        for user in self._waiting_for(claim):
            self.queue.wake(Key(namespace, user), self.clock())
            self._wakeup.set()

    def _waiting_for(self, claim: ResourceClaim) -> set[str]:
        """Names of the parked Pods that use this claim."""
        namespace, name = claim.metadata.namespace, claim.metadata.name
        owners = {each.name for each in claim.metadata.owner_references}
        found = set()
        for key in self.queue.parked():
            pod = self.world.snapshot.pods.get(key) if key.namespace == namespace else None
            if pod is not None and (key.name in owners or name in carrying.claim_names(pod)):
                found.add(key.name)
        return found

    def _wake_all(self) -> None:
        now = self.clock()
        for key in self.queue.parked():
            self.queue.wake(key, now)
        self._wakeup.set()

    def _forget(self, key: Key) -> None:
        self.queue.drop(key)
        self._told_at.pop(key, None)

    # --- deciding --------------------------------------------------------------------------------

    async def run(self) -> None:
        """Schedule until cancelled; what is under way then is left to the next start."""
        try:
            while True:
                key = self.queue.take(self.clock())
                if key is None:
                    await self._rest()
                    continue
                try:
                    await self._decide(key)
                except Exception:  # a bug with one Pod must not stop all others
                    LOG.exception("%s can't be decided on", key)
                    self.queue.fail(key, self.clock())
                # Others of this process have their turn between two decisions.
                await asyncio.sleep(0)
        finally:
            for flight in self._flights:
                flight.cancel()

    async def _rest(self) -> None:
        self._wakeup.clear()
        due = self.queue.next_due()
        wait_s = None if due is None else max(due - self.clock(), 0.0)
        try:
            async with asyncio.timeout(wait_s):
                await self._wakeup.wait()
        except TimeoutError:
            return

    async def _decide(self, key: Key) -> None:
        pod = self.world.snapshot.pods.get(key)
        if pod is None or not is_ours(pod):
            self._forget(key)
            return
        try:
            decision = pods.decide(self.world.state, Subject("Pod", key))
        except Mistake as mistake:
            await self._tell(pod, "SchedulerError", str(mistake))
            self.queue.fail(key, self.clock())
            return
        match decision:
            case Placed() if not is_made(decision):
                # Its claims are on their way, and call it when they are there.
                self.queue.fail(key, self.clock())
            case Placed():
                await self._launch(key, decision)
            case Waits():
                await self._wait(pod, decision)
            case Broken():
                await self._tell(pod, "SchedulerError", decision.failed.message)
                self.queue.fail(key, self.clock())
            case Settled():
                self._forget(key)
            case _:
                assert_never(decision)

    async def _wait(self, pod: Pod, waits: Waits) -> None:
        key = key_of(pod.metadata)
        if not is_made(waits):
            self.queue.fail(key, self.clock())
            return
        if (claim := self._in_the_way(pod, waits)) is not None:
            # It has devices where the Pod can't go, and could go with others (PostFilter).
            try:
                await self.hand.release(claim)
            except (Conflict, Missing, Unreachable, Forbidden) as fault:
                LOG.info("%s: claim %s is not released: %s", key, claim.metadata.name, fault)
            self.queue.rest(key, self.clock())
            return
        is_gated = any(each.about == "gate" for each in waits.objections)
        if self._is_due(key):
            reason: telling.Reason = "SchedulingGated" if is_gated else "Unschedulable"
            await self._tell(pod, reason, brief.of(waits))
        self.queue.fail(key, self.clock())

    def _in_the_way(self, pod: Pod, waits: Waits) -> ResourceClaim | None:
        """A claim whose devices keep its only Pod from being placed anywhere: it is tried."""
        for use in waits.claims:
            claim = use.claim
            if claim.status.allocation is None or use.is_new or self._is_shared(claim, pod):
                continue
            bare = carrying.without_devices(claim)
            state = self.world.state.with_object(bare)
            if isinstance(pods.decide(state, waits.subject), Placed):
                return claim
        return None

    def _is_shared(self, claim: ResourceClaim, pod: Pod) -> bool:
        ref = Ref.to(claim)
        others = [each for each in claim.status.reserved_for if each.uid != pod.metadata.uid]
        return bool(others) or self.world.is_in_flight(ref)

    # --- carrying out ----------------------------------------------------------------------------

    async def _launch(self, key: Key, decision: Placed) -> None:
        while len(self._flights) >= MOST_FLIGHTS:
            await asyncio.wait(self._flights, return_when=asyncio.FIRST_COMPLETED)
        before = self.world.state
        todo = writes.of(decision, before)
        refs = tuple(concerned(decision))
        self.world.decided(decision, refs)
        ahead = {self._last[ref] for ref in refs if ref in self._last}
        flight = asyncio.create_task(
            self._fly(key, decision, todo, refs, ahead), name=f"bind {key}"
        )
        self._flights.add(flight)
        self._last.update(dict.fromkeys(refs, flight))
        flight.add_done_callback(self._landed)

    def _landed(self, flight: asyncio.Task[None]) -> None:
        self._flights.discard(flight)
        for ref in [ref for ref, last in self._last.items() if last is flight]:
            del self._last[ref]

    async def _fly(
        self,
        key: Key,
        decision: Placed,
        todo: list[Write],
        refs: tuple[Ref, ...],
        ahead: set[asyncio.Task[None]],
    ) -> None:
        if ahead:
            # Pods that share a claim: what is reserved must have been allocated.
            await asyncio.wait(ahead)
        fault: Exception | None = None
        try:
            await self.hand.carry_out(todo)
        except (Conflict, Missing, Unreachable, Forbidden, carrying.Failed) as found:
            fault = found
        if fault is not None:
            await self._confirm(refs)
        self.world.landed(refs)
        pod = self.world.snapshot.pods.get(key)
        if fault is None:
            self._forget(key)
            if pod is not None:
                text = f"Successfully assigned {key} to {decision.node}"
                await self.cluster.report(telling.event(pod, self.now(), "Scheduled", text))
            return
        LOG.info("%s: not bound to %s: %s", key, decision.node, fault)
        self.queue.rest(key, self.clock())
        self._wakeup.set()
        if pod is not None and isinstance(fault, Forbidden | carrying.Failed):
            await self._tell(pod, "SchedulerError", str(fault))
            if isinstance(fault, carrying.Failed):
                await self._give_up(decision)

    async def _confirm(self, refs: tuple[Ref, ...]) -> None:
        """Until it is known how the objects stand, their devices are given to nobody."""
        while True:
            try:
                await self.hand.confirm(refs)
                return
            except Unreachable:
                await asyncio.sleep(CONFIRM_S)

    async def _give_up(self, decision: Placed) -> None:
        """Free devices that can't be made ready, so that the next try may take others."""
        for use in decision.claims:
            found = self.mirror.get(Ref.to(use.claim))
            if use.is_fresh and isinstance(found, ResourceClaim):
                try:
                    await self.hand.release(found)
                except (Conflict, Missing, Unreachable, Forbidden) as fault:
                    LOG.info("claim %s is not released: %s", key_of(found.metadata), fault)

    # --- telling ---------------------------------------------------------------------------------

    def _is_due(self, key: Key) -> bool:
        now = self.clock()
        if now - self._told_at.get(key, -TELL_AGAIN_S) < TELL_AGAIN_S:
            return False
        self._told_at[key] = now
        return True

    async def _tell(self, pod: Pod, reason: telling.Reason, text: str) -> None:
        """Write into the Pod's status why it waits, and an event, if that is news."""
        patch = telling.unscheduled(pod, self.now(), reason, text)
        if patch is None:
            return
        try:
            self.mirror.wrote(await self.cluster.patch(Ref.to(pod), patch, "status"))
        except (Conflict, Missing, Unreachable, Forbidden) as fault:
            # It is told the next time; what changed meanwhile will have called the Pod.
            LOG.debug("%s: %s", key_of(pod.metadata), fault)
            return
        kind = "FailedScheduling"
        await self.cluster.report(telling.event(pod, self.now(), kind, text, "Warning"))


def is_ours(pod: Pod) -> bool:
    """Whether this scheduler decides on it, now."""
    is_leaving = pod.metadata.deletion_timestamp is not None
    return pods.is_open(pod) and not is_leaving and pod.spec.scheduler_name in NAMES


def is_news(before: Pod, pod: Pod) -> bool:
    """Whether a change of a Pod may change what is decided: not what we tell it ourselves."""
    return (
        before.spec != pod.spec
        or before.metadata.labels != pod.metadata.labels
        or before.metadata.uid != pod.metadata.uid
        or before.status.resource_claim_statuses != pod.status.resource_claim_statuses
        or before.status.phase != pod.status.phase
    )


def is_made(decision: Decision) -> bool:
    """Whether all claims of templates are there (`making` makes them)."""
    return not any(use.is_new and use.template for use in decision.claims)


def concerned(decision: Placed) -> tuple[Ref, ...]:
    """The objects that a decision changes."""
    names = dict.fromkeys(key_of(use.claim.metadata) for use in decision.claims)
    pod = decision.subject.key
    return (
        Ref(PODS, pod.namespace, pod.name),
        *(Ref(CLAIMS, name.namespace, name.name) for name in names),
    )
