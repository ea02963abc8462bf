"""Claims and classes → asks: what is wanted, request by request, as the allocator reads it.

An ask is one request, or one alternative of a prioritized list, with everything of its class
folded in. What can't be read is the claim's or the class's fault and ends the attempt on every
node: a Mistake. Selectors are only named here; `selectors` compiles and evaluates them.
Source: KEP-4381, KEP-4816 (firstAvailable), KEP-5018 (admin access), KEP-5055, KEP-5075.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import msgspec

from dibs.model.objects import (
    DeviceClass,
    DeviceConstraint,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
)
from dibs.supply.features import ALL, Features
from dibs.supply.ledger import claim_key
from dibs.values.mistake import Mistake
from dibs.values.quantity import Quantity

# ResourceClaimStatus.allocation.devices.results holds no more (AllocationResultsMaxSize).
MAX_DEVICES = 32


@dataclass(frozen=True, slots=True)
class Condition:
    """One CEL selector and who wrote it: `owner` is "class gpu" or "claim default/train"."""

    owner: str
    index: int
    expression: str

    def __str__(self) -> str:
        return f"{self.owner}: selector #{self.index}"


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    """So many devices of one kind, all alike to the one who asks.

    `conditions` are the class's selectors, then the request's. `count` is 0 in mode All: there
    it is the number of devices that match.
    """

    claim: str
    claim_number: int  # among the claims of the Pod
    request: str
    sub: str
    class_name: str
    conditions: tuple[Condition, ...]
    mode: Literal["ExactCount", "All"]
    count: int
    is_admin: bool
    tolerations: tuple[DeviceToleration, ...]
    capacity: Mapping[str, Quantity]
    # Expressions by the name under which constraints know them (KEP-6080).
    derived: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """As results name it: "gpu", or "gpu/small" for an alternative."""
        return f"{self.request}/{self.sub}" if self.sub else self.request


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """One request: its only ask, or the alternatives of a prioritized list, best first."""

    name: str
    alternatives: tuple[Ask, ...]
    is_prioritized: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Constraint:
    """All devices of the named requests agree on an attribute, or all differ in it."""

    kind: Literal["match", "distinct"]
    attribute: str
    requests: frozenset[str]

    def concerns(self, ask: Ask) -> bool:
        return not self.requests or ask.request in self.requests or ask.name in self.requests

    def __str__(self) -> str:
        return f"{self.kind}Attribute {self.attribute}"


@dataclass(frozen=True, slots=True, eq=False)
class Wish:
    """Everything one claim asks for; `key` is namespace/name, `number` its place in the Pod."""

    key: str
    number: int
    claim: ResourceClaim
    requests: tuple[Request, ...]
    constraints: tuple[Constraint, ...]


class Whose(NamedTuple):
    """The claim a request belongs to."""

    claim: str
    number: int


class Unreadable(Mistake):
    """A request that no node could satisfy; `before` is what was read before it."""

    def __init__(self, mistake: Mistake, before: tuple[Wish, ...]):
        super().__init__(mistake.message, path=mistake.path, remedy=mistake.remedy)
        self.before = before


def read(
    claims: Iterable[ResourceClaim], classes: Mapping[str, DeviceClass], features: Features = ALL
) -> tuple[Wish, ...]:
    """Read the claims of one Pod. Raises Unreadable, which is a Mistake."""
    wishes: list[Wish] = []
    for number, claim in enumerate(claims):
        whose = Whose(claim_key(claim), number)
        requests: list[Request] = []
        try:
            for each in claim.spec.devices.requests:
                requests.append(_request(whose, each, classes, features))
            constraints = [_constraint(whose.claim, c) for c in claim.spec.devices.constraints]
        except Mistake as mistake:
            partial = Wish(whose.claim, number, claim, tuple(requests), ())
            raise Unreadable(mistake, (*wishes, partial)) from mistake
        wishes.append(Wish(whose.claim, number, claim, tuple(requests), tuple(constraints)))
    return tuple(wishes)


def _request(
    whose: Whose, request: DeviceRequest, classes: Mapping[str, DeviceClass], features: Features
) -> Request:
    who = f"claim {whose.claim}, request {request.name}"
    if request.first_available:
        if not features.prioritized_list:
            raise Mistake(f"{who}: has subrequests, but prioritized lists are off")
        alternatives = tuple(
            _ask(whose, request.name, sub, classes, features) for sub in request.first_available
        )
        return Request(request.name, alternatives, is_prioritized=True)
    if request.exactly is None:
        raise Mistake(f"{who}: has neither exactly nor firstAvailable")
    return Request(request.name, (_ask(whose, request.name, request.exactly, classes, features),))


def _ask(
    whose: Whose,
    request: str,
    wanted: ExactDeviceRequest | DeviceSubRequest,
    classes: Mapping[str, DeviceClass],
    features: Features,
) -> Ask:
    sub = wanted.name if isinstance(wanted, DeviceSubRequest) else ""
    who = f"claim {whose.claim}, request {request}" + (f"/{sub}" if sub else "")
    admin = wanted.admin_access if isinstance(wanted, ExactDeviceRequest) else None
    if admin is not None and not features.admin_access:
        raise Mistake(f"{who}: sets adminAccess, but admin access is off")
    if wanted.capacity is not None and not features.consumable_capacity:
        raise Mistake(f"{who}: asks for capacity, but consumable capacity is off")
    if wanted.derived_attributes and not features.derived_attributes:
        raise Mistake(f"{who}: has derived attributes, but they are off")
    mode, count = _amount(who, wanted)
    return Ask(
        claim=whose.claim,
        claim_number=whose.number,
        request=request,
        sub=sub,
        class_name=wanted.device_class_name,
        conditions=(
            *_class_conditions(who, wanted.device_class_name, classes),
            *_conditions(f"claim {whose.claim}", wanted.selectors),
        ),
        mode=mode,
        count=count,
        is_admin=bool(admin),
        tolerations=tuple(_defaulted(each) for each in wanted.tolerations),
        capacity=wanted.capacity.requests if wanted.capacity is not None else {},
        derived={each.name: each.expression for each in wanted.derived_attributes},
    )


def _amount(
    who: str, wanted: ExactDeviceRequest | DeviceSubRequest
) -> tuple[Literal["ExactCount", "All"], int]:
    match wanted.allocation_mode:
        case "" | "ExactCount" if wanted.count < 0:
            raise Mistake(f"{who}: count {wanted.count} must be greater than zero")
        case "" | "ExactCount":
            return "ExactCount", wanted.count or 1
        case "All":
            return "All", 0
        case unknown:
            raise Mistake(f"{who}: unsupported count mode {unknown}")


def _defaulted(toleration: DeviceToleration) -> DeviceToleration:
    # What the API server would have stored; results repeat it.
    if toleration.operator:
        return toleration
    return msgspec.structs.replace(toleration, operator="Equal")


def _class_conditions(
    who: str, name: str, classes: Mapping[str, DeviceClass]
) -> tuple[Condition, ...]:
    if not name:
        raise Mistake(f"{who}: has no device class name")
    if name not in classes:
        raise Mistake(
            f"{who}: could not retrieve device class {name}",
            remedy=f"create it, or use one of {', '.join(sorted(classes))}" if classes else "",
        )
    return _conditions(f"class {name}", classes[name].spec.selectors)


def _conditions(owner: str, selectors: Iterable[DeviceSelector]) -> tuple[Condition, ...]:
    conditions = []
    for index, selector in enumerate(selectors):
        if selector.cel is None:
            raise Mistake(f"{owner}: selector #{index}: unsupported selector type, only cel is")
        conditions.append(Condition(owner, index, selector.cel.expression))
    return tuple(conditions)


def _constraint(claim: str, constraint: DeviceConstraint) -> Constraint:
    requests = frozenset(constraint.requests)
    if constraint.match_attribute is not None:
        return Constraint("match", constraint.match_attribute, requests)
    if constraint.distinct_attribute is not None:
        return Constraint("distinct", constraint.distinct_attribute, requests)
    raise Mistake(f"claim {claim}: empty constraint (unsupported constraint type)")
