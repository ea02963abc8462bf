"""Which claims a NoExecute taint drives out, and when: the earliest moment over their devices.

Each taint must be tolerated for itself; a toleration with seconds holds for so long from when the
taint was put there. Who is then deleted, and how that is told, is `control.evicting`'s.
Source: KEP-5055 (device taint eviction), core/v1 tolerationSeconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from dibs.model.objects import (
    DeviceRequestAllocationResult,
    DeviceTaint,
    DeviceTaintRule,
    DeviceToleration,
    ResourceClaim,
)
from dibs.schedule.state import State
from dibs.supply import taints
from dibs.supply.identity import PoolId

EVICTING = "NoExecute"
# A taint without a time has always been there.
LONG_AGO = 0.0


def due(claim: ResourceClaim, state: State) -> float | None:
    """When the claim's Pods must go, in seconds since 1970; None for never."""
    allocation = claim.status.allocation
    if allocation is None:
        return None
    moments = (
        moment
        for result in allocation.devices.results
        for taint in taints_of(result, state)
        if (moment := ends(taint, result.tolerations)) is not None
    )
    return min(moments, default=None)


def ends(taint: DeviceTaint, tolerations: Sequence[DeviceToleration]) -> float | None:
    """When this taint alone drives out who tolerates it so; None for never."""
    if taint.effect != EVICTING:
        return None
    added = moment_of(taint)
    tolerating = [each for each in tolerations if taints.tolerates(each, taint)]
    if not tolerating:
        return added
    seconds = [each.toleration_seconds for each in tolerating]
    limits = [each for each in seconds if each is not None]
    return added + max(min(limits), 0) if limits else None


def taints_of(result: DeviceRequestAllocationResult, state: State) -> tuple[DeviceTaint, ...]:
    """The device's own taints as it is published now, and those that rules put on it.

    A device that is published no more keeps the rules' taints: that is what they are for.
    """
    stock = state.supply.by_pool.get(PoolId(result.driver, result.pool))
    listings = stock.listings if stock is not None else ()
    newest = max((each.generation for each in listings), default=0)
    for listing in listings:
        if listing.generation == newest:
            for candidate in listing.candidates:
                if candidate.id.device == result.device:
                    # Those of rules are among them (`snapshot.with_rules`).
                    return candidate.device.taints
    return tuple(rule.spec.taint for rule in state.snapshot.rules if concerns(rule, result))


def concerns(rule: DeviceTaintRule, result: DeviceRequestAllocationResult) -> bool:
    """Whether a rule selects the device. An absent selector selects nothing (KEP-5055)."""
    selector = rule.spec.device_selector
    return selector is not None and all(
        wanted in (None, found)
        for wanted, found in (
            (selector.driver, result.driver),
            (selector.pool, result.pool),
            (selector.device, result.device),
        )
    )


def selected(rule: DeviceTaintRule, claims: Iterable[ResourceClaim]) -> Iterator[ResourceClaim]:
    """The claims that hold a device which the rule selects."""
    for claim in claims:
        allocation = claim.status.allocation
        if allocation is not None and any(
            concerns(rule, result) for result in allocation.devices.results
        ):
            yield claim


def moment_of(taint: DeviceTaint) -> float:
    if taint.time_added is None:
        return LONG_AGO
    try:
        return datetime.fromisoformat(taint.time_added).timestamp()
    except ValueError:
        return LONG_AGO
