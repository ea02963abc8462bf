"""Equality and order of CEL values (cel_findings §5): what `==`, `in`, `<` and sort mean.

Values of different types are unequal, numbers compare across int, uint and double. A Semver,
Quantity, IP, CIDR, URL or format on the *left* of another type is an error; null never is.
"""

from __future__ import annotations

import math
from typing import Final

from dibs.cel.runtime.errors import EvaluationError, Steps, no_overload
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
    kind = type(left)
    if kind is type(right) and kind in PLAIN:
        return left == right  # type: ignore[no-any-return]
    return _equal(left, right, Steps())


def equal_within(left: Value, right: Value, steps: Steps) -> bool:
    """`equal` for use in a loop: elements that do not compare are unequal, the work is counted."""
    kind = type(left)
    steps.take(1)
    if kind is type(right) and kind in PLAIN:
        return left == right  # type: ignore[no-any-return]
    try:
        return _equal(left, right, steps)
    except EvaluationError as error:
        if error.text == "no such overload":
            return False
        raise


def contains(items: tuple[Value, ...], wanted: Value) -> bool:
    """`wanted in items`: an element that does not compare is no match, never an error."""
    kind = type(wanted)
    if kind is str:
        # Python's search would call a custom __eq__ for foreign elements only; a str has none.
        return wanted in items
    steps = Steps()
    return any(equal_within(item, wanted, steps) for item in items)


def _equal(left: Value, right: Value, steps: Steps) -> bool:
    """Compare without recursion: values nest as deep as expressions do."""
    pending: list[tuple[Value, Value]] = [(left, right)]
    is_top = True
    while pending:
        left, right = pending.pop()
        kind, other = type(left), type(right)
        if kind is other and kind in PLAIN:
            same = left == right
        elif left is None or right is None:
            same = False
        elif kind in NUMBERS and other in NUMBERS:
            same = compare_numbers(left, right) == 0
        elif kind is tuple and other is tuple:
            same = len(left) == len(right)
            if same:
                steps.take(len(left))
                pending.extend(zip(left, right, strict=True))
        elif kind in MAPS and other in MAPS:
            same = len(left) == len(right)
            if same:
                steps.take(len(left))
                same = _pair_up(left, right, pending)
        elif kind is Optional and other is Optional:
            same = left.present == right.present
            if same and left.present:
                pending.append((left.value, right.value))
        else:
            # Only the outermost pair is an error; inside a list or map it is a difference.
            if kind in OPAQUE and is_top:
                raise no_overload()
            same = False
        if not same:
            return False
        is_top = False
    return True


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
