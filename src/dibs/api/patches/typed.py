"""Objects seen through their schema: what is a leaf, what tells items apart, which fields are set.

The ground of server-side apply; `comparing` and `merging` stand on it. A leaf is a scalar, or a
list, map or struct that is owned as a whole; everything else is owned piece by piece. What is not
of its schema counts as a leaf here; `wellformed` refuses it first where that matters.
Source: KEP-555; the merging rules of x-kubernetes-list-type and x-kubernetes-map-type.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Final

from dibs.api.patches import fieldsets
from dibs.api.patches.fieldsets import MEMBER, SELF, Fields
from dibs.api.schema.shapes import Field, ListOf, MapOf, Record, Scalar, Shape

Value = Any


class _Absent(Enum):
    ABSENT = 0


ABSENT: Final = _Absent.ABSENT

# What the schema doesn't know is owned as a whole, as is what only a driver understands.
_RAW = Scalar("Raw")


class Untypable(ValueError):
    """An item of a list can't be told from the others; the message says why."""


def is_leaf(shape: Shape) -> bool:
    match shape:
        case ListOf():
            return shape.kind == "atomic"
        case MapOf() | Record():
            return shape.is_atomic
        case _:
            return True


def entry(shape: Shape, name: str) -> tuple[Shape, bool]:
    """The shape of one entry of a mapping, and whether it is a leaf by what the field says."""
    if isinstance(shape, Record):
        known = shape.fields.get(name)
        if known is None:
            return _RAW, False
        return known.shape, known.is_atomic
    assert isinstance(shape, MapOf)
    return shape.item, False


def fits(shape: Shape, value: Value) -> bool:
    return isinstance(value, list) if isinstance(shape, ListOf) else isinstance(value, dict)


def element(item: Value, shape: ListOf) -> str:
    """Return what tells `item` from the others of its list. Raises Untypable."""
    if shape.kind == "set":
        if isinstance(item, dict | list) or item is None:
            raise Untypable("associative list without keys has an element that is no scalar")
        return fieldsets.value(item)
    if not isinstance(item, dict):
        raise Untypable("associative list with keys may not have non-map elements")
    keys: dict[str, Value] = {}
    for name in sorted(shape.keys):
        if name in item:
            keys[name] = item[name]
        elif (known := _field(shape.item, name)) and known.default is not None:
            keys[name] = known.default
    if not keys:
        wanted = ", ".join(f'"{name}"' for name in shape.keys)
        raise Untypable(f"associative list with keys has an element that omits all of [{wanted}]")
    return fieldsets.key(keys)


def _field(shape: Shape, name: str) -> Field | None:
    return shape.fields.get(name) if isinstance(shape, Record) else None


def elements(items: list[Value], shape: ListOf) -> list[str]:
    """An item that can't be told is told by its place."""
    named: list[str] = []
    for index, item in enumerate(items):
        try:
            named.append(element(item, shape))
        except Untypable:
            named.append(f"i:{index}")
    return named


def field_set(tree: Value, shape: Shape, whole: bool = False) -> Fields:
    """Return the fields that an object sets; `whole` says that it is a leaf."""
    if whole or is_leaf(shape):
        return MEMBER
    if not fits(shape, tree):
        return {} if tree is None else MEMBER
    if isinstance(shape, ListOf):
        return _set_of_list(tree, shape)
    result: Fields = {}
    for name, value in tree.items():
        inner, inner_whole = entry(shape, name)
        below = field_set(value, inner, inner_whole)
        # Keys of maps are owned beside what is in them, and so is what is empty.
        if value is None or value == {} or isinstance(shape, MapOf):
            below = {SELF: {}, **below}
        if below:
            result[fieldsets.field(name)] = below
    return result


def _set_of_list(items: list[Value], shape: ListOf) -> Fields:
    named = elements(items, shape)
    result: Fields = {}
    for name, item in zip(named, items, strict=True):
        # Of items with one name nobody knows which is whose: they are owned together.
        is_double = name in result
        result[name] = MEMBER if is_double else {SELF: {}, **field_set(item, shape.item)}
    return result
