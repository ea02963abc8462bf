"""Whether a tree has the shape of its kind, field by field; what hasn't a place is cut off.

For the kinds that are kept as trees, and those that the model knows in part. The kinds of
resource.k8s.io are read by `model.codec`, which says more. Which unknown fields are told to whom is
`openapi.strict`'s.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from dibs.api import flawless
from dibs.api.schema.shapes import Field, ListOf, MapOf, Record, Scalar, Shape
from dibs.model import paths
from dibs.model.rules import FieldFault
from dibs.model.rules.faults import not_supported, required
from dibs.values.quantity import NotAQuantity, Quantity

# One body is told this many faults; nobody reads more.
_MAX_FAULTS = 50

_NOTHING = object()


@dataclass(frozen=True, slots=True)
class Fitting:
    """The part of a tree that fits. `faults` are of types: the body can't be read at all."""

    tree: dict[str, Any]
    faults: list[str]


def fit(record: Record, tree: Mapping[str, Any]) -> Fitting:
    """Return the tree without the fields that the record doesn't have, and without nulls."""
    if flawless.is_fitting(record, tree):
        return Fitting(dict(tree), [])
    head = {key: tree[key] for key in ("apiVersion", "kind") if key in tree}
    faults: list[str] = []
    return Fitting(head | _record(record, tree, "", faults), faults)


def _fit(shape: Shape, value: Any, path: str, faults: list[str]) -> Any:
    match shape:
        case Record():
            return _record(shape, value, path, faults)
        case ListOf(item):
            if isinstance(value, list):
                return _list(item, value, path, faults)
            return _mistyped("a list", value, path, faults)
        case MapOf(item):
            if isinstance(value, dict):
                return _map(item, value, path, faults)
            return _mistyped("a mapping", value, path, faults)
        case Scalar(name):
            if _is_scalar(name, value):
                # A quantity may be written as a number; it is stored as text.
                return str(value) if name == "Quantity" else value
            return _mistyped(_CALLED.get(name, "text"), value, path, faults)


def _record(shape: Record, value: Any, path: str, faults: list[str]) -> Any:
    if not isinstance(value, dict):
        return _mistyped("a mapping", value, path, faults)
    known = shape.fields
    fitted = {}
    for name, inner in value.items():
        if name not in known or inner is None:
            continue
        part = _fit(known[name].shape, inner, paths.field(path, name), faults)
        if part is not _NOTHING:
            fitted[name] = part
    return fitted


def _list(item: Shape, value: list[Any], path: str, faults: list[str]) -> list[Any]:
    parts = (
        _fit(item, inner, paths.entry(path, at), faults)
        for at, inner in enumerate(value)
        if inner is not None
    )
    return [part for part in parts if part is not _NOTHING]


def _map(item: Shape, value: dict[str, Any], path: str, faults: list[str]) -> dict[str, Any]:
    parts = {
        key: _fit(item, inner, paths.entry(path, key), faults)
        for key, inner in value.items()
        if inner is not None
    }
    return {key: part for key, part in parts.items() if part is not _NOTHING}


_CALLED = {
    "bool": "true or false",
    "int32": "a whole number of 32 bits",
    "int64": "a whole number of 64 bits",
    "double": "a number",
    "Quantity": "a quantity",
    "Time": "a time such as 2026-01-31T12:00:00Z",
    "MicroTime": "a time such as 2026-01-31T12:00:00.000000Z",
    "IntOrString": "a whole number or text",
    "Raw": "a mapping",
    "FieldsV1": "a mapping",
    "bytes": "text in base64",
}


def _is_scalar(name: str, value: Any) -> bool:
    match name:
        case "string":
            return isinstance(value, str)
        case "bool":
            return isinstance(value, bool)
        case "int32" | "int64":
            return (
                type(value) is int
                and -(1 << flawless.BITS[name]) <= value < 1 << flawless.BITS[name]
            )
        case "double":
            return type(value) in (int, float)
        case "bytes":
            plain = isinstance(value, str) and "".join(value.split())
            return isinstance(plain, str) and bool(flawless.BASE64.fullmatch(plain))
        case "Quantity":
            return _is_quantity(value)
        case "Time" | "MicroTime":
            return isinstance(value, str) and bool(flawless.TIME.fullmatch(value))
        case "IntOrString":
            return isinstance(value, str) or type(value) is int
        case _:
            return isinstance(value, dict)


