"""What is wrong with one field of one object, in the API server's types and words.

`FieldFault` is a value: rules collect all of an object's. The constructors below are named like
the types, so that a rule reads as what it says. Nothing here decides anything.
Source: apimachinery, field errors.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec

from dibs.values.quantity import Quantity
from dibs.values.quoted import quoted

# A whole spec can be the value of a fault; a message shows its beginning.
_SHOWN = 240


class FaultType(StrEnum):
    """The name is what a Status cause carries as `reason`."""

    NOT_FOUND = "FieldValueNotFound"
    REQUIRED = "FieldValueRequired"
    DUPLICATE = "FieldValueDuplicate"
    INVALID = "FieldValueInvalid"
    NOT_SUPPORTED = "FieldValueNotSupported"
    FORBIDDEN = "FieldValueForbidden"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"
    INTERNAL = "InternalError"


_TITLES = {
    FaultType.NOT_FOUND: "Not found",
    FaultType.REQUIRED: "Required value",
    FaultType.DUPLICATE: "Duplicate value",
    FaultType.INVALID: "Invalid value",
    FaultType.NOT_SUPPORTED: "Unsupported value",
    FaultType.FORBIDDEN: "Forbidden",
    FaultType.TOO_LONG: "Too long",
    FaultType.TOO_MANY: "Too many",
    FaultType.INTERNAL: "Internal error",
}
_WITHOUT_VALUE = {
    FaultType.REQUIRED, FaultType.FORBIDDEN, FaultType.TOO_LONG, FaultType.INTERNAL,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FieldFault:
    """`path` is the field in v1, with JSON names: `spec.devices.requests[0].exactly.count`.

    `value` is what stands there; for a string that is too long it is left out.
    """

    type: FaultType
    path: str
    value: object = None
    detail: str = ""

    @property
    def body(self) -> str:
        """The text without the path, as a Status cause has it."""
        title = _TITLES[self.type]
        shown = "" if self.type in _WITHOUT_VALUE else f": {_shown(self.value)}"
        return f"{title}{shown}" + (f": {self.detail}" if self.detail else "")

    def __str__(self) -> str:
        return f"{self.path}: {self.body}"


def required(path: str, detail: str = "") -> FieldFault:
    return FieldFault(FaultType.REQUIRED, path, "", detail)


def invalid(path: str, value: object, detail: str) -> FieldFault:
    return FieldFault(FaultType.INVALID, path, value, detail)


def duplicate(path: str, value: object) -> FieldFault:
    return FieldFault(FaultType.DUPLICATE, path, value)


def not_found(path: str, value: object, detail: str = "") -> FieldFault:
    return FieldFault(FaultType.NOT_FOUND, path, value, detail)


def not_supported(path: str, value: object, known: Iterable[str]) -> FieldFault:
    listed = ", ".join(quoted(each) for each in sorted(known))
    return FieldFault(FaultType.NOT_SUPPORTED, path, value, f"supported values: {listed}")


def forbidden(path: str, detail: str) -> FieldFault:
    return FieldFault(FaultType.FORBIDDEN, path, "", detail)


def too_long(path: str, limit: int) -> FieldFault:
    return FieldFault(FaultType.TOO_LONG, path, "", f"may not be more than {limit} bytes")


def too_many(path: str, count: int, limit: int) -> FieldFault:
    items = "item" if limit == 1 else "items"
    return FieldFault(FaultType.TOO_MANY, path, count, f"must have at most {limit} {items}")


def internal(path: str, detail: str) -> FieldFault:
    return FieldFault(FaultType.INTERNAL, path, None, detail)


def _shown(value: object) -> str:
    """Go prints structs in Go syntax; here they are JSON, cut off when long."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value) if abs(value) < 10**100 else "a number of more than 100 digits"
        case str():
            return quoted(value)
        case Quantity():
            return quoted(value.as_written)
    try:
        text = json.dumps(_plain(value), ensure_ascii=False, default=str)
    except RecursionError:
        # Driver parameters may be nested without end; they have a fault of their own.
        return quoted("<value omitted>")
    # A lone surrogate could not be printed.
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _plain(value: object) -> Any:
    def hook(other: object) -> str:
        return other.as_written if isinstance(other, Quantity) else str(other)

    return msgspec.to_builtins(value, enc_hook=hook, str_keys=True)
