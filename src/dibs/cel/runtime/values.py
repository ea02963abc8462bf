"""How the values of the language are represented in Python.

int → int, uint → UInt, double → float, bool, string → str, bytes, null → None, list → tuple,
map → Map, and the classes below. The variable `device` is a `Map` of its four fields. Nothing is
changed once built, maps included. Equality and order are `comparing`'s: Python's `==` would take
True for 1.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any, Final

from dibs.cel.runtime.errors import EvaluationError
from dibs.values.quantity import Quantity
from dibs.values.version import Semver

# CEL is dynamically typed: a runtime value is any of the classes named above.
Value = Any

LEAST_INT, MOST_INT, MOST_UINT = -(2**63), 2**63 - 1, 2**64 - 1


class UInt(int):
    """A 64-bit unsigned int. Arithmetic gives a plain int: wrap the result."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{int(self)}u"


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A moment: nanoseconds since 1970-01-01T00:00:00Z, from year 1 to year 9999.

    `offset_s` is the zone it was written in; only `string()` shows it.
    """

    nanoseconds: int
    offset_s: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A span in nanoseconds, within 64 bits."""

    nanoseconds: int


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A type as a value: `type(1)`, or the identifier `int`. `name` is all that is compared."""

    name: str


class Optional:
    """A value that may be missing. Ask `present` before `value`."""

    __slots__ = ("present", "value")

    def __init__(self, value: Value = None, *, present: bool = True) -> None:
        self.value = value
        self.present = present

    def __repr__(self) -> str:
        return f"optional.of({self.value!r})" if self.present else "optional.none()"


NONE: Final = Optional(present=False)


@dataclass(frozen=True, slots=True)
class IP:
    """An address without zone, never IPv4-mapped."""

    address: IPv4Address | IPv6Address

    def __str__(self) -> str:
        return str(self.address)


@dataclass(frozen=True, slots=True)
class CIDR:
    """A prefix as it was written: `address` may have bits beyond `length`."""

    address: IPv4Address | IPv6Address
    length: int

    @property
    def network(self) -> IPv4Network | IPv6Network:
        if isinstance(self.address, IPv4Address):
            return IPv4Network((self.address, self.length), strict=False)
        return IPv6Network((self.address, self.length), strict=False)

    def __str__(self) -> str:
        return f"{self.address}/{self.length}"


@dataclass(frozen=True, slots=True)
class URL:
    """An absolute URL or path, in parts (`libraries/urls.py` parses). `text` decides equality."""

    text: str
    scheme: str
    host: str
    path: str
    query: str


@dataclass(frozen=True, slots=True)
class NamedFormat:
    """A named check of a string's form; `libraries/formats.py` holds what each name means."""

    name: str


class _Key:
    """Stands for a key among a map's where Python would take it for another, or for none.

    True would be the key 1; a list or a Quantity is a key that nothing finds.
    """

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    def __repr__(self) -> str:
        return str(self.value).lower()


_TRUE_KEY, _FALSE_KEY = _Key(True), _Key(False)
_KEY_CLASSES = frozenset((str, int, UInt, float, type(None), Timestamp, Duration))


def key_of(value: Value) -> Hashable:
    """Say under what Python key `value` is stored. Strings and numbers stand for themselves.

    1, 1u and 1.0 are one key, true is another. Bytes, lists and opaque values may be keys but are
    found nowhere (upstream panics on some of them, cel_findings "defects" 4).
    """
    kind = type(value)
    if kind is bool:
        return _TRUE_KEY if value else _FALSE_KEY
    if kind in _KEY_CLASSES:
        return value  # type: ignore[no-any-return]
    return _Key(value)


class Map(dict[Hashable, Value]):
    """A CEL map: a dict whose keys went through `key_of`.

    `m[key]` with a str key is the plain dict look-up; a miss raises `no such key`. Build it with
    `Map.of(pairs)`, or directly when all keys are strings. Iterate with `keys_of`.
    """

    __slots__ = ()

    @classmethod
    def of(cls, pairs: Iterable[tuple[Value, Value]]) -> Map:
        return cls((key_of(key), value) for key, value in pairs)

    def __missing__(self, key: Hashable) -> Value:
        raise EvaluationError(f"no such key: {key}")


class DefaultMap(Map):
    """The outer map of attributes or capacities: an unknown domain is the empty map.

    `in`, iteration and size see only the real domains (dict does not ask `__missing__` for
    those); `m[key]` and `has` find the default, also for a key of another type.
    """

    __slots__ = ()

    def __missing__(self, key: Hashable) -> Value:
        return EMPTY_MAP


EMPTY_MAP: Final = Map()


def keys_of(entries: Map) -> Iterator[Value]:
    """Yield the keys as CEL values, in the order they were put in."""
    return (key.value if type(key) is _Key else key for key in entries)


__all__ = [
    "CIDR",
    "EMPTY_MAP",
    "IP",
    "LEAST_INT",
    "MOST_INT",
    "MOST_UINT",
    "NONE",
    "URL",
    "DefaultMap",
    "Duration",
    "Map",
    "NamedFormat",
    "Optional",
    "Quantity",
    "Semver",
    "Timestamp",
    "TypeValue",
    "UInt",
    "Value",
    "key_of",
    "keys_of",
]
