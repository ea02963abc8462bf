"""Lists as sets: contains, equivalent, intersects (cel-go ext.Sets).

Order and repeats do not count. The work of comparing is bounded.
"""

from __future__ import annotations

from dibs.cel import runtime
from dibs.cel.declare import Library, function
from dibs.cel.runtime import Steps, Value
from dibs.cel.types import BOOL, A, list_of

Values = tuple[Value, ...]


def contains(items: Values, wanted: Values) -> bool:
    """Whether every element of `wanted` is among `items`."""
    return _contains(items, wanted, Steps())


def equivalent(left: Values, right: Values) -> bool:
    steps = Steps()
    return _contains(left, right, steps) and _contains(right, left, steps)


def intersects(left: Values, right: Values) -> bool:
    steps = Steps()
    return any(_has(right, item, steps) for item in left)


def _contains(items: Values, wanted: Values, steps: Steps) -> bool:
    return all(_has(items, one, steps) for one in wanted)


def _has(items: Values, wanted: Value, steps: Steps) -> bool:
    if type(wanted) is str:
        # Python's own search: nothing but an equal string is equal to a string.
        steps.take(len(items) // 8 + 1)
        return wanted in items
    return any(runtime.equal_within(item, wanted, steps) for item in items)


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
