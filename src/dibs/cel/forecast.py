"""What one call is expected to cost at most, and how large its result may be.

One small function a row of the price table; what has no row costs 1 and makes something of
unknown size. Rows by overload come before rows by name, and those before the standard ones.
Source: the cost rules of cel-go and of Kubernetes' CEL libraries.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from dibs.cel import sizes, types
from dibs.cel.ast import Literal, Node
from dibs.cel.declare import Overload
from dibs.cel.sizes import CHARACTER, PATTERN, UNKNOWN, Size, add, exactly, multiply, scaled
from dibs.cel.types import Type


class Operand(NamedTuple):
    """Receiver or argument: its size, its static type, and the node for what is literal."""

    size: Size
    type: Type
    node: Node
    # Size of its elements, where a path from a variable leads to them.
    element: Size | None


class Forecast(NamedTuple):
    cost: int
    size: Size | None = None


class Call(Protocol):
    def __call__(self, operands: Sequence[Operand], overload: Overload) -> Forecast: ...


def of_call(function: str, overload: Overload, operands: Sequence[Operand]) -> Forecast:
    """The price of `overload`, arguments not included."""
    row = _BY_OVERLOAD.get(overload.id) or _BY_NAME.get((function, len(operands)))
    row = row or _BY_NAME.get((function, -1))
    return row(operands, overload) if row else Forecast(1)


def traversal(size: Size, factor: float = CHARACTER) -> int:
    return scaled(size.high, factor)


def _flat(cost: int) -> Call:
    return lambda operands, overload: Forecast(cost)


def _read(factor: float = CHARACTER, *, keeps_size: bool = False) -> Call:
    def forecast(operands: Sequence[Operand], overload: Overload) -> Forecast:
        size = operands[0].size
        return Forecast(traversal(size, factor), size if keeps_size else None)

    return forecast


def _to_bytes(operands: Sequence[Operand], overload: Overload) -> Forecast:
    size = operands[0].size
    # Upstream lets the most wrap around here; nothing real comes near.
    return Forecast(traversal(size), Size(size.low, size.high * 4 % 2**64))


def _to_string(operands: Sequence[Operand], overload: Overload) -> Forecast:
    size = operands[0].size
    return Forecast(traversal(size), Size(size.low // 4, size.high))


def _quoted(operands: Sequence[Operand], overload: Overload) -> Forecast:
    size = operands[0].size
    return Forecast(traversal(size), Size(size.low + 2, (size.high * 2 + 2) % 2**64))


def _affix(operands: Sequence[Operand], overload: Overload) -> Forecast:
    return Forecast(traversal(operands[1].size))


def _in_list(operands: Sequence[Operand], overload: Overload) -> Forecast:
    return Forecast(scaled(operands[1].size.high, 1))


def _matches(operands: Sequence[Operand], overload: Overload) -> Forecast:
    text = traversal(operands[0].size.plus(sizes.ONE))
    return Forecast(multiply(text, traversal(operands[1].size, PATTERN)))


def _found(operands: Sequence[Operand], overload: Overload) -> Forecast:
    cost = _matches(operands, overload).cost
    return Forecast(cost, Size(0, operands[0].size.high))


def _contains(operands: Sequence[Operand], overload: Overload) -> Forecast:
    return Forecast(multiply(traversal(operands[0].size), traversal(operands[1].size)))


def _sum(operands: Sequence[Operand], overload: Overload) -> Forecast:
    size = operands[0].size.plus(operands[1].size)
    return Forecast(traversal(size), size)


def _joined_lists(operands: Sequence[Operand], overload: Overload) -> Forecast:
    return Forecast(1, operands[0].size.plus(operands[1].size))


def _compared(operands: Sequence[Operand], overload: Overload) -> Forecast:
    return Forecast(scaled(min(operands[0].size.high, operands[1].size.high), CHARACTER))


_ALIKE_AT_ONE = frozenset((types.QUANTITY, types.SEMVER, types.IP, types.CIDR))


def _equal(operands: Sequence[Operand], overload: Overload) -> Forecast:
    left, right = operands
    if left.type == right.type:
        if left.type in _ALIKE_AT_ONE:
            return Forecast(1)
        if left.type == types.NAMED_FORMAT:
            return Forecast(7)
        if left.type == types.URL:
            return Forecast(traversal(right.size))
    return _compared(operands, overload)


def _replaced(operands: Sequence[Operand], overload: Overload) -> Forecast:
    text, old, new = (operand.size for operand in operands[:3])
    high = _replaced_size(text.high, old.low, new.high, is_kept=new.high <= old.low)
    low = _replaced_size(text.low, old.high, new.low, is_kept=old.high <= new.low)
    return Forecast(traversal(text, 0.2), Size(low, high))


def _replaced_size(text: int, old: int, new: int, *, is_kept: bool) -> int:
    """`is_kept`: the text is at its longest, or shortest, where nothing is replaced."""
    if old == 0:
        # An empty `old` is found before every character and at the end.
        return add(multiply(add(text, 1), new), text)
    return text if is_kept else multiply(math.ceil(text / old), new)


def _split(operands: Sequence[Operand], overload: Overload) -> Forecast:
    text = operands[0].size
    size = Size(0, text.high)
    limit = _literal_int(operands, 2)
    if limit is not None:
        size = Size(0, limit % 2**64)
    return Forecast(traversal(text, 0.2), size)


def _joined(operands: Sequence[Operand], overload: Overload) -> Forecast:
    count = operands[0].size
    separator = operands[1].size if len(operands) > 1 else exactly(0)
    element = exactly(0)
    if operands[0].type.name == "list":
        element = operands[0].element or UNKNOWN
    gaps = Size(max(count.low - 1, 0), max(count.high - 1, 0))
    size = count.times(element).plus(gaps.times(separator))
    return Forecast(scaled(size.high, CHARACTER), size)


def _visited(operands: Sequence[Operand], overload: Overload) -> Forecast:
    """`max`, `indexOf` and their kin: each element is compared once."""
    given = operands[0]
    if not given.type.params:
        return Forecast(traversal(given.size))
    each = 1
    if given.type.params[0] in (types.STRING, types.BYTES):
        each = add(1, traversal(given.element or UNKNOWN))
    return Forecast(multiply(given.size.high, each))


def _contains_ip(operands: Sequence[Operand], overload: Overload) -> Forecast:
    return Forecast(add(4, _text_argument(operands, overload)))


def _contains_cidr(operands: Sequence[Operand], overload: Overload) -> Forecast:
    return Forecast(add(7, _text_argument(operands, overload)))


def _text_argument(operands: Sequence[Operand], overload: Overload) -> int:
    """An address given as text is parsed first."""
    return traversal(operands[1].size) if overload.params[1] == types.STRING else 0


def _validated(operands: Sequence[Operand], overload: Overload) -> Forecast:
    return Forecast(multiply(traversal(operands[1].size), 32))


# What a function of the list library costs beside its work: one call, one new list.
_NEW_LIST = 1 + sizes.LIST


def _range(operands: Sequence[Operand], overload: Overload) -> Forecast:
    count = _literal_int(operands, 0)
    if count is None:
        return Forecast(sizes.MOST, UNKNOWN)
    return Forecast(add(scaled(max(count, 0), 1), _NEW_LIST), exactly(max(count, 0)))


def _slice(operands: Sequence[Operand], overload: Overload) -> Forecast:
    # A negative literal is taken for 0; an end before the start wraps around, as upstream's does.
    start = max(_literal_int(operands, 1) or 0, 0)
    end = _literal_int(operands, 2)
    count = ((operands[0].size.high if end is None else max(end, 0)) - start) % 2**64
    return Forecast(add(scaled(count, 1), _NEW_LIST), exactly(count))


def _reversed(operands: Sequence[Operand], overload: Overload) -> Forecast:
    size = operands[0].size
    return Forecast(add(size.high, _NEW_LIST), size)


def _flattened(operands: Sequence[Operand], overload: Overload) -> Forecast:
    size = operands[0].size
    depth = 1 if len(operands) == 1 else _literal_int(operands, 1)
    if depth is None:
        return Forecast(sizes.MOST, size)
    return Forecast(add(multiply(size.high, depth % 2**64), _NEW_LIST), size)


def _distinct(operands: Sequence[Operand], overload: Overload) -> Forecast:
    size = operands[0].size
    return Forecast(_pairwise(size, 2.0), size.times(size))


def _sorted(operands: Sequence[Operand], overload: Overload) -> Forecast:
    is_text = overload.params[-1].params[0] in (types.STRING, types.BYTES)
    size = operands[0].size
    return Forecast(_pairwise(size, 2.1 if is_text else 2.0), size.times(size))


def _pairwise(size: Size, factor: float) -> int:
    return add(scaled(multiply(size.high, size.high), factor), _NEW_LIST)


def _sets(factor: int) -> Call:
    def forecast(operands: Sequence[Operand], overload: Overload) -> Forecast:
        pairs = multiply(operands[0].size.high, operands[1].size.high)
        return Forecast(add(multiply(pairs, factor), 1))

    return forecast


def _literal_int(operands: Sequence[Operand], position: int) -> int | None:
    if position >= len(operands):
        return None
    node = operands[position].node
    return node.value if isinstance(node, Literal) and type(node.value) is int else None


_BY_OVERLOAD: dict[str, Call] = {
    "add_string": _sum,
    "add_bytes": _sum,
    "add_list": _joined_lists,
    "in_list": _in_list,
    "contains_string": _contains,
    "starts_with_string": _affix,
    "ends_with_string": _affix,
    "matches_string": _matches,
    "string_to_bytes": _to_bytes,
    "bytes_to_string": _to_string,
    "strings_quote": _quoted,
    "string_to_ip": _read(),
    "string_format": _read(),
    **{
        f"{operator}_{kind}": _compared
        for operator in ("less", "less_equals", "greater", "greater_equals")
        for kind in ("string", "bytes")
    },
}

# (function, number of operands or -1 for any)
_BY_NAME: dict[tuple[str, int], Call] = {
    ("_==_", 2): _equal,
    ("_!=_", 2): _compared,
    ("find", -1): _found,
    ("findAll", -1): _found,
    **dict.fromkeys(
        ((name, -1) for name in ("lowerAscii", "upperAscii", "trim", "substring", "url")),
        _read(keeps_size=True),
    ),
    ("replace", -1): _replaced,
    ("split", -1): _split,
    ("join", -1): _joined,
    **dict.fromkeys(
        ((name, -1) for name in ("isSorted", "sum", "min", "max", "indexOf", "lastIndexOf")),
        _visited,
    ),
    **dict.fromkeys(
        (
            (name, -1)
            for name in ("quantity", "isQuantity", "semver", "isSemver", "isIP", "isCIDR", "cidr")
        ),
        _read(),
    ),
    ("ip.isCanonical", -1): _read(0.2),
    ("containsIP", -1): _contains_ip,
    ("containsCIDR", -1): _contains_cidr,
    ("validate", -1): _validated,
    ("includes", -1): _flat(48),
    ("lists.range", -1): _range,
    ("slice", -1): _slice,
    ("reverse", -1): _reversed,
    ("flatten", -1): _flattened,
    ("distinct", -1): _distinct,
    ("sort", -1): _sorted,
    ("@sortByAssociatedKeys", -1): _sorted,
    ("sets.contains", -1): _sets(1),
    ("sets.intersects", -1): _sets(1),
    ("sets.equivalent", -1): _sets(2),
}
