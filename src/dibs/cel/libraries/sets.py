"""Lists as sets: contains, equivalent, intersects (cel-go ext.Sets).

Order and repeats do not count. The work of comparing is bounded.
"""

from __future__ import annotations

from dibs.cel import runtime
from dibs.cel.declare import Library, function
from dibs.cel.runtime import Value
from dibs.cel.types import BOOL, A, list_of

Values = tuple[Value, ...]


def contains(items: Values, wanted: Values) -> bool:
    """Whether every element of `wanted` is among `items`."""
    return all(runtime.contains(items, one) for one in wanted)


def equivalent(left: Values, right: Values) -> bool:
    return contains(left, right) and contains(right, left)


def intersects(left: Values, right: Values) -> bool:
    return any(runtime.contains(right, item) for item in left)


_LIST = list_of(A)

LIBRARY = Library(
    "sets",
    (
        *function("sets.contains", ("list_sets_contains_list", (_LIST, _LIST), BOOL, contains)),
        *function(
            "sets.equivalent", ("list_sets_equivalent_list", (_LIST, _LIST), BOOL, equivalent)
        ),
        *function(
            "sets.intersects", ("list_sets_intersects_list", (_LIST, _LIST), BOOL, intersects)
        ),
    ),
)
