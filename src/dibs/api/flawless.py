"""The quick look at a tree: is it just what its kind looks like, and does it lack nothing?

Most are, and a yes costs a tenth of saying what is wrong, and where: that is for `shape` and
`openapi.strict`, which are asked after a no. A no here may be wrong, a yes may not. One function a
shape, made at its first use, since every object that is written is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any

from dibs.api.schema.shapes import Field, ListOf, MapOf, Record, Scalar, Shape
from dibs.values.quantity import NotAQuantity, Quantity

Look = Callable[[Any], bool]

TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?"
    r"(Z|[+-][0-9]{2}:[0-9]{2})",
    re.ASCII,
)
BASE64 = re.compile(r"([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", re.ASCII)
BITS = {"int32": 31, "int64": 63}
_HEAD = ("apiVersion", "kind")


def is_fitting(record: Record, tree: Mapping[str, Any]) -> bool:
    """Whether it has known fields only, each of its type and none of them null, and no quantity
    is written as a number."""
    look = _fitting(record)
    return look({name: value for name, value in tree.items() if name not in _HEAD})


def is_whole(record: Record, tree: Mapping[str, Any]) -> bool:
    """Whether a tree that fits has all required fields, and allowed values where there are few."""
    look = _whole(record)
    return look is None or look(tree)


# --- of its shape ---------------------------------------------------------------------------------


@cache
def _fitting(shape: Shape) -> Look:
    match shape:
        case Record():
            return _record_fitting(shape.fields)
        case ListOf(item):
            return _list_fitting(item)
        case MapOf(item):
            return _map_fitting(item)
        case Scalar(name):
            return _SCALARS.get(name, _is_mapping)


def _record_fitting(known: Mapping[str, Field]) -> Look:
    # Found when they are met: structs may have themselves in them.
    looks: dict[str, Look] = {}

    def look(value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        for name, inner in value.items():
            found = looks.get(name)
            if found is None:
                if name not in known:
                    return False
                found = looks[name] = _fitting(known[name].shape)
            if not found(inner):
                return False
        return True

    return look


def _list_fitting(item: Shape) -> Look:
    def look(value: Any) -> bool:
        if not isinstance(value, list):
            return False
        is_fit = _fitting(item)
        return all(map(is_fit, value))

    return look


def _map_fitting(item: Shape) -> Look:
    def look(value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        is_fit = _fitting(item)
        return all(map(is_fit, value.values()))

    return look


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool)


def _is_whole_32(value: Any) -> bool:
    return type(value) is int and -(1 << 31) <= value < 1 << 31


def _is_whole_64(value: Any) -> bool:
    return type(value) is int and -(1 << 63) <= value < 1 << 63


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _is_base64(value: Any) -> bool:
    return isinstance(value, str) and bool(BASE64.fullmatch("".join(value.split())))


def _is_time(value: Any) -> bool:
    return isinstance(value, str) and bool(TIME.fullmatch(value))


def _is_whole_or_text(value: Any) -> bool:
    return isinstance(value, str) or type(value) is int


def _is_mapping(value: Any) -> bool:
    return isinstance(value, dict)


def _is_amount(value: Any) -> bool:
    return isinstance(value, str) and _reads_as_amount(value)


# Belongs to nobody's state: what a text means never changes. Pods ask for the same few amounts.
@lru_cache(maxsize=1024)
def _reads_as_amount(text: str) -> bool:
    try:
        Quantity.parse(text.strip(" \t\r\n"))
    except NotAQuantity:
        return False
    return True


_SCALARS: Mapping[str, Look] = {
    "string": _is_text,
    "bool": _is_truth,
    "int32": _is_whole_32,
    "int64": _is_whole_64,
    "double": _is_number,
    "bytes": _is_base64,
    "Quantity": _is_amount,
    "Time": _is_time,
    "MicroTime": _is_time,
    "IntOrString": _is_whole_or_text,
}


# --- complete -------------------------------------------------------------------------------------


@cache
def _whole(shape: Shape) -> Look | None:
    """None where nothing can be missing."""
    match shape:
        case Record():
            return _record_whole(shape.fields)
        case ListOf(item) if not isinstance(item, Scalar):
            return lambda value: _all_whole(item, value)
        case MapOf(item) if not isinstance(item, Scalar):
            return lambda value: _all_whole(item, value.values())
        case _:
            return None


def _all_whole(item: Shape, values: Any) -> bool:
    look = _whole(item)
    return look is None or all(map(look, values))


def _record_whole(known: Mapping[str, Field]) -> Look:
    required = frozenset(
        name for name, field in known.items() if field.is_required and field.default is None
    )
    choices = {name: frozenset(field.enum) for name, field in known.items() if field.enum}
    looks: dict[str, Look | None] = {}

    def look(value: Any) -> bool:
        if not required <= value.keys():
            return False
        for name, inner in value.items():
            if name not in looks:
                looks[name] = _whole(known[name].shape) if name in known else None
            found = looks[name]
            if found is not None and not found(inner):
                return False
            if name in choices and not (inner == "" or _are_among(inner, choices[name])):
                return False
        return True

    return look


def _are_among(value: Any, choices: frozenset[str]) -> bool:
    return choices.issuperset(value if isinstance(value, list) else (value,))
