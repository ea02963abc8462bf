"""The rest of CEL's standard operators and functions: comparison, `in`, index, size, substrings.

`&&`, `||`, the ternary and the macros are the compiler's. Where the static types are known to be
plain, Python's own operator is what runs.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

from dibs.cel import runtime
from dibs.cel.declare import Library, Overload, function, member
from dibs.cel.libraries import regexes
from dibs.cel.runtime import EvaluationError, Value
from dibs.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    A,
    B,
    Type,
    list_of,
    map_of,
    type_of,
)


def not_equal(left: Value, right: Value) -> bool:
    """`left != right`; what cannot be compared is different, not an error (cel_findings §5)."""
    try:
        return not runtime.equal(left, right)
    except runtime.CostLimitExceeded:
        raise
    except EvaluationError:
        return True


def less(left: Value, right: Value) -> bool:
    return runtime.compare(left, right) < 0


def less_or_equal(left: Value, right: Value) -> bool:
    return runtime.compare(left, right) <= 0


def greater(left: Value, right: Value) -> bool:
    return runtime.compare(left, right) > 0


def greater_or_equal(left: Value, right: Value) -> bool:
    return runtime.compare(left, right) >= 0


def in_list(wanted: Value, items: tuple[Value, ...]) -> bool:
    return runtime.contains(items, wanted)


def in_map(key: Value, entries: runtime.Map) -> bool:
    return runtime.has_key(entries, key)


def type_of_value(value: Value) -> runtime.TypeValue:
    return runtime.TypeValue(runtime.type_name(value))


def identity(value: Value) -> Value:
    return value


_ORDERED = (
    ("bool", BOOL),
    ("int64", INT),
    ("uint64", UINT),
    ("string", STRING),
    ("bytes", BYTES),
    ("timestamp", TIMESTAMP),
    ("duration", DURATION),
)
_NUMBERS = (("int64", INT), ("uint64", UINT), ("double", DOUBLE))


def _comparison(
    name: str, prefix: str, plain: Callable[[Any, Any], bool], mixed: Callable[[Any, Any], bool]
) -> Iterable[Overload]:
    """Declare one order operator: `plain` within a type, `mixed` with or across doubles."""
    same = [(f"{prefix}_{suffix}", (kind, kind), BOOL, plain) for suffix, kind in _ORDERED]
    doubles = (f"{prefix}_double", (DOUBLE, DOUBLE), BOOL, mixed)
    across = [
        (f"{prefix}_{left}_{right}", (left_type, right_type), BOOL, mixed)
        for left, left_type in _NUMBERS
        for right, right_type in _NUMBERS
        if left != right
    ]
    return function(name, *same, doubles, *across)


_SIZED: tuple[tuple[str, Type], ...] = (
    ("string", STRING),
    ("bytes", BYTES),
    ("list", list_of(A)),
    ("map", map_of(A, B)),
)

LIBRARY = Library(
    "standard",
    (
        *function("!_", ("logical_not", (BOOL,), BOOL, operator.not_)),
        *function("_==_", ("equals", (A, A), BOOL, runtime.equal)),
        *function("_!=_", ("not_equals", (A, A), BOOL, not_equal)),
        *_comparison("_<_", "less", operator.lt, less),
        *_comparison("_<=_", "less_equals", operator.le, less_or_equal),
        *_comparison("_>_", "greater", operator.gt, greater),
        *_comparison("_>=_", "greater_equals", operator.ge, greater_or_equal),
        *function(
            "@in",
            ("in_list", (A, list_of(A)), BOOL, in_list),
            ("in_map", (A, map_of(A, B)), BOOL, in_map),
        ),
        *function(
            "_[_]",
            ("index_list", (list_of(A), INT), A, runtime.lookup),
            ("index_map", (map_of(A, B), A), B, runtime.lookup),
        ),
        *function("size", *((f"size_{what}", (kind,), INT, len) for what, kind in _SIZED)),
        *member("size", *((f"{what}_size", (kind,), INT, len) for what, kind in _SIZED)),
        *member("contains", ("contains_string", (STRING, STRING), BOOL, operator.contains)),
        *member("startsWith", ("starts_with_string", (STRING, STRING), BOOL, str.startswith)),
        *member("endsWith", ("ends_with_string", (STRING, STRING), BOOL, str.endswith)),
        *function("matches", ("matches", (STRING, STRING), BOOL, regexes.matches)),
        *member("matches", ("matches_string", (STRING, STRING), BOOL, regexes.matches)),
        *function("type", ("type", (A,), type_of(A), type_of_value)),
        *function("dyn", ("to_dyn", (A,), DYN, identity)),
    ),
)