def _is_quantity(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    try:
        Quantity.parse(str(value).strip(" \t\r\n"))
    except NotAQuantity:
        return False
    return True


def _mistyped(wanted: str, value: Any, path: str, faults: list[str]) -> Any:
    if len(faults) < _MAX_FAULTS:
        faults.append(f"{path}: expected {wanted}, found {_found(value)}")
    return _NOTHING


def _found(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {value}" if abs(value) < 10**30 else "a very large number"
        case str():
            return f'the text "{value[:40]}"'
        case list():
            return f"a list of {len(value)}"
        case _:
            return "a mapping"


# --- what is always there -------------------------------------------------------------------------

_ZEROS: dict[str, Any] = {"string": "", "bool": False, "int32": 0, "int64": 0, "Quantity": "0"}


def zeroed(shape: Shape, value: Any) -> Any:
    """Return the value with zeros for required fields that were left out, which is how a status
    that is told in parts is shown: clients insist on them. `value` fits the shape."""
    match shape:
        case Record():
            zeros = _zeros(shape)
            found = {name: zero for name, zero in zeros.items() if name not in value}
            for name, part in value.items():
                known = shape.fields.get(name)
                found[name] = zeroed(known.shape, part) if known else part
            return found
        case ListOf(item) if not isinstance(item, Scalar):
            return [zeroed(item, part) for part in value]
        case MapOf(item) if not isinstance(item, Scalar):
            return {key: zeroed(item, part) for key, part in value.items()}
    return value


@cache
def _zeros(shape: Record) -> Mapping[str, Any]:
    return {
        name: _ZEROS[each.shape.name]
        for name, each in shape.fields.items()
        if each.is_required
        and not each.is_pointer
        and each.default is None
        and isinstance(each.shape, Scalar)
        and each.shape.name in _ZEROS
    }


def pruned(shape: Record, tree: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tree without empty structs that `said` doesn't have."""
    kept: dict[str, Any] = {}
    for name, part in tree.items():
        known = shape.fields.get(name)
        if known and isinstance(known.shape, Record) and isinstance(part, dict):
            wanted = said.get(name)
            part = pruned(known.shape, part, wanted if isinstance(wanted, dict) else {})
            if not part and name not in said:
                continue
        kept[name] = part
    return kept


# --- what must be there ---------------------------------------------------------------------------


def missing(record: Record, tree: Mapping[str, Any]) -> Iterator[FieldFault]:
    """Yield a fault for every required field that is absent, every value that isn't one of its
    field's. The tree fits the record."""
    if not flawless.is_whole(record, tree):
        yield from _missing(record, tree, "")


def _missing(shape: Shape, value: Any, path: str) -> Iterator[FieldFault]:
    match shape:
        case Record():
            for name in _required(shape):
                if name not in value:
                    yield required(paths.field(path, name))
            for name, part in value.items():
                inner = shape.fields.get(name)
                if inner is None or (isinstance(inner.shape, Scalar) and not inner.enum):
                    continue
                at = paths.field(path, name)
                yield from _choice(inner, part, at)
                yield from _missing(inner.shape, part, at)
        case ListOf(item) if not isinstance(item, Scalar):
            for index, inner_value in enumerate(value):
                yield from _missing(item, inner_value, paths.entry(path, index))
        case MapOf(item) if not isinstance(item, Scalar):
            for key, inner_value in value.items():
                yield from _missing(item, inner_value, paths.entry(path, key))


@cache
def _required(shape: Record) -> tuple[str, ...]:
    return tuple(
        name for name, inner in shape.fields.items() if inner.is_required and inner.default is None
    )


def _choice(inner: Field, value: Any, path: str) -> Iterator[FieldFault]:
    if not inner.enum or value == "":
        return
    values = value if isinstance(value, list) else [value]
    for each in values:
        if each not in inner.enum:
            yield not_supported(path, each, inner.enum)
