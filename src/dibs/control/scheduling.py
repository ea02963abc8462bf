"""The scheduler's loop: takes a Pod from the queue, decides, and has it carried out.

One Pod is decided on at a time, on a State that has all earlier decisions in it; their writes are
under way at the same time. What can't be placed is told why, and waits for something to happen.
Source: kube-scheduler; spec of DynamicResources (Reserve, PreBind, PostFilter).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import assert_never

from dibs.client.cluster import Cluster, Conflict, Forbidden, Missing, Ref, Unreachable
from dibs.control import carrying, evicting, telling
from dibs.control.carrying import Hand
from dibs.control.flying import Flights, Landing
from dibs.control.informing import Informing
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
from dibs.schedule import extended, groups, pods
from dibs.schedule.plan import Broken, Decision, Placed, Settled, Subject, Waits
from dibs.schedule.snapshot import Key, key_of
from dibs.schedule.state import is_alike
from dibs.values.mistake import Mistake
from dibs.view import brief, words

LOG = logging.getLogger("dibs.control")
CLAIMS, PODS = carrying.CLAIMS, carrying.PODS
# Pods of other schedulers are theirs.
NAMES = ("", "default-scheduler", "dibs")


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
    _flights: Flights = field(init=False)
    # The claims that Pods name which are to be decided on, and these Pods by claim.
    _named: dict[Key, frozenset[str]] = field(default_factory=dict)
    _users: dict[Key, dict[Key, None]] = field(default_factory=dict)
    _wakeup: asyncio.Event = field(default_factory=asyncio.Event)
    _informing: Informing = field(init=False)

    def __post_init__(self) -> None:
        self._flights = Flights(self.world, self.hand, self._landed)
        self._informing = Informing(self.cluster, self.mirror, self.now, self.clock)
        self.world.when_unmakable(self._call)

    @property
    def is_idle(self) -> bool:
        """Whether nobody is being decided on, and nothing decided is under way."""
        return not self._flights and not self._wakeup.is_set()

    def remembered(self) -> list[str]:
        """What is under way, and what is kept of Pods that are not in the queue."""
        under_way = [f"{ref} is in flight" for ref in self.world.in_flight()]
        known = sorted(self._informing.known())
        return under_way + [f"when {key} was told" for key in known if key not in self.queue]

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
                is_helpful = after is not None or isinstance(before, DeviceTaintRule)
                if is_helpful and not is_same_to_pods(before, after):
                    self._wake_all()
            case Namespace() | ResourceClaimTemplate() | Workload() | ResourcePoolStatusRequest():
                return
            case None:
                return
            case never:
                assert_never(never)

    def _pod_changed(self, before: Known | None, after: Known | None, pod: Pod) -> None:
        key = key_of(pod.metadata)
        is_open = after is not None and is_ours(pod)
        self._index(key, carrying.claim_names(pod) if is_open else frozenset())
        if not is_open:
            self._forget(key)
            was_there = isinstance(before, Pod) and before.spec.node_name
            if was_there and (after is None or pods.is_done(pod)):
                # What it took of its node is free again.
                self._wake_all()
            return
        if not isinstance(before, Pod) or is_news(before, pod):
            self.queue.add(rank_of(pod))
            self._wakeup.set()

    def _index(self, key: Key, claims: frozenset[str]) -> None:
        """Remember which claims a Pod names that is to be decided on."""
        before = self._named.pop(key, frozenset())
        if claims:
            self._named[key] = claims
        for name in sorted(before - claims):
            users = self._users[Key(key.namespace, name)]
            del users[key]
            if not users:
                del self._users[Key(key.namespace, name)]
        for name in sorted(claims - before):
            self._users.setdefault(Key(key.namespace, name), {})[key] = None

    def _claim_changed(
        self, before: Known | None, after: Known | None, claim: ResourceClaim
    ) -> None:
        was_held = isinstance(before, ResourceClaim) and before.status.allocation is not None
        is_held = isinstance(after, ResourceClaim) and after.status.allocation is not None
        if was_held and not is_held:
            self._wake_all()
            return
        for user in self._waiting_for(claim):
            self.queue.wake(user, self.clock())
            self._wakeup.set()

    def _waiting_for(self, claim: ResourceClaim) -> list[Key]:
        """The Pods that wait and use this claim, or own it."""
        owners = (each.name for each in claim.metadata.owner_references if each.kind == "Pod")
        users = self._users.get(key_of(claim.metadata), ())
        found = dict.fromkeys((*(Key(claim.metadata.namespace, name) for name in owners), *users))
        return [key for key in found if self.queue.is_waiting(key)]

    def _call(self, key: Key) -> None:
        """There is something to tell it."""
        self.queue.wake(key, self.clock())
        self._wakeup.set()

    def _wake_all(self) -> None:
        now = self.clock()
        for key in self.queue.waiting():
            self.queue.wake(key, now)
        self._wakeup.set()

    def _forget(self, key: Key) -> None:
        self.queue.drop(key)
        self._informing.forget(key)

    # --- deciding --------------------------------------------------------------------------------

    async def run(self) -> None:
        """Schedule until cancelled; what is under way then is left to the next start."""
        try:
            while True:
                for late in self._informing.take_due():
                    self.queue.wake(late, self.clock())
                await self._flights.turn()
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
            self._flights.cancel()

    async def _rest(self) -> None:
        self._wakeup.clear()
        dues = [self.queue.next_due(), self._informing.next_due]
        due = min((each for each in dues if each is not None), default=None)
        wait_s = None if due is None else max(due - self.clock(), 0.0)
        try:
            async with asyncio.timeout(wait_s):
                await self._wakeup.wait()
        except TimeoutError:
            return

    async def _decide(self, key: Key) -> None:
        pod = self.world.snapshot.pods.get(key)
        if self.world.is_in_flight(Ref(PODS, *key)):
            # One of that name before it is being bound still, and is called when it has landed.
            self.queue.rest(key, self.clock())
            return
        if pod is None or not is_ours(pod):
            self._forget(key)
            return
        try:
            decision = pods.decide(self.world.state, Subject("Pod", key))
        except Mistake as mistake:
            await self._refuse(pod, "SchedulerError", mistake.__str__)
            return
        match decision:
            case Placed() if is_made(decision, pod):
                self._flights.launch(key, decision)
            case Placed():
                # They call it when they are there; if that takes long, it is told.
                why = self.world.why_unmade(key)
                text = partial(unmade, decision, pod, why)
                await self._refuse(pod, "Unschedulable", text, is_patient=not why)
            case Waits():
                await self._wait(pod, decision)
            case Broken():
                if not await self._gives_back(pod, decision):
                    await self._refuse(pod, "SchedulerError", lambda: decision.failed.message)
            case Settled():
                self._forget(key)
            case _:
                assert_never(decision)

    async def _wait(self, pod: Pod, waits: Waits) -> None:
        """It can't be placed. So it holds nothing that others could use, and that may be what it
        needed: devices that are elsewhere (PostFilter)."""
        if await self._gives_back(pod, waits):
            return
        is_gated = any(each.about == "gate" for each in waits.objections)
        reason: telling.Reason = "SchedulingGated" if is_gated else "Unschedulable"
        await self._refuse(pod, reason, lambda: brief.of(waits), is_patient=not is_made(waits, pod))

    async def _gives_back(self, pod: Pod, decision: Waits | Broken | Placed) -> bool:
        """Return whether it held anything; then it is tried again, whether or not that could be
        given back."""
        found = False
        for claim in self._held(pod, decision):
            found = True
            if self.world.is_in_flight(Ref.to(claim)):
                continue
            try:
                if extended.is_special(claim):
                    await self.hand.drop(claim, pod)
                else:
                    await self.hand.give_back(claim, pod)
            except (Conflict, Missing, Unreachable, Forbidden) as fault:
                LOG.info("claim %s is not given back: %s", key_of(claim.metadata), fault)
        if found:
            self.queue.rest(key_of(pod.metadata), self.clock())
        return found

    def _held(self, pod: Pod, decision: Waits | Broken | Placed) -> list[ResourceClaim]:
        """The claims that are reserved for the Pod, though it has no node, or for its group,
        though none of its Pods has one; and special claims of failed attempts."""
        snapshot = self.world.snapshot
        used = {Ref.to(use.claim): None for use in decision.claims if not use.is_new}
        used |= {Ref.to(claim): None for claim in extended.claims_of(pod, snapshot)}
        claims = [found for ref in used if isinstance(found := self.mirror.get(ref), ResourceClaim)]
        return [
            claim
            for claim in claims
            if (extended.is_special(claim) and claim.metadata.deletion_timestamp is None)
            or (
                carrying.without_consumer(claim, pod) is not claim
                and not any(
                    groups.is_consumer(each, pod) and any(evicting.users(claim, self.mirror))
                    for each in claim.status.reserved_for
                )
            )
        ]

    # --- carrying out ----------------------------------------------------------------------------

    async def _landed(self, landing: Landing) -> None:
        key, decision, fault = landing.key, landing.decision, landing.fault
        pod = self.world.snapshot.pods.get(key)
        self._wakeup.set()
        if fault is not None:
            # What it was to have is free only now, whenever that was heard of.
            self._wake_all()
        if pod is None or not is_ours(pod):
            self._forget(key)
            if fault is None and pod is not None:
                text = f"Successfully assigned {key} to {decision.node}"
                await self.cluster.report(telling.event(pod, self.now(), "Scheduled", text))
            return
        # It failed, or there is another one of its name by now.
        LOG.info("%s: not bound to %s: %s", key, decision.node, fault)
        if key not in self.queue:
            self.queue.add(rank_of(pod))
        if isinstance(fault, Forbidden | carrying.Failed):
            await self._tell(pod, "SchedulerError", fault.__str__)
        if isinstance(fault, carrying.Failed):
            # So that the next try may take other devices.
            await self._gives_back(pod, decision)
        self.queue.rest(key, self.clock())
        self._wakeup.set()

    # --- telling ---------------------------------------------------------------------------------

    async def _refuse(
        self,
        pod: Pod,
        reason: telling.Reason,
        text: Callable[[], str],
        *,
        is_patient: bool = False,
    ) -> None:
        """It waits, and is told why; `is_patient` if that may well be over in a moment."""
        key = key_of(pod.metadata)
        is_early = self._informing.is_early(key, is_patient=is_patient)
        if is_early or await self._tell(pod, reason, text):
            self.queue.fail(key, self.clock())
        else:
            self.queue.rest(key, self.clock())

    async def _tell(self, pod: Pod, reason: telling.Reason, text: Callable[[], str]) -> bool:
        is_told = await self._informing.tell(pod, reason, text)
        if key_of(pod.metadata) not in self.queue:
            # It has gone meanwhile.
            self._informing.forget(key_of(pod.metadata))
        return is_told


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


def is_same_to_pods(before: Known | None, after: Known | None) -> bool:
    """Whether a change is none for who waits: nodes report themselves every few minutes, rules
    and groups have a status. Each time everybody who waits would be decided on."""
    if before is None or after is None:
        return False
    if isinstance(before, Node) and isinstance(after, Node):
        return is_alike(before, after)
    return getattr(before, "spec", None) == getattr(after, "spec", None)


def is_made(decision: Decision, pod: Pod) -> bool:
    """Whether all claims of templates are there, and the Pod's status names them (`making`): the
    node looks there."""
    return not any(_unmade(decision, pod))


def unmade(decision: Decision, pod: Pod, why: str) -> str:
    """`why` is what their maker was told, "" while it may still be making them."""
    entries = words.listed(tuple(_unmade(decision, pod)), 6)
    return f"waits for the claims of {entries}, which are not made{f': {why}' if why else ' yet'}"


def _unmade(decision: Decision, pod: Pod) -> Iterator[str]:
    named = {each.name: each.resource_claim_name for each in pod.status.resource_claim_statuses}
    for use in decision.claims:
        if use.template and (use.is_new or named.get(use.entry) != use.claim.metadata.name):
            yield use.entry


def rank_of(pod: Pod) -> Rank:
    created = pod.metadata.creation_timestamp or ""
    return Rank.of(key_of(pod.metadata), pod.spec.priority or 0, created)
