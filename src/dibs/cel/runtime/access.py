"""Reaching into values: index, selection, presence, iteration, size, and the final verdict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dibs.cel.runtime.comparing import MAPS
from dibs.cel.runtime.errors import EvaluationError
from dibs.cel.runtime.naming import go_class, type_name
from dibs.cel.runtime.texts import as_text
from dibs.cel.runtime.values import (
    CIDR,
    EMPTY_MAP,
    IP,
    DefaultMap,
    Map,
    Optional,
    UInt,
    Value,
    key_of,
    keys_of,
)


class _Absent:
    """What `find` returns where there is nothing; null is something."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()


def lookup(container: Value, key: Value) -> Value:
    """`container[key]` and `container.key`. Raises `no such key`, `index out of bounds` …"""
    kind = type(container)
    if kind in MAPS:
        if type(key) is str:
            return container[key]
        found = find(container, key)
        if found is ABSENT:
            raise _no_such_key(key)
        return found
    if kind is tuple:
        position = _position(key)
        if not 0 <= position < len(container):
            raise EvaluationError(f"index out of bounds: {position}")
        return container[position]
    if kind is Optional:
        return find_optional(container, key)
    raise _no_such_key(key)


def find(container: Value, key: Value) -> Value:
    """The value at `key`, or `ABSENT`: for `has()`, `.?key` and `[?key]`.

    A list asked with an index that is no number is an error; a scalar has nothing anywhere.
    """
    kind = type(container)
    if kind in MAPS:
        return _find_in_map(container, key)
    if kind is tuple:
        position = _position(key)
        return container[position] if 0 <= position < len(container) else ABSENT
    if kind is Optional:
        return find(container.value, key) if container.present else ABSENT
    return ABSENT


def find_optional(container: Value, key: Value) -> Optional:
    """`container.?key`: the value wrapped, `optional.none()` where there is none."""
    found = find(container, key)
    return Optional(present=False) if found is ABSENT else Optional(found)


def has_key(entries: Map, key: Value) -> bool:
    """`key in entries`: real keys only, also in a map with a default."""
    if type(key) is str:
        return key in entries
    return key_of(key) in entries


def _find_in_map(entries: Map, key: Value) -> Value:
    if has_key(entries, key):
        return entries[key_of(key)]
    return EMPTY_MAP if type(entries) is DefaultMap else ABSENT


def _position(key: Value) -> int:
    kind = type(key)
    if kind is int or kind is UInt:
        return int(key)
    if kind is float:
        if key.is_integer():
            return int(key)
        raise EvaluationError(f"unsupported index value {as_text(key)} in list")
    raise EvaluationError(f"unsupported index type '{type_name(key)}' in list")


def _no_such_key(key: Value) -> EvaluationError:
    return EvaluationError(f"no such key: {as_text(key)}")


def iterate(value: Value) -> Iterator[Value]:
    """Yield what a one-variable comprehension runs over: elements, or a map's keys."""
    kind = type(value)
    if kind is tuple:
        return iter(value)
    if kind in MAPS:
        return keys_of(value)
    raise EvaluationError(f"got '{go_class(value)}', expected iterable type")


def iterate_pairs(value: Value) -> Iterator[tuple[Value, Value]]:
    """Yield what a two-variable comprehension runs over: (index, element) or (key, value)."""
    kind = type(value)
    if kind is tuple:
        return iter(enumerate(value))
    if kind in MAPS:
        return zip(keys_of(value), value.values(), strict=True)
    raise EvaluationError(f"unsupported comprehension range type: {go_class(value)}")


def size_of(value: Value) -> int:
    """The size that costs go by: code points, bytes, elements, entries; of all else 1.

    An optional counts as its content, an address as its bytes, a prefix as those it fixes.
    """
    kind = type(value)
    if kind is str or kind is bytes or kind is tuple or kind in MAPS:
        return len(value)
    if kind is IP:
        return len(value.address.packed)
    if kind is CIDR:
        length: int = value.length
        return -(-length // 8)
    if kind is Optional and value.present:
        return size_of(value.value)
    return 1


def verdict(value: Value) -> bool:
    """What an expression's result says of the device. Raises `CEL result of type …`."""
    if type(value) is bool:
        return value
    inner = value
    while type(inner) is Optional and inner.present:
        inner = inner.value
    if type(inner) is bool:
        return inner
    name = type_name(inner)
    why = _WHY_NOT_BOOL.get(name) or f"type conversion error from '{name.split('.')[-1]}' to 'bool'"
    name = type_name(value)
    raise EvaluationError(f"CEL result of type {name} could not be converted to bool: {why}")


_WHY_NOT_BOOL: Final = {
    "string": "unsupported native conversion from string to 'bool'",
    "int": "unsupported type conversion from 'int' to bool",
    "uint": "unsupported type conversion from 'uint' to bool",
    "double": "type conversion error from Double to 'bool'",
    "bytes": "type conversion error from Bytes to 'bool'",
    "list": "type conversion error from list to 'bool'",
    "map": "type conversion error from map to 'bool'",
    "type": "type conversion not supported for 'type'",
    "optional_type": "optional.none() dereference",
}
