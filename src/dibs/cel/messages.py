"""The few messages an expression can make: Google's well-known types, which become plain values.

Kubernetes declares no message of its own here; `kubernetes.DRADevice` has fields and no
constructor. Source: the CEL specification, "well-known types".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dibs.cel import runtime, types
from dibs.cel.runtime import EvaluationError, Value, times
from dibs.cel.types import Type

_PREFIX = "google.protobuf."
_WRAPPED: Mapping[str, tuple[Type, Value]] = {
    "BoolValue": (types.BOOL, False),
    "BytesValue": (types.BYTES, b""),
    "DoubleValue": (types.DOUBLE, 0.0),
    "FloatValue": (types.DOUBLE, 0.0),
    "Int32Value": (types.INT, 0),
    "Int64Value": (types.INT, 0),
    "StringValue": (types.STRING, ""),
    "UInt32Value": (types.UINT, runtime.UInt(0)),
    "UInt64Value": (types.UINT, runtime.UInt(0)),
}
_ONE_OF = {
    "null_value": types.DYN,
    "number_value": types.DOUBLE,
    "string_value": types.STRING,
    "bool_value": types.BOOL,
    "struct_value": types.DYN,
    "list_value": types.DYN,
}

FIELDS: Mapping[str, Mapping[str, Type]] = {
    f"{_PREFIX}Duration": {"seconds": types.INT, "nanos": types.INT},
    f"{_PREFIX}Timestamp": {"seconds": types.INT, "nanos": types.INT},
    f"{_PREFIX}Struct": {"fields": types.map_of(types.STRING, types.DYN)},
    f"{_PREFIX}ListValue": {"values": types.list_of(types.DYN)},
    f"{_PREFIX}Value": _ONE_OF,
    f"{_PREFIX}Any": {"type_url": types.STRING, "value": types.BYTES},
    **{f"{_PREFIX}{name}": {"value": each} for name, (each, _) in _WRAPPED.items()},
}
# The type an expression of such a message has.
RESULTS: Mapping[str, Type] = {
    f"{_PREFIX}Duration": types.DURATION,
    f"{_PREFIX}Timestamp": types.TIMESTAMP,
    f"{_PREFIX}Struct": types.map_of(types.STRING, types.DYN),
    f"{_PREFIX}ListValue": types.list_of(types.DYN),
    f"{_PREFIX}Value": types.DYN,
    f"{_PREFIX}Any": types.ANY,
    **{f"{_PREFIX}{name}": types.DYN for name in _WRAPPED},
}


def is_known(name: str) -> bool:
    return name in FIELDS


def build(name: str, fields: Mapping[str, Value]) -> Value:
    """The value of `name{fields}`. Raises for a type that has no constructor."""
    short = name.removeprefix(_PREFIX)
    maker = _MAKERS.get(short)
    if maker is not None:
        return maker(fields)
    if short in _WRAPPED:
        return fields.get("value", _WRAPPED[short][1])
    raise EvaluationError(f"unknown type '{name}'")


def _duration(fields: Mapping[str, Value]) -> Value:
    return times.duration(_nanoseconds(fields))


def _timestamp(fields: Mapping[str, Value]) -> Value:
    return times.timestamp(_nanoseconds(fields))


def _nanoseconds(fields: Mapping[str, Value]) -> int:
    seconds, nanoseconds = fields.get("seconds", 0), fields.get("nanos", 0)
    if type(seconds) is not int or type(nanoseconds) is not int:
        raise runtime.no_overload()
    return seconds * times.SECOND + nanoseconds


def _struct(fields: Mapping[str, Value]) -> Value:
    return fields.get("fields", runtime.EMPTY_MAP)


def _list(fields: Mapping[str, Value]) -> Value:
    return fields.get("values", ())


def _value(fields: Mapping[str, Value]) -> Value:
    return list(fields.values())[-1] if fields else None


def _any(fields: Mapping[str, Value]) -> Value:
    raise EvaluationError("unsupported conversion to ref.Val: (*dynamicpb.Message)")


_MAKERS: Mapping[str, Callable[[Mapping[str, Value]], Value]] = {
    "Duration": _duration,
    "Timestamp": _timestamp,
    "Struct": _struct,
    "ListValue": _list,
    "Value": _value,
    "Any": _any,
}
