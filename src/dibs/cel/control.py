"""The operators that decide what is evaluated at all: `&&`, `||`, the ternary, and the loop's.

The checker needs their signatures; the compiler has its own way of running all but the last.
Source: the CEL specification, "logical operators".
"""

from __future__ import annotations

from dibs.cel.declare import Library, function
from dibs.cel.runtime import Value
from dibs.cel.types import BOOL, A


def _both(left: bool, right: bool) -> bool:
    return left and right


def _either(left: bool, right: bool) -> bool:
    return left or right


def _chosen(condition: bool, truthy: Value, falsy: Value) -> Value:
    return truthy if condition else falsy


def not_strictly_false(value: Value) -> bool:
    """True unless `value` is false: what keeps a loop going over an error."""
    return value is not False


LIBRARY = Library(
    "control",
    (
        *function("_&&_", ("logical_and", (BOOL, BOOL), BOOL, _both)),
        *function("_||_", ("logical_or", (BOOL, BOOL), BOOL, _either)),
        *function("_?_:_", ("conditional", (BOOL, A, A), A, _chosen)),
        *function("@not_strictly_false", ("not_strictly_false", (BOOL,), BOOL, not_strictly_false)),
    ),
)
