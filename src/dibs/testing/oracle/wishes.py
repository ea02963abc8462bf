"""What the claims ask for, one `Ask` an alternative, and what makes asking itself an error.

Follows KEP-4381 (requests, classes), KEP-4816 (prioritized list) and the API's limit of 32
devices a claim. `All` is resolved here to its fixed list of devices; picking is `search`'s.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dibs.model.objects import (
    DeviceClass,
    DeviceSelector,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
)
from dibs.supply.features import Features
from dibs.testing.oracle.pools import Candidate, Fatal
from dibs.values.quantity import Quantity

MOST_DEVICES = 32


@dataclass(frozen=True, slots=True)
class Ask:
    """One request, or one alternative of one. `everything` is the fixed list of `All`."""

    claim: int
    request: str
    alternative: str
    device_class: DeviceClass
    selectors: tuple[str, ...]
    count: int
    is_all: bool
    is_admin: bool
    tolerations: tuple[DeviceToleration, ...]
    capacity: Mapping[str, Quantity]
    derived: Mapping[str, str]
    everything: tuple[Candidate, ...] = field(default=())

    @property
    def name(self) -> str:
        return f"{self.request}/{self.alternative}" if self.alternative else self.request

    @property
    def needed(self) -> int:
        return len(self.everything) if self.is_all else self.count


def alternatives(
    number: int,
    claim: ResourceClaim,
    classes: Mapping[str, DeviceClass],
    features: Features,
) -> Iterable[list[Ask]]:
    """Yield the alternatives of each request, one by one, so that errors come in order."""
    for request in claim.spec.devices.requests:
        if request.first_available:
            if not features.prioritized_list:
                raise Fatal(f"request {request.name}: prioritized lists are switched off")
            yield [
                _ask(number, request.name, each.name, each, False, classes, features)
                for each in request.first_available
            ]
        elif request.exactly is not None:
            wish = request.exactly
            if wish.admin_access is not None and not features.admin_access:
                raise Fatal(f"request {request.name}: admin access is switched off")
            is_admin = bool(wish.admin_access)
            yield [_ask(number, request.name, "", wish, is_admin, classes, features)]
        else:
            raise Fatal(f"request {request.name}: asks for nothing")


def check_constraints(claim: ResourceClaim) -> None:
    for constraint in claim.spec.devices.constraints:
        if constraint.match_attribute is None and constraint.distinct_attribute is None:
            raise Fatal("empty constraint (unsupported constraint type?)")


def check_size(requests: list[list[Ask]]) -> None:
    fewest = sum(min(each.needed for each in options) for options in requests)
    if fewest > MOST_DEVICES:
        raise Fatal(f"{fewest} devices requested, a claim gets at most {MOST_DEVICES}")


def _ask(
    claim: int,
    request: str,
    alternative: str,
    wish: ExactDeviceRequest | DeviceSubRequest,
    is_admin: bool,
    classes: Mapping[str, DeviceClass],
    features: Features,
) -> Ask:
    where = f"request {request}/{alternative}" if alternative else f"request {request}"
    if wish.capacity is not None and not features.consumable_capacity:
        raise Fatal(f"{where}: capacity requests are switched off")
    if wish.derived_attributes and not features.derived_attributes:
        raise Fatal(f"{where}: derived attributes are switched off")
    own = _expressions(wish.selectors, where)
    device_class = classes.get(wish.device_class_name)
    if device_class is None:
        raise Fatal(f"{where}: there is no device class {wish.device_class_name!r}")
    mode = wish.allocation_mode or "ExactCount"
    if mode not in ("ExactCount", "All"):
        raise Fatal(f"{where}: unsupported count mode {mode!r}")
    return Ask(
        claim=claim,
        request=request,
        alternative=alternative,
        device_class=device_class,
        selectors=_expressions(device_class.spec.selectors, where) + own,
        count=wish.count or 1,
        is_all=mode == "All",
        is_admin=is_admin,
        tolerations=wish.tolerations,
        capacity=wish.capacity.requests if wish.capacity is not None else {},
        derived={each.name: each.expression for each in wish.derived_attributes},
    )


def _expressions(selectors: Iterable[DeviceSelector], where: str) -> tuple[str, ...]:
    found = []
    for selector in selectors:
        if selector.cel is None:
            raise Fatal(f"{where}: a selector without cel is not supported")
        found.append(selector.cel.expression)
    return tuple(found)
