"""The rules of what a claim asks for: requests, alternatives, constraints, configurations.

Used by claims and by templates, at different paths. Whether a class or a device exists is not
asked here. Source: `spec.devices` of ResourceClaim; KEP-4381, 4816, 5055, 5075, 6080.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from dibs.model.objects import (
    CapacityRequirements,
    DerivedAttribute,
    DeviceClaim,
    DeviceClaimConfiguration,
    DeviceConstraint,
    DeviceRequest,
    DeviceSubRequest,
    ExactDeviceRequest,
)
from dibs.model.rules import faults, fields, limits, opaque, selectors, taints
from dibs.model.rules.context import Context
from dibs.model.rules.faults import FieldFault
from dibs.model.rules.fields import Faults

MODES = ("All", "ExactCount")

_ONE_KIND = "exactly one of `exactly` or `firstAvailable` is required"
_ONE_ATTRIBUTE = 'exactly one of "matchAttribute" or "distinctAttribute" is required'
_NO_REQUEST = (
    "must be the name of a request in the claim or the name of a request and a subrequest "
    "separated by '/'"
)
_UNUSED = (
    "must be referenced by at least one matchAttribute or distinctAttribute constraint "
    "targeting this request"
)
_TOTAL_COST = (
    "too complex, total cost of derived attribute CEL expressions in the claim exceeds cost limit"
)

Names = Mapping[str, frozenset[str]]


def claim(devices: DeviceClaim, path: str, context: Context) -> Faults:
    known = request_names(devices)

    def request(item: DeviceRequest, here: str) -> Faults:
        return _request(item, here, context)

    def constraint(item: DeviceConstraint, here: str) -> Faults:
        return _constraint(item, here, known, _derived_names(devices))

    def config(item: DeviceClaimConfiguration, here: str) -> Faults:
        yield from references(item.requests, f"{here}.requests", known)
        yield from opaque.configuration(item.opaque, here)

    yield from fields.each_once(
        devices.requests, f"{path}.requests", limits.REQUESTS, request, lambda item: item.name
    )
    if len(devices.requests) <= limits.REQUESTS:
        yield from _derived_attributes(devices, path, context)
    yield from fields.each(
        devices.constraints, f"{path}.constraints", limits.CONSTRAINTS, constraint
    )
    yield from fields.each(devices.config, f"{path}.config", limits.CONFIGS, config)


def request_names(devices: DeviceClaim) -> Names:
    """Every request with the names of its alternatives."""
    return {
        request.name: frozenset(each.name for each in request.first_available)
        for request in devices.requests
    }


def references(items: tuple[str, ...], path: str, known: Names) -> Faults:
    """A list of `request` or `request/alternative`, each of which must exist."""

    def check(name: str, here: str) -> Faults:
        return reference(name, here, known)

    yield from fields.each_once(items, path, limits.REFERENCES, check, lambda item: item)


def reference(name: str, path: str, known: Names) -> Faults:
    parts = name.split("/")
    if len(parts) > 2:
        yield faults.invalid(path, name, _NO_REQUEST)
        return
    for part in parts:
        yield from fields.label(part, path)
    alternatives = known.get(parts[0])
    if alternatives is None or not alternatives.issuperset(parts[1:]):
        yield faults.invalid(path, name, _NO_REQUEST)


def _request(item: DeviceRequest, path: str, context: Context) -> Faults:
    yield from fields.label(item.name, f"{path}.name")
    if item.exactly is not None and item.first_available:
        yield faults.invalid(path, None, f"{_ONE_KIND}, but multiple fields are set")
    elif item.exactly is not None:
        yield from _wanted(item.exactly, f"{path}.exactly", context)
    elif not item.first_available:
        yield faults.required(path, _ONE_KIND)

    def alternative(entry: DeviceSubRequest, here: str) -> Faults:
        yield from fields.label(entry.name, f"{here}.name")
        yield from _wanted(entry, here, context)

    if item.first_available and item.exactly is None:
        yield from fields.each_once(
            item.first_available,
            f"{path}.firstAvailable",
            limits.ALTERNATIVES,
            alternative,
            lambda entry: entry.name,
        )


def _wanted(wanted: ExactDeviceRequest | DeviceSubRequest, path: str, context: Context) -> Faults:
    check_class = fields.needed(fields.subdomain)
    yield from check_class(wanted.device_class_name, f"{path}.deviceClassName")
    yield from selectors.selectors(wanted.selectors, f"{path}.selectors", context)
    yield from _amount(wanted, path)
    yield from taints.tolerations(wanted.tolerations, f"{path}.tolerations")
    if wanted.capacity is not None:
        yield from _capacity(wanted.capacity, f"{path}.capacity")


def _amount(wanted: ExactDeviceRequest | DeviceSubRequest, path: str) -> Faults:
    match wanted.allocation_mode:
        case "All":
            if wanted.count != 0:
                text = "must not be specified when allocationMode is 'All'"
                yield faults.invalid(f"{path}.count", wanted.count, text)
        case "ExactCount":
            # No upper bound here: the allocator refuses more than 32 in all.
            if wanted.count <= 0:
                yield faults.invalid(f"{path}.count", wanted.count, "must be greater than zero")
        case _:
            yield from fields.choice(wanted.allocation_mode, f"{path}.allocationMode", MODES)


def _capacity(wanted: CapacityRequirements, path: str) -> Faults:
    """Upstream looks at neither keys nor amounts; a malformed key can fit no device."""
    for key in sorted(wanted.requests):
        yield from fields.qualified_name(key, f"{path}.requests")


def _constraint(item: DeviceConstraint, path: str, known: Names, derived: frozenset[str]) -> Faults:
    yield from references(item.requests, f"{path}.requests", known)
    if item.match_attribute is None and item.distinct_attribute is None:
        yield faults.required(path, _ONE_ATTRIBUTE)
    for name, value in (
        ("matchAttribute", item.match_attribute),
        ("distinctAttribute", item.distinct_attribute),
    ):
        # A bad derived name is told where it is defined.
        if value is not None and value not in derived:
            yield from fields.full_name(value, f"{path}.{name}")


# --- derived attributes (KEP-6080) -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Derivation:
    """One list of derived attributes: where it stands, and how constraints call its request."""

    attributes: tuple[DerivedAttribute, ...]
    path: str
    request: str


def _derivations(devices: DeviceClaim, path: str) -> Iterator[_Derivation]:
    for index, request in enumerate(devices.requests):
        here = f"{path}.requests[{index}]"
        if request.exactly is not None:
            attributes = request.exactly.derived_attributes
            yield _Derivation(attributes, f"{here}.exactly.derivedAttributes", request.name)
            continue
        for place, each in enumerate(request.first_available[: limits.ALTERNATIVES]):
            yield _Derivation(
                each.derived_attributes,
                f"{here}.firstAvailable[{place}].derivedAttributes",
                f"{request.name}/{each.name}",
            )


def _derived_names(devices: DeviceClaim) -> frozenset[str]:
    return frozenset(
        attribute.name for found in _derivations(devices, "") for attribute in found.attributes
    )


def _derived_attributes(devices: DeviceClaim, path: str, context: Context) -> Faults:
    """All derived attributes of a claim, whose estimated costs are one budget."""
    total = 0
    for found in _derivations(devices, path):
        if len(found.attributes) > limits.DERIVED_ATTRIBUTES:
            count = len(found.attributes)
            yield faults.too_many(found.path, count, limits.DERIVED_ATTRIBUTES)
            continue
        matched = _matched(devices, found.request)
        costs: list[int] = []
        check = _derived_check(matched, context, costs.append)
        yield from fields.each_once(
            found.attributes, found.path, None, check, lambda item: item.name
        )
        total += sum(costs)
    if total > limits.DERIVED_COST:
        yield faults.forbidden(path, _TOTAL_COST)


def _derived_check(
    matched: frozenset[str], context: Context, count: Callable[[int], None]
) -> Callable[[DerivedAttribute, str], Iterator[FieldFault]]:
    def check(item: DerivedAttribute, path: str) -> Faults:
        if not item.name:
            yield faults.required(f"{path}.name")
        else:
            yield from fields.full_name(item.name, f"{path}.name")
            if item.name not in matched:
                yield faults.invalid(f"{path}.name", item.name, _UNUSED)
        cost, found = selectors.derived(item.expression, f"{path}.expression", context)
        count(cost)
        yield from found

    return check


def _matched(devices: DeviceClaim, request: str) -> frozenset[str]:
    """The attributes that some constraint compares on this request (or on all of it)."""
    targets = {request, request.partition("/")[0]}
    return frozenset(
        item.match_attribute or item.distinct_attribute or ""
        for item in devices.constraints
        if not item.requests or targets.intersection(item.requests)
    )
