"""Worlds in which one thing is different: what a suggestion is tried on.

Each function returns a change: from an attempt to the attempt with that one thing changed. The
world that was is left as it was. Which changes are worth a try is decided in `suggest`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import msgspec

from dibs.model.core import Node, Pod, PodToleration
from dibs.model.objects import DeviceTaint, DeviceToleration, ResourceClaim
from dibs.schedule.plan import ClaimUse
from dibs.schedule.snapshot import Key, key_of
from dibs.schedule.state import State


@dataclass(frozen=True, slots=True)
class Attempt:
    """What is put to `fit.place` again, and the one change that is tried in it."""

    state: State
    pod: Pod | None
    uses: tuple[ClaimUse, ...]


Change: TypeAlias = Callable[[Attempt], Attempt]


def with_node(node: Node) -> Change:
    def apply(attempt: Attempt) -> Attempt:
        return replace(attempt, state=attempt.state.with_object(node))

    return apply


def with_toleration(toleration: PodToleration) -> Change:
    def apply(attempt: Attempt) -> Attempt:
        assert attempt.pod is not None, "only a Pod meets a node's taints"
        added = (*attempt.pod.spec.tolerations, toleration)
        spec = msgspec.structs.replace(attempt.pod.spec, tolerations=added)
        return replace(attempt, pod=msgspec.structs.replace(attempt.pod, spec=spec))

    return apply


def without_node_selector(attempt: Attempt) -> Attempt:
    assert attempt.pod is not None, "only a Pod has a node selector"
    spec = msgspec.structs.replace(attempt.pod.spec, node_selector={})
    return replace(attempt, pod=msgspec.structs.replace(attempt.pod, spec=spec))


def without_affinity(attempt: Attempt) -> Attempt:
    assert attempt.pod is not None, "only a Pod has affinity"
    spec = msgspec.structs.replace(attempt.pod.spec, affinity=None)
    return replace(attempt, pod=msgspec.structs.replace(attempt.pod, spec=spec))


def freeing(claim: str) -> Change:
    def apply(attempt: Attempt) -> Attempt:
        return replace(attempt, state=attempt.state.freeing(claim))

    return apply


def tolerating(taint: DeviceTaint) -> Change:
    added = DeviceToleration(key=taint.key, operator="Exists", effect=taint.effect)

    def change(claim: ResourceClaim) -> ResourceClaim:
        requests = []
        for request in claim.spec.devices.requests:
            if request.exactly is not None:
                tolerated = (*request.exactly.tolerations, added)
                exactly = msgspec.structs.replace(request.exactly, tolerations=tolerated)
                request = msgspec.structs.replace(request, exactly=exactly)
            subs = tuple(
                msgspec.structs.replace(sub, tolerations=(*sub.tolerations, added))
                for sub in request.first_available
            )
            requests.append(msgspec.structs.replace(request, first_available=subs))
        return with_devices(claim, requests=tuple(requests))

    return changing(change)


def asking(key: Key, name: str, count: int) -> Change:
    base, _, sub_name = name.partition("/")

    def change(claim: ResourceClaim) -> ResourceClaim:
        if key_of(claim.metadata) != key:
            return claim
        requests = []
        for request in claim.spec.devices.requests:
            if request.name == base and request.exactly is not None:
                exactly = msgspec.structs.replace(request.exactly, count=count)
                request = msgspec.structs.replace(request, exactly=exactly)
            if request.name == base and sub_name:
                subs = tuple(
                    msgspec.structs.replace(sub, count=count) if sub.name == sub_name else sub
                    for sub in request.first_available
                )
                request = msgspec.structs.replace(request, first_available=subs)
            requests.append(request)
        return with_devices(claim, requests=tuple(requests))

    return changing(change)


def without_constraint(key: Key, index: int) -> Change:
    def change(claim: ResourceClaim) -> ResourceClaim:
        if key_of(claim.metadata) != key:
            return claim
        kept = claim.spec.devices.constraints
        return with_devices(claim, constraints=kept[:index] + kept[index + 1 :])

    return changing(change)


def changing(change: Callable[[ResourceClaim], ResourceClaim]) -> Change:
    def apply(attempt: Attempt) -> Attempt:
        uses = tuple(
            replace(use, claim=change(use.claim)) if use.claim.status.allocation is None else use
            for use in attempt.uses
        )
        return replace(attempt, uses=uses)

    return apply


def with_devices(claim: ResourceClaim, **changed: object) -> ResourceClaim:
    devices = msgspec.structs.replace(claim.spec.devices, **changed)
    spec = msgspec.structs.replace(claim.spec, devices=devices)
    return msgspec.structs.replace(claim, spec=spec)
