"""What a fault of decoding is called, and what its author most likely meant.

Words only: `codec_read` has found the fault. The special cases are those that circulate in
articles, old manuals and generated manifests.
"""

from __future__ import annotations

import json
import re
from functools import cache

from dibs.model import core, kinds, meta, objects, paths
from dibs.model.codec_shapes import Amount, ListOf, MapOf, Record, Shape, Text, Truth, Whole, record
from dibs.model.faults import Fault, FaultKind
from dibs.values import nearest

_LONGEST_SHOWN = 60


_ENCODER = json.JSONEncoder(ensure_ascii=False, default=str)


def shown(value: object) -> str:
    """The value as one short line of JSON."""
    text = ""
    # Part by part: the value may be as large as the file.
    for part in _ENCODER.iterencode(value):
        text += part
        if len(text) > _LONGEST_SHOWN:
            break
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


# --- a value of the wrong type -------------------------------------------------------------------


def mistyped(shape: Shape, value: object, path: str) -> Fault:
    message = f"expected {_wanted(shape)}, found {_found(value)}"
    return Fault(FaultKind.TYPE, path, message, value, _remedy_of_type(shape, value))


def _wanted(shape: Shape) -> str:
    match shape:
        case Text():
            return "text"
        case Truth():
            return "true or false"
        case Whole(bits):
            return f"a whole number of {bits} bits"
        case Amount():
            return "a quantity"
        case ListOf():
            return "a list"
        case MapOf():
            return "a mapping"
        case Record():
            return f"the mapping of {_with_article(shape)}"
        case _:
            raise AssertionError(shape)


