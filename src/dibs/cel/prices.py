"""What one call is charged when it runs: by the sizes of the values it met, not by guesses.

A price that hangs on an overload applies only where the types leave a single one; else the call
costs 1. Of an operand that failed nothing is known: it counts as size 1, as None does here.
Source: the cost rules of cel-go and of Kubernetes' CEL libraries.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from dibs.cel import runtime
from dibs.cel.declare import Overload
from dibs.cel.runtime import Value

LIMIT: Final = 1_000_000

_NEW_LIST: Final = 11
_SMALL: Final = 4096
# ⌈n × 0.1⌉ as the double product rounds, for the sizes that occur.
_TENTHS: Final = tuple(math.ceil(size * 0.1) for size in range(_SMALL))

Values = Sequence[Value]


@dataclass(frozen=True, slots=True)
class Price:
    """`of_operands` is known before the call is made, `of_result` only after."""

    of_operands: Callable[[Values], int] | None = None
    of_result: Callable[[Values, Value], int] | None = None


UNIT: Final = Price()


def of_call(function: str, overloads: tuple[Overload, ...]) -> Price:
    """How the call is charged; `UNIT` when it always costs 1."""
    if len(overloads) == 1:
        single = _BY_OVERLOAD.get(overloads[0].id) or _BY_SINGLE.get(function)
        if single:
            return single
    return _BY_NAME.get(function, UNIT)


def tenth(size: int) -> int:
    """`⌈size × 0.1⌉`: what reading a string of that size costs."""
    return _TENTHS[size] if size < _SMALL else math.ceil(size * 0.1)


def equality(left: Value, right: Value) -> int:
    """The charge of `==`: the smaller side is read; opaque values on the left are compared at 1."""
    if type(left) in _OPAQUE:
        return 1
    return difference(left, right)


def difference(left: Value, right: Value) -> int:
    return tenth(min(runtime.size_of(left), runtime.size_of(right)))


_OPAQUE = frozenset(
    (
        runtime.Quantity,
        runtime.Semver,
        runtime.IP,
        runtime.CIDR,
        runtime.URL,
        runtime.NamedFormat,
    )
)


def _size(values: Values, position: int = 0) -> int:
    """The size where a library looks, to which an optional is a single thing."""
    value = values[position]
    return 1 if type(value) is runtime.Optional else runtime.size_of(value)


def _read(values: Values) -> int:
    return tenth(_size(values))


def _read_twice(values: Values) -> int:
    return math.ceil(_size(values) * 0.2)


def _found(values: Values) -> int:
    return tenth(_size(values) + 1) * math.ceil(_size(values, 1) * 0.25)


# Standard functions see the content of an optional.


def _read_within(values: Values) -> int:
    return tenth(runtime.size_of(values[0]))


def _sum(values: Values) -> int:
    return tenth(runtime.size_of(values[0]) + runtime.size_of(values[1]))


def _compared(values: Values) -> int:
    return difference(values[0], values[1])


def _equal(values: Values) -> int:
    return equality(values[0], values[1])


def _in_list(values: Values) -> int:
    return runtime.size_of(values[1])


def _contains(values: Values) -> int:
    return tenth(runtime.size_of(values[0])) * tenth(runtime.size_of(values[1]))


def _matched(values: Values) -> int:
    pattern = math.ceil(runtime.size_of(values[1]) * 0.25)
    return tenth(runtime.size_of(values[0]) + 1) * pattern


def _joined(values: Values, result: Value) -> int:
    return math.ceil(runtime.size_of(result) * 0.2)


def _traversed(values: Values) -> int:
    """All that is in the value: bytes of strings at 0.1 rounded down, anything else at 1."""
    total, pending = 0, [values[0]]
    while pending:
        value = pending.pop()
        kind = type(value)
        if kind is str:
            total += int(len(value.encode("utf-8", "replace")) * 0.1)
        elif kind is bytes:
            total += int(len(value) * 0.1)
        elif kind is tuple:
            # Empty lists add nothing and can be many where lists share their parts.
            runtime.spend(len(value))
            pending.extend(value)
        elif isinstance(value, runtime.Map):
            pending.extend(runtime.keys_of(value))
            pending.extend(value.values())
        else:
            total += 1
        if total > LIMIT:
            break
    return total


def _prefix_bytes(values: Values) -> int:
    block = values[0]
    return -(-block.length // 8) if type(block) is runtime.CIDR else runtime.size_of(block)


def _contains_ip(values: Values) -> int:
    return tenth(2 * _prefix_bytes(values))


def _contains_cidr(values: Values) -> int:
    width = _prefix_bytes(values)
    return tenth(2 * width) + tenth(width) + 1


def _with_text(price: Callable[[Values], int]) -> Price:
    """An address that is known to be given as text is parsed first."""
    return Price(lambda values: price(values) + tenth(_size(values, 1)))


# Length of each format's pattern, as upstream counts it.
_PATTERNS: Final = {
    "dns1123Label": 30,
    "dns1123Subdomain": 60,
    "dns1035Label": 30,
    "qualifiedName": 60,
    "dns1123LabelPrefix": 30,
    "dns1123SubdomainPrefix": 60,
    "dns1035LabelPrefix": 30,
    "labelValue": 40,
    "uri": 1103,
    "uuid": 70,
    "byte": 84,
    "date": 71,
    "datetime": 71,
}


def _validated(values: Values) -> int:
    if type(values[0]) is not runtime.NamedFormat:
        return 1
    return tenth(1 + _size(values, 1)) * math.ceil(_PATTERNS[values[0].name] * 0.25)


def _counted(values: Values) -> int:
    """`lists.range(n)`: priced before the list is made."""
    count = values[0]
    return (max(count, 0) if type(count) is int else 1) + _NEW_LIST


def _copied(values: Values, result: Value) -> int:
    return runtime.size_of(result) + _NEW_LIST


def _flattened(values: Values) -> int:
    depth = values[1] if len(values) > 1 and type(values[1]) is int else 1
    return _size(values) * max(depth, 0) + _NEW_LIST


def _pairwise(values: Values) -> int:
    """Sorting and `distinct`: as if each element were compared with each, twice."""
    size = _size(values)
    keys = values[-1]
    is_text = type(keys) is tuple and bool(keys) and type(keys[0]) in (str, bytes)
    return int(size * size * (2.1 if is_text else 2.0)) + _NEW_LIST


def _product(values: Values) -> int:
    return _size(values) * _size(values, 1) + 1


def _product_twice(values: Values) -> int:
    return 2 * _size(values) * _size(values, 1) + 1


_BY_OVERLOAD: dict[str, Price] = {
    "add_string": Price(_sum),
    "add_bytes": Price(_sum),
    "in_list": Price(_in_list),
    "contains_string": Price(_contains),
    "starts_with_string": Price(_read_within),
    "ends_with_string": Price(_read_within),
    "matches_string": Price(_matched),
    "string_to_bytes": Price(_read_within),
    "bytes_to_string": Price(_read_within),
    "cidr_contains_ip_string": _with_text(_contains_ip),
    "cidr_contains_cidr_string": _with_text(_contains_cidr),
    **{
        f"{operator}_{kind}": Price(_compared)
        for operator in ("less", "less_equals", "greater", "greater_equals")
        for kind in ("string", "bytes")
    },
}

# By name, where one overload is left.
_BY_SINGLE: dict[str, Price] = {
    "strings.quote": Price(_read_within),
    "format": Price(_read_within),
    "lists.range": Price(_counted),
    "slice": Price(of_result=_copied),
    "reverse": Price(of_result=_copied),
    "flatten": Price(_flattened),
    "distinct": Price(_pairwise),
    "sort": Price(_pairwise),
    "@sortByAssociatedKeys": Price(_pairwise),
    "sets.contains": Price(_product),
    "sets.intersects": Price(_product),
    "sets.equivalent": Price(_product_twice),
}

_BY_NAME: dict[str, Price] = {
    "_==_": Price(_equal),
    "_!=_": Price(_compared),
    "find": Price(_found),
    "findAll": Price(_found),
    **dict.fromkeys(
        (
            *("lowerAscii", "upperAscii", "trim", "substring", "url", "quantity", "isQuantity"),
            *("semver", "isSemver", "isIP", "isCIDR", "cidr", "ip"),
        ),
        Price(_read),
    ),
    "replace": Price(_read_twice),
    "split": Price(_read_twice),
    "join": Price(of_result=_joined),
    **dict.fromkeys(("isSorted", "sum", "min", "max", "indexOf", "lastIndexOf"), Price(_traversed)),
    "ip.isCanonical": Price(_read_twice),
    "containsIP": Price(_contains_ip),
    "containsCIDR": Price(_contains_cidr),
    "validate": Price(_validated),
}
