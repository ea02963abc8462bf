"""Objects of any kind with any fields set, valid or not: for laws about reading and writing.

`worlds` makes what a cluster may really hold; here every field of every struct has its turn,
with texts that are awkward in YAML and JSON.
"""

from __future__ import annotations

import random
import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar, get_args, get_origin

import msgspec

from dibs.values.quantity import Quantity

Item = TypeVar("Item", bound=msgspec.Struct)

TEXTS = ("a", "null", "yes", "1", "1.0.0", "a: b", " x ", "#", "ü", "two\nlines", "'\"", "0x1", "-")
KEYS = ("a", "example.com/b", "on", "1")
QUANTITIES = ("0", "1", "500m", "80Gi", "1e3", "1.500", "1025Ki", "9007199254740993")
TIMES = ("2026-01-01T00:00:00Z", "2026-11-29T15:43:44Z")
LEAVES: tuple[Any, ...] = (None, True, 0, 1.5, "", "text", [], {})
DEEPEST = 7


def drawn(chance: random.Random, struct: type[Item]) -> Item:
    """An instance of `struct` with some fields set."""
    return _struct(chance, struct, 0)


def _struct(chance: random.Random, struct: type[Item], depth: int) -> Item:
    values: dict[str, Any] = {}
    for name, hint in _hints(struct):
        # Deep down little is set, so that the whole stays small.
        if depth < DEEPEST and chance.random() < (0.6 if depth < 3 else 0.35):
            values[name] = _field(chance, name, hint, depth + 1)
    return struct(**values)


@cache
def _hints(struct: type[msgspec.Struct]) -> tuple[tuple[str, Any], ...]:
    hints = typing.get_type_hints(struct)
    return tuple((each.name, hints[each.name]) for each in msgspec.structs.fields(struct))


def _field(chance: random.Random, name: str, hint: Any, depth: int) -> Any:
    if name == "rest":
        return {"fieldOfLater": _tree(chance, depth)}
    if name.endswith(("_timestamp", "_time", "time_added")):
        return chance.choice(TIMES)
    if hint is Any:
        return {"key": _tree(chance, depth)}
    return _value(chance, hint, depth)


def _value(chance: random.Random, hint: Any, depth: int) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return _value(chance, next(each for each in arguments if each is not type(None)), depth)
    if origin is tuple:
        return tuple(_value(chance, arguments[0], depth) for _ in range(chance.randint(1, 2)))
    if origin is Mapping:
        keys = chance.sample(KEYS, chance.randint(1, 2))
        return {key: _value(chance, arguments[1], depth) for key in keys}
    if hint is Any:
        return _tree(chance, depth)
    if hint is bool:
        return chance.random() < 0.5
    if hint is int:
        return chance.choice((1, 7, -1, 2**31 - 1))
    if hint is str:
        return chance.choice(TEXTS)
    if hint is Quantity:
        return Quantity.parse(chance.choice(QUANTITIES))
    assert issubclass(hint, msgspec.Struct), hint
    return _struct(chance, hint, depth)


def _tree(chance: random.Random, depth: int) -> Any:
    if depth < DEEPEST and chance.random() < 0.5:
        return {key: _tree(chance, depth + 1) for key in chance.sample(KEYS, 2)}
    return chance.choice(LEAVES)
