"""What is asked for: each request or alternative, and the spots that are good for it alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dibs.model.objects import (
    Counter,
    DeviceClass,
    DeviceConstraint,
    DeviceSubRequest,
    DeviceTaint,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
)
from dibs.request import selectors
from dibs.testing.facts import amounts, values
from dibs.testing.facts.tables import CounterKey, Spot, Take, Want


@dataclass(frozen=True, slots=True)
class Reading:
    """One request, or one alternative, as it is written."""

    claim: int
    request: int
    alternative: int
    parent: str
    name: str
    wish: ExactDeviceRequest | DeviceSubRequest
    constraints: tuple[DeviceConstraint, ...]

    def is_under(self, constraint: DeviceConstraint) -> bool:
        names = constraint.requests
        return not names or self.parent in names or self.name in names

    @property
    def derivations(self) -> dict[str, str]:
        return {each.name: each.expression for each in self.wish.derived_attributes}


def readings(number: int, claim: ResourceClaim) -> Iterator[Reading]:
    rules = claim.spec.devices.constraints
    for place, request in enumerate(claim.spec.devices.requests):
        parent = request.name
        if request.exactly is not None:
            yield Reading(number, place, 0, parent, parent, request.exactly, rules)
        for index, each in enumerate(request.first_available):
            yield Reading(number, place, index, parent, f"{parent}/{each.name}", each, rules)


def want(
    reading: Reading,
    spots: Sequence[Spot],
    counters: Mapping[CounterKey, Counter],
    classes: Mapping[str, DeviceClass],
) -> Want:
    """The request against each spot alone. Of mode All, what is taken doesn't shorten the list."""
    wish = reading.wish
    is_admin = isinstance(wish, ExactDeviceRequest) and bool(wish.admin_access)
    is_all = wish.allocation_mode == "All"
    listed, takes = [], {}
    for place, spot in enumerate(spots):
        if not _selects(wish, classes[wish.device_class_name], spot):
            continue
        consumed = amounts.could_hold(wish, spot)
        if consumed is None:
            continue
        listed.append(place)
        # Admin access draws from no counter (KEP-5018).
        metered = {} if is_admin else amounts.metered(spot, consumed, counters)
        if metered is not None and _is_open(reading, spot, is_admin):
            takes[place] = Take(consumed, metered)
    return Want(
        claim=reading.claim,
        request=reading.request,
        alternative=reading.alternative,
        name=reading.name,
        count=len(listed) if is_all else wish.count or 1,
        is_all=is_all,
        is_admin=is_admin,
        is_hopeless=is_all and (not listed or any(each not in takes for each in listed)),
        takes=takes,
        tolerations=wish.tolerations,
    )


def _is_open(reading: Reading, spot: Spot, is_admin: bool) -> bool:
    """Not with others, not tainted, and with a value for each constraint."""
    if not is_admin and (spot.is_held or (spot.is_shared and not spot.is_shareable)):
        return False
    return _tolerates(reading.wish.tolerations, spot.device.taints) and all(
        values.compared(each, reading.derivations, spot)
        for each in reading.constraints
        if reading.is_under(each)
    )


def _selects(
    wish: ExactDeviceRequest | DeviceSubRequest, device_class: DeviceClass, spot: Spot
) -> bool:
    expressions = (
        each.cel.expression
        for each in (*device_class.spec.selectors, *wish.selectors)
        if each.cel is not None
    )
    return all(selectors.Selector.compile(each).matches(spot) for each in expressions)


def _tolerates(tolerations: Sequence[DeviceToleration], taints: Sequence[DeviceTaint]) -> bool:
    """KEP-5055: taints of other effects than these two keep nobody away."""
    return all(
        any(
            each.effect in ("", taint.effect)
            and each.key in ("", taint.key)
            and (each.operator == "Exists" or each.value == taint.value)
            for each in tolerations
        )
        for taint in taints
        if taint.effect in ("NoSchedule", "NoExecute")
    )
