"""Claims and classes → asks: what is wanted, request by request, as the allocator reads it.

An ask is one request, or one alternative of a prioritized list, with everything of its class
folded in. What can't be read is the claim's or the class's fault and ends the attempt on every
node: a Mistake. Selectors are only named here; `selectors` compiles and evaluates them.
Source: KEP-4381, KEP-4816 (firstAvailable), KEP-5018 (admin access), KEP-5055, KEP-5075.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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


class Condition(msgspec.Struct, frozen=True):
    """One CEL selector and who wrote it: `owner` is "class gpu" or "claim default/train"."""

    owner: str
    index: int
    expression: str

    def __str__(self) -> str:
        return f"{self.owner}: selector #{self.index}"


class Ask(msgspec.Struct, frozen=True, eq=False):
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
    derived: Mapping[str, str] = {}

    @property
    def name(self) -> str:
        """As results name it: "gpu", or "gpu/small" for an alternative."""
        return f"{self.request}/{self.sub}" if self.sub else self.request


class Request(msgspec.Struct, frozen=True, eq=False):
    """One request: its only ask, or the alternatives of a prioritized list, best first."""

    name: str
    alternatives: tuple[Ask, ...]
    is_prioritized: bool = False


class Constraint(msgspec.Struct, frozen=True, eq=False):
    """All devices of the named requests agree on an attribute, or all differ in it."""

    kind: Literal["match", "distinct"]
    attribute: str
    requests: frozenset[str]

    def concerns(self, ask: Ask) -> bool:
        return not self.requests or ask.request in self.requests or ask.name in self.requests

    def __str__(self) -> str:
        return f"{self.kind}Attribute {self.attribute}"


class Wish(msgspec.Struct, frozen=True, eq=False):
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
    admin = wanted.admin_access if isinstance(wanted, ExactDeviceRequest) else None
    try:
        if admin is not None and not features.admin_access:
            raise Mistake("sets adminAccess, but admin access is off")
        if wanted.capacity is not None and not features.consumable_capacity:
            raise Mistake("asks for capacity, but consumable capacity is off")
        if wanted.derived_attributes and not features.derived_attributes:
            raise Mistake("has derived attributes, but they are off")
        mode, count = _amount(wanted)
        device_class = _class(wanted.device_class_name, classes)
    except Mistake as mistake:
        name = f"{request}/{sub}" if sub else request
        text = f"claim {whose.claim}, request {name}: {mistake.message}"
        raise Mistake(text, remedy=mistake.remedy) from None
    conditions = _conditions("class", wanted.device_class_name, device_class.spec.selectors)
    if wanted.selectors:
        conditions += _conditions("claim", whose.claim, wanted.selectors)
    return Ask(
        claim=whose.claim,
        claim_number=whose.number,
        request=request,
        sub=sub,
        class_name=wanted.device_class_name,
        conditions=conditions,
        mode=mode,
        count=count,
        is_admin=bool(admin),
        tolerations=tuple(map(_defaulted, wanted.tolerations)),
        capacity=wanted.capacity.requests if wanted.capacity is not None else {},
        derived={each.name: each.expression for each in wanted.derived_attributes},
    )


def _amount(
    wanted: ExactDeviceRequest | DeviceSubRequest,
) -> tuple[Literal["ExactCount", "All"], int]:
    match wanted.allocation_mode:
        case "" | "ExactCount" if wanted.count < 0:
            raise Mistake(f"count {wanted.count} must be greater than zero")
        case "" | "ExactCount":
            return "ExactCount", wanted.count or 1
        case "All":
            return "All", 0
        case unknown:
            raise Mistake(f"unsupported count mode {unknown}")


def _defaulted(toleration: DeviceToleration) -> DeviceToleration:
    # What the API server would have stored; results repeat it.
    if toleration.operator:
        return toleration
    return msgspec.structs.replace(toleration, operator="Equal")


def _class(name: str, classes: Mapping[str, DeviceClass]) -> DeviceClass:
    if not name:
        raise Mistake("has no device class name")
    if name not in classes:
        raise Mistake(
            f"could not retrieve device class {name}",
            remedy=f"create it, or use one of {', '.join(sorted(classes))}" if classes else "",
        )
    return classes[name]


def _conditions(kind: str, name: str, selectors: Iterable[DeviceSelector]) -> tuple[Condition, ...]:
    owner = f"{kind} {name}"
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
