"""Pods whose devices are tainted NoExecute: told, marked and deleted, when their time is up.

A taint that vanishes before ends it. No disruption budget is asked. What a rule is about to do,
and has done, is in its status.
Source: device taint eviction controller of kube-controller-manager; KEP-5055.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import msgspec

from dibs.api import stamps
from dibs.client.cluster import Cluster, Conflict, Missing, Ref
from dibs.control import carrying, telling
from dibs.control.mirror import Mirror
from dibs.control.world import World
from dibs.model import kinds
from dibs.model.core import Pod
from dibs.model.kinds import Known
from dibs.model.meta import Condition
from dibs.model.objects import DeviceTaintRule, ResourceClaim, ResourceSlice
from dibs.schedule import eviction, groups, pods, release
from dibs.schedule.snapshot import Key

CLAIMS = kinds.BY_NAME[kinds.GROUP, "ResourceClaim"]
RULES = kinds.BY_NAME[kinds.GROUP, "DeviceTaintRule"]
PODS = kinds.BY_NAME["", "Pod"]

REASON = "DeletionByDeviceTaintManager"
MESSAGE = "Device Taint manager: deleting due to NoExecute taint"
# The longest a timer is set for: a clock that is set anew is noticed by then.
LONGEST_WAIT_S = 60.0
# A rule's status follows what happens, but not every single step.
SETTLE_S = 0.5
IN_PROGRESS = "EvictionInProgress"

Pool = tuple[str, str]


@dataclass(slots=True)
class Evicting:
    """Keys are claims. `now` is seconds since 1970."""

    cluster: Cluster
    mirror: Mirror
    world: World
    now: Callable[[], float]
    name: str = "evicting"
    _in_pool: dict[Pool, dict[Ref, None]] = field(default_factory=dict)

    def concerned(self, before: Known | None, after: Known | None) -> Iterable[Ref]:
        match after or before:
            case ResourceClaim():
                self._index(before, after)
                if isinstance(after, ResourceClaim) and after.status.allocation is not None:
                    yield Ref.to(after)
            case ResourceSlice() as slice_:
                if tainted(before) or tainted(after):
                    pool = (slice_.spec.driver, slice_.spec.pool.name)
                    yield from tuple(self._in_pool.get(pool, ()))
            case DeviceTaintRule():
                for each in (before, after):
                    if isinstance(each, DeviceTaintRule):
                        yield from self._selected(each)
            case Pod() as pod if before is None or pod.spec.node_name:
                # One that joined a claim whose time is up already.
                for name in sorted(carrying.claim_names(pod)):
                    yield Ref(CLAIMS, pod.metadata.namespace, name)

    def _selected(self, rule: DeviceTaintRule) -> Iterator[Ref]:
        claims = self.mirror.all(CLAIMS).values()
        held = (each for each in claims if isinstance(each, ResourceClaim))
        yield from map(Ref.to, eviction.selected(rule, held))

    def _index(self, before: Known | None, after: Known | None) -> None:
        for item, is_now in ((before, False), (after, True)):
            if isinstance(item, ResourceClaim):
                for pool in _pools_of(item):
                    refs = self._in_pool.setdefault(pool, {})
                    if is_now:
                        refs[Ref.to(item)] = None
                    else:
                        refs.pop(Ref.to(item), None)
                    if not refs:
                        del self._in_pool[pool]

    async def tend(self, ref: Ref) -> float | None:
        claim = self.mirror.get(ref)
        if not isinstance(claim, ResourceClaim):
            return None
        due = eviction.due(claim, self.world.state)
        if due is None:
            return None
        left_s = due - self.now()
        if left_s > 0:
            return min(left_s, LONGEST_WAIT_S)
        for pod in users(claim, self.mirror):
            await self._evict(pod)
        return None

    async def _evict(self, pod: Pod) -> None:
        when = self.now()
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": REASON,
            "message": MESSAGE,
            "lastTransitionTime": stamps.seconds(when),
        }
        known = [each for each in telling.conditions(pod) if each.get("type") != "DisruptionTarget"]
        patch = {
            "metadata": {
                "uid": pod.metadata.uid,
                "resourceVersion": pod.metadata.resource_version,
            },
            "status": {"conditions": [*known, condition]},
        }
        ref = Ref.to(pod)
        self.mirror.wrote(await self.cluster.patch(ref, patch, "status"))
        await self.cluster.report(
            telling.event(pod, when, "DeviceTaintManagerEviction", "Marking for deletion")
        )
        try:
            await self.cluster.delete(ref, uid=pod.metadata.uid)
        except (Missing, Conflict):
            # It is gone, or another one of its name has come: nothing is left to do.
            return


@dataclass(slots=True)
class RuleStatus:
    """Keys are rules: how far each has come with what it drives out."""

    cluster: Cluster
    mirror: Mirror
    now: Callable[[], float]
    name: str = "rule status"
    # When each was last worked out, by a clock that only goes forward.
    _looked_at: dict[Ref, float] = field(default_factory=dict)

    def concerned(self, before: Known | None, after: Known | None) -> Iterable[Ref]:
        match after or before:
            case DeviceTaintRule() if after is not None:
                yield Ref.to(after)
            case DeviceTaintRule() as gone:
                self._looked_at.pop(Ref.to(gone), None)
            case ResourceClaim() | Pod():
                # There are few rules, and most clusters have none.
                yield from tuple(self.mirror.all(RULES))

    async def tend(self, ref: Ref) -> float | None:
        rule = self.mirror.get(ref)
        if not isinstance(rule, DeviceTaintRule):
            return None
        # All claims are looked at: not with every Pod that comes or goes.
        clock = asyncio.get_running_loop().time
        left_s = self._looked_at.get(ref, -SETTLE_S) + SETTLE_S - clock()
        if left_s > 0:
            return left_s
        self._looked_at[ref] = clock()
        told = self._condition(rule)
        known = next((c for c in rule.status.conditions if c.type == IN_PROGRESS), None)
        if known is not None and _is_same(known, told):
            return None
        if known is not None and known.status == told.status:
            told = msgspec.structs.replace(told, last_transition_time=known.last_transition_time)
        others = [each for each in rule.status.conditions if each.type != IN_PROGRESS]
        status = msgspec.structs.replace(rule.status, conditions=(*others, told))
        changed = msgspec.structs.replace(rule, status=status)
        self.mirror.wrote(await self.cluster.update(changed, "status"))
        return None

    def _condition(self, rule: DeviceTaintRule) -> Condition:
        everything = self.mirror.all(CLAIMS).values()
        claims = [each for each in everything if isinstance(each, ResourceClaim)]
        selected = tuple(eviction.selected(rule, claims))
        concerned = {
            Ref.to(pod): pod for claim in selected for pod in users(claim, self.mirror, going=True)
        }
        count = len(concerned)
        spaces = len({ref.namespace for ref in concerned})
        noun = f"{count} pod{'s' * (count != 1)}"
        where = f"{spaces} namespace{'s' * (spaces != 1)}"
        match rule.spec.taint.effect:
            case "NoExecute" if count:
                status, reason = "True", "PodsPendingEviction"
                text = f"{noun} must go, in {where}"
            case "NoExecute":
                status, reason, text = "False", "Completed", "no pod uses a selected device"
            case "None":
                status, reason = "False", "NoEffect"
                text = f"{noun} in {where} would be evicted if the effect was NoExecute"
            case effect:
                status, reason = "False", "OtherEffect"
                text = f"the effect is {effect}, nobody is evicted"
        return Condition(
            type=IN_PROGRESS,
            status=status,
            reason=reason,
            message=text,
            observed_generation=rule.metadata.generation,
            last_transition_time=stamps.seconds(self.now()),
        )


def users(claim: ResourceClaim, mirror: Mirror, *, going: bool = False) -> Iterator[Pod]:
    """The Pods on nodes that use a claim, those of its group too; `going` with those on the way
    out."""
    for reference in claim.status.reserved_for:
        if release.is_pod(reference):
            found = mirror.get(Ref(PODS, claim.metadata.namespace, reference.name))
            candidates = [found] if found and found.metadata.uid == reference.uid else []
        elif release.is_group(reference):
            group = Key(claim.metadata.namespace, reference.name)
            everybody = mirror.all(PODS).values()
            candidates = [
                each
                for each in everybody
                if isinstance(each, Pod)
                and groups.key_of_pod(each) == group
                and claim.metadata.name in carrying.claim_names(each)
            ]
        else:
            candidates = []
        for pod in candidates:
            if isinstance(pod, Pod) and pod.spec.node_name and not pods.is_done(pod):
                if going or pod.metadata.deletion_timestamp is None:
                    yield pod


def tainted(item: Known | None) -> bool:
    return isinstance(item, ResourceSlice) and any(
        taint.effect == eviction.EVICTING for device in item.spec.devices for taint in device.taints
    )


def _pools_of(claim: ResourceClaim) -> frozenset[Pool]:
    allocation = claim.status.allocation
    results = allocation.devices.results if allocation is not None else ()
    return frozenset((each.driver, each.pool) for each in results)


def _is_same(known: Condition, told: Condition) -> bool:
    return (known.status, known.reason, known.message, known.observed_generation) == (
        told.status,
        told.reason,
        told.message,
        told.observed_generation,
    )
