"""What a Pod still waits for after its devices were allocated: binding conditions (KEP-5007).

A device can name conditions that somebody has to report in the claim's status before the Pod is
bound, a fabric that attaches it, say. All of them must be True; one failure condition that is
True gives the allocation up. The waiting itself is the scheduler's.
"""

from __future__ import annotations

from dataclasses import dataclass

from dibs.model.meta import Condition
from dibs.model.objects import DeviceRequestAllocationResult, ResourceClaim
from dibs.view import words


@dataclass(frozen=True, slots=True)
class Wait:
    """The conditions that are not True yet, and those that say it failed."""

    awaited: tuple[str, ...] = ()
    failed: tuple[Condition, ...] = ()


READY = Wait()


def wait(claim: ResourceClaim, result: DeviceRequestAllocationResult) -> Wait:
    """How far one device of an allocation is from being ready."""
    known = {
        condition.type: condition
        for device in claim.status.devices
        if (device.driver, device.pool, device.device, device.share_id)
        == (result.driver, result.pool, result.device, result.share_id)
        for condition in device.conditions
    }
    failed = (known.get(name) for name in result.binding_failure_conditions)
    return Wait(
        tuple(name for name in result.binding_conditions if not is_true(known.get(name))),
        tuple(each for each in failed if each is not None and is_true(each)),
    )


def is_true(condition: Condition | None) -> bool:
    return condition is not None and condition.status == "True"


def text_of(found: Wait) -> str:
    """For a row or a line; "" when nothing is awaited."""
    if found.failed:
        told = [f"{each.type}{': ' if each.message else ''}{each.message}" for each in found.failed]
        return f"failed by condition {'; '.join(told)}"
    if found.awaited:
        noun = "condition" if len(found.awaited) == 1 else "conditions"
        return f"awaits {noun} {words.listed(found.awaited, 6)}"
    return ""
