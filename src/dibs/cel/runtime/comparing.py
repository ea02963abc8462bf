"""Equality and order of CEL values (cel_findings §5): what `==`, `in`, `<` and sort mean.

Values of different types are unequal, numbers compare across int, uint and double. A Semver,
Quantity, IP, CIDR, URL or format on the *left* of another type is an error; null never is.
"""

from __future__ import annotations

import math
from typing import Final

from dibs.cel.runtime.effort import spend
from dibs.cel.runtime.errors import EvaluationError, no_overload
from dibs.cel.runtime.values import (
    CIDR,
    IP,
    URL,
    DefaultMap,
    Duration,
    Map,
    NamedFormat,
    Optional,
    Quantity,
    Semver,
    Timestamp,
    TypeValue,
    UInt,
    Value,
)

OPAQUE: Final = frozenset((Quantity, Semver, IP, CIDR, URL, NamedFormat))
_SCALARS: Final = (str, int, bool, bytes, float, UInt, type(None), Timestamp, Duration, TypeValue)
# Of these, two of one class are equal exactly when Python says so.
PLAIN: Final = OPAQUE.union(_SCALARS)
NUMBERS: Final = frozenset((int, UInt, float))
MAPS: Final = frozenset((Map, DefaultMap))
ORDERED: Final = frozenset((str, int, bool, bytes, UInt, Timestamp, Duration))


def equal(left: Value, right: Value) -> bool:
    """`left == right`. Raises `no such overload` for an opaque left beside another type."""
    kind, other = type(left), type(right)
    if kind is other and kind in PLAIN:
        return left == right  # type: ignore[no-any-return]
    if kind in NUMBERS and other in NUMBERS:
        return compare_numbers(left, right) == 0
    return _equal(left, right)


def same(left: Value, right: Value) -> bool:
    """`equal` for use in a loop: what does not compare is unequal, and the work is counted."""
    kind = type(left)
    spend(1)
    if kind is type(right) and kind in PLAIN:
        return left == right  # type: ignore[no-any-return]
    try:
        return _equal(left, right)
    except EvaluationError as error:
        if error.text == "no such overload":
            return False
        raise


def contains(items: tuple[Value, ...], wanted: Value) -> bool:
    """`wanted in items`: an element that does not compare is no match, never an error."""
    kind = type(wanted)
    if kind is str:
        # Nothing but an equal string is equal to a string, so Python may search.
        if len(items) > 100:
            spend(len(items) // 8)
        return wanted in items
    return any(same(item, wanted) for item in items)


def _equal(left: Value, right: Value) -> bool:
    """Compare without recursion: values nest as deep as expressions do."""
    pending: list[tuple[Value, Value]] = [(left, right)]
    # Two values that meet again need not be compared again: shared parts are met 2^n times.
    met: set[tuple[int, int]] = set()
    is_top = True
    while pending:
        left, right = pending.pop()
        kind, other = type(left), type(right)
        if kind is other and kind in PLAIN:
            alike = left == right
        elif left is None or right is None:
            alike = False
        elif kind in NUMBERS and other in NUMBERS:
            alike = compare_numbers(left, right) == 0
        elif kind in _NESTED and other in _NESTED:
            pair = (id(left), id(right))
            alike = pair in met or _unfold(left, right, pending)
            met.add(pair)
        else:
            # Only the outermost pair is an error; inside a list or map it is a difference.
            if kind in OPAQUE and is_top:
                raise no_overload()
            alike = False
        if not alike:
            return False
        is_top = False
    return True


_NESTED: Final = frozenset((tuple, Map, DefaultMap, Optional))


def _unfold(left: Value, right: Value, pending: list[tuple[Value, Value]]) -> bool:
    """Add to what is pending what must be equal for these two to be; False if they never are."""
    kind, other = type(left), type(right)
    if kind is tuple and other is tuple:
        if len(left) == len(right):
            spend(len(left))
            pending.extend(zip(left, right, strict=True))
            return True
    elif kind in MAPS and other in MAPS:
        if len(left) == len(right):
            spend(len(left))
            return _pair_up(left, right, pending)
    elif kind is Optional and other is Optional and left.present == right.present:
        if left.present:
            pending.append((left.value, right.value))
        return True
    return False


def _pair_up(left: Map, right: Map, pending: list[tuple[Value, Value]]) -> bool:
    for key, value in left.items():
        if key not in right and type(right) is not DefaultMap:
            return False
        pending.append((value, right[key]))
    return True


def compare(left: Value, right: Value) -> int:
    """-1, 0 or 1 for `<` and its kin. Raises `no such overload`, and another error for NaN."""
    kind = type(left)
    if kind is type(right) and kind in ORDERED:
        return int(left > right) - int(left < right)
    if kind in NUMBERS and type(right) in NUMBERS:
        if left != left or right != right:
            raise EvaluationError("NaN values cannot be ordered")
        return compare_numbers(left, right)
    raise no_overload()


def compare_numbers(left: int | float, right: int | float) -> int:
    """Order two numbers; beside a double an integer is read as a double, unequal to any NaN."""
    if type(left) is float or type(right) is float:
        left, right = float(left), float(right)
        if math.isnan(left) or math.isnan(right):
            return 1
    return (left > right) - (left < right)