def _found(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return f"the number {shown(value)}"
        case str():
            return f"the text {shown(value)}"
        case list():
            return f"a list of {len(value)}"
        case dict():
            return f"a mapping ({', '.join(list(value)[:5])})" if value else "an empty mapping"
        case _:
            return "nothing"


def _remedy_of_type(shape: Shape, value: object) -> str:
    match shape:
        case Text():
            return _remedy_of_text(value)
        case Whole() if isinstance(value, str) and re.fullmatch(r"-?\d+", value):
            return f"write it without quotes: {value}"
        case Truth() if isinstance(value, str) and value.lower() in ("true", "false"):
            return f"write it without quotes: {value.lower()}"
        case ListOf():
            return "begin each item with a dash"
        case MapOf() if isinstance(value, list):
            return "write key: value, without a dash"
        case Record():
            return _remedy_of_record(shape, value)
        case _:
            return ""


def _remedy_of_text(value: object) -> str:
    if isinstance(value, bool):
        return "quote it: bare true, false, yes, no, on, off, y and n are not text"
    return f'quote it: "{value}"' if isinstance(value, int | float) else ""


_ATTRIBUTE_FIELDS = {bool: "bool", int: "int", str: "string"}
_LIST_FIELDS = {bool: "bools", int: "ints", str: "strings"}


def _remedy_of_record(shape: Record, value: object) -> str:
    struct = shape.struct
    if struct is objects.DeviceAttribute:
        fields, sample = _ATTRIBUTE_FIELDS, value
        if isinstance(value, list):
            fields, sample = _LIST_FIELDS, next(iter(value), "")
        field = fields.get(type(sample), "string")
        return f"name the type: {{{field}: {shown(value)}}}"
    if "value" in shape.fields and not isinstance(value, list | dict):
        return f"write {{value: {shown(value)}}}"
    if struct in (objects.DeviceSelector, objects.CELDeviceSelector) and isinstance(value, str):
        return "write the expression as cel: {expression: …}"
    if isinstance(value, list):
        return "it is one mapping, not a list: remove the dash"
    return f"its fields are {', '.join(shape.fields)}" if len(shape.fields) <= 8 else ""


# --- quantities ----------------------------------------------------------------------------------

_SUFFIXES = "n u m k M G T P E (powers of 1000) or Ki Mi Gi Ti Pi Ei (powers of 1024)"
_NUMBER_AND_UNIT = re.compile(r"([+-]?[0-9]*[.,]?[0-9]+)\s*([A-Za-z]*)")


def no_quantity(value: object, reason: str, path: str) -> Fault:
    message = f"{shown(value)} is no quantity"
    if "digits" in reason:
        return Fault(FaultKind.QUANTITY, path, f"{message}: {reason}", value)
    # Kubernetes would show the regular expression; the remedy says more.
    return Fault(FaultKind.QUANTITY, path, message, value, _meant_amount(value))


def _meant_amount(value: object) -> str:
    """What somebody who wrote `40GB`, `40 Gi` or `1,5Gi` may have meant."""
    written = _NUMBER_AND_UNIT.fullmatch(value.strip()) if isinstance(value, str) else None
    if not written:
        return f"write a number, with or without one of the suffixes {_SUFFIXES}"
    number, unit = written[1].replace(",", "."), written[2]
    letter = unit[:1].upper()
    if letter and letter in "KMGTPE":
        plain = "k" if letter == "K" else letter
        if unit.lower() in (f"{letter}ib".lower(), f"{letter}i".lower()):
            return f"did you mean {number}{letter}i?"
        if unit.lower() in (letter.lower(), f"{letter}b".lower()):
            return f"did you mean {number}{plain} or {number}{letter}i? suffixes are {_SUFFIXES}"
    if unit.lower() in ("", "b", "byte", "bytes"):
        return f"did you mean {number}?"
    return f"suffixes are {_SUFFIXES}"


# --- fields that don't exist ---------------------------------------------------------------------


def unknown_fields(
    shape: Record, version: str, unknown: dict[str, object], tree: dict[str, object], path: str
) -> list[Fault]:
    """Return a fault for each of the `unknown` fields of `tree`, whose shape is `shape`."""
    faults: list[Fault] = []
    of_other = _of_other_version(shape, version, unknown)
    if of_other:
        names, message, remedy = of_other
        at = paths.field(path, names[0])
        faults.append(Fault(FaultKind.VERSION, at, message, unknown[names[0]], remedy))
        unknown = {name: unknown[name] for name in unknown if name not in names}
    for name, value in unknown.items():
        message = f"{name} is no field of {_with_article(shape)}"
        remedy = _special(shape, name, value) or _meant(shape, version, name, tree)
        at = paths.field(path, name)
        faults.append(Fault(FaultKind.UNKNOWN_FIELD, at, message, value, remedy))
    return faults


def _of_other_version(
    shape: Record, version: str, unknown: dict[str, object]
) -> tuple[list[str], str, str] | None:
    """Names, message and remedy if some fields are right in another version: v1beta1 or v1."""
    is_beta = version == "v1beta1"
    if shape.struct is objects.DeviceRequest:
        wrapper, inner, what = "exactly", record(objects.ExactDeviceRequest).fields, "the request"
        beta_wraps = False
    elif shape.struct is objects.Device and "name" in shape.fields:
        wrapper, inner, what = "basic", record(objects.Device).fields, "the device"
        beta_wraps = True
    else:
        return None
    other = "v1" if is_beta else "v1beta1"
    rename = f"or write apiVersion: {objects.GROUP}/{other}"
    if wrapper in unknown and is_beta != beta_wraps:
        message = f"{wrapper} is the shape of {other}, and this document is {version}"
        return [wrapper], message, f"move its fields up into {what}, {rename}"
    flat = [name for name in unknown if name in inner]
    if flat and is_beta == beta_wraps:
        stand, them = ("stands", "it") if len(flat) == 1 else ("stand", "them")
        message = f"{', '.join(flat)} {stand} under {wrapper} in {version}, not in {what} itself"
        return flat, message, f"move {them} under {wrapper}, {rename}"
    return None


_HOW_MANY = "count says how many devices are wanted, capacity.requests how much of each"
_CLAIM_OF_OLD = "name the class in devices.requests[].exactly.deviceClassName"
_SPECIAL: dict[tuple[type[meta.Object], str], str] = {
    (objects.DeviceRequest, "limits"): _HOW_MANY,
    (objects.ExactDeviceRequest, "limits"): _HOW_MANY,
    (objects.DeviceSubRequest, "limits"): _HOW_MANY,
    (objects.DeviceRequest, "resources"): _HOW_MANY,
    (objects.ExactDeviceRequest, "resources"): _HOW_MANY,
    (objects.DeviceSubRequest, "adminAccess"): "only a request under exactly can have it",
    (objects.ResourceClaimSpec, "resourceClassName"): f"gone since 1.31; {_CLAIM_OF_OLD}",
    (objects.ResourceClaimSpec, "allocationMode"): f"gone since 1.31; {_CLAIM_OF_OLD}",
    (objects.ResourceClaimSpec, "controller"): "gone since 1.32, as is allocation by controllers",
    (objects.DeviceClassSpec, "suitableNodes"): "gone since 1.32; use node labels and affinity",
    (objects.DeviceTaintSelector, "deviceClassName"): "gone since 1.35; select by driver and pool",
    (objects.DeviceTaintSelector, "selectors"): "gone since 1.35; select by driver and pool",
    (objects.Device, "nodeAllocatableResourceMappings"): (
        "1.36's name; since 1.37 it is nodeAllocatableResources with mapping and overhead"
    ),
    (objects.ResourceSliceSpec, "driverName"): "it is driver since 1.31",
    (objects.DeviceCapacity, "quantity"): "write value",
}


def _special(shape: Record, name: str, value: object) -> str:
    if shape.struct is core.PodResourceClaim and name == "source":
        inner = (
            ", ".join(f"{key}: {text}" for key, text in value.items())
            if (isinstance(value, dict))
            else "resourceClaimName or resourceClaimTemplateName"
        )
        return f"dropped in 1.31: write {inner} directly, without source"
    return _SPECIAL.get((shape.struct, name), "")


def _meant(shape: Record, version: str, name: str, tree: dict[str, object]) -> str:
    """A field that is spelled nearly so, or the place where a field of this name belongs."""
    free = [field for field in shape.fields if field not in tree]
    squeezed = _squeeze(name)
    for field in shape.fields:
        if _squeeze(field) == squeezed:
            return f"field names are case-sensitive: write {field}"
    for field, inside in shape.fields.items():
        if isinstance(inside.shape, Record) and name in inside.shape.fields:
            return f"it belongs under {field}"
    if near := nearest.names(name, free, 1):
        return f"did you mean {near[0]}?"
    owners = _owners(version).get(name, ())
    if 0 < len(owners) <= 2:
        return f"it is a field of {' or '.join(owners)}: check the indentation"
    return f"its fields are {', '.join(shape.fields)}" if len(shape.fields) <= 8 else ""


def _squeeze(name: str) -> str:
    return re.sub(r"[-_ ]", "", name).lower()


@cache
def _owners(version: str) -> dict[str, tuple[str, ...]]:
    """Which records of the resource API have a field of a name."""
    owners: dict[str, dict[str, None]] = {}
    waiting: list[Shape] = [
        record(kind.struct, version) for kind in kinds.KINDS if kind.group == objects.GROUP
    ]
    while waiting:
        match waiting.pop():
            case ListOf(item) | MapOf(item):
                waiting.append(item)
            case Record() as shape if shape.struct is not meta.ObjectMeta:
                for name, field in shape.fields.items():
                    owners.setdefault(name, {})[_with_article(shape)] = None
                    waiting.append(field.shape)
    return {name: tuple(sorted(titles)) for name, titles in owners.items()}


# --- what a record is called ---------------------------------------------------------------------

_TITLES: dict[type[meta.Object], str] = {
    meta.ObjectMeta: "an object's metadata",
    objects.ExactDeviceRequest: "a device request",
    objects.DeviceRequest: "a device request",
    objects.DeviceSubRequest: "an alternative of firstAvailable",
    objects.DeviceClaim: "a claim's devices",
    objects.CELDeviceSelector: "a CEL selector",
    core.PodResourceClaim: "a Pod's resource claim",
    core.ContainerResourceClaim: "a container's claim",
    objects.DeviceRequestAllocationResult: "an allocation result",
}


def _with_article(shape: Record) -> str:
    """`a device request`, `a ResourceClaim`, `a resource slice spec`."""
    if title := _TITLES.get(shape.struct):
        return title
    name = shape.struct.__name__
    if shape.struct not in kinds.BY_STRUCT:
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
    return f"an {name}" if name[0] in "aeioAEIO" else f"a {name}"
