"""Functions on lists: Kubernetes' (isSorted, sum, min …) and those of cel-go's lists version 3.

The compiler has looked at a list's first element only; what the rest is, is looked at here.
Nothing is made that is longer than the cost limit could pay for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

from dibs.cel import runtime
from dibs.cel.declare import Library, Overload, function, member
from dibs.cel.libraries import arithmetic
from dibs.cel.runtime import (
    Duration,
    EvaluationError,
    UInt,
    Value,
    comparing,
)
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
    Type,
    list_of,
)

_SUMMABLE = (("int", INT), ("uint", UINT), ("double", DOUBLE), ("duration", DURATION))
_COMPARABLE = (
    *_SUMMABLE,
    ("bool", BOOL),
    ("timestamp", TIMESTAMP),
    ("string", STRING),
    ("bytes", BYTES),
)
_ADD: dict[type, Callable[[Value, Value], Value]] = {
    int: arithmetic.add_int,
    UInt: arithmetic.add_uint,
    float: float.__add__,
    Duration: arithmetic.add_durations,
}


def is_sorted(items: tuple[Value, ...]) -> bool:
    """Whether no element is greater than the next. Neighbours that do not compare are let pass."""
    for left, right in pairwise(items):
        _require_comparable((left, right), "isSorted")
        if _order(left, right) > 0:
            return False
    _require_comparable(items[:1], "isSorted")
    return True


def sum_from(zero: Value) -> Callable[[tuple[Value, ...]], Value]:
    """The sum of a list of one type, `zero` for the empty list."""
    add = _ADD[type(zero)]

    def total(items: tuple[Value, ...]) -> Value:
        result = zero
        for item in items:
            if type(item) is not type(zero):
                raise runtime.no_overload()
            result = add(result, item)
        return result

    return total


def least(items: tuple[Value, ...]) -> Value:
    return _extreme(items, "min", 1)


def greatest(items: tuple[Value, ...]) -> Value:
    return _extreme(items, "max", -1)


def _extreme(items: tuple[Value, ...], name: str, replace_when: int) -> Value:
    if not items:
        raise EvaluationError(f"{name} called on empty list")
    _require_comparable(items, name)
    result = items[0]
    for item in items:
        if _order(result, item) == replace_when:
            result = item
    return result


def _order(left: Value, right: Value) -> int:
    """Compare; 0 for what does not compare, as these functions skip it upstream."""
    try:
        return runtime.compare(left, right)
    except EvaluationError:
        return 0


def _require_comparable(items: tuple[Value, ...], name: str) -> None:
    for item in items:
        if type(item) not in comparing.ORDERED and type(item) is not float:
            raise runtime.no_overload(f"{name}(list)")


def index_of(items: tuple[Value, ...], wanted: Value) -> int:
    """The first position of an equal element, or -1."""
    for position, item in enumerate(items):
        if runtime.same(item, wanted):
            return position
    return -1


def last_index_of(items: tuple[Value, ...], wanted: Value) -> int:
    for position in range(len(items) - 1, -1, -1):
        if runtime.same(items[position], wanted):
            return position
    return -1


def slice_of(items: tuple[Value, ...], start: int, end: int) -> tuple[Value, ...]:
    if start < 0 or end < 0:
        raise EvaluationError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        reason = "start index must be less than or equal to end index"
        raise EvaluationError(f"cannot slice({start}, {end}), {reason}")
    if end > len(items):
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(items)}")
    runtime.spend((end - start) // 64)
    return items[start:end]


def flatten(items: Value, depth: int = 1) -> tuple[Value, ...]:
    """Put the elements of inner lists in their place, `depth` levels down."""
    if type(items) is not tuple:
        raise runtime.no_overload(f"{runtime.type_name(items)}.flatten()")
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    while depth > 0 and any(type(item) is tuple for item in items):
        size = sum(len(item) if type(item) is tuple else 1 for item in items)
        runtime.spend(runtime.bounded_count(size) + len(items))
        items = tuple(
            inner for item in items for inner in (item if type(item) is tuple else (item,))
        )
        depth -= 1
    result: tuple[Value, ...] = items
    return result


def sort(items: tuple[Value, ...]) -> tuple[Value, ...]:
    return sort_by_keys(items, items)


def sort_by_keys(items: tuple[Value, ...], keys: tuple[Value, ...]) -> tuple[Value, ...]:
    """Order `items` as their keys are ordered; equal ones stay as they stood."""
    if len(items) != len(keys):
        raise EvaluationError(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys "
            f"list, but got {len(items)} and {len(keys)} elements respectively"
        )
    if not items:
        return items
    runtime.spend(2 * len(items))
    kind = type(keys[0])
    if kind not in comparing.ORDERED and kind is not float:
        raise EvaluationError("list elements must be comparable")
    if any(type(key) is not kind for key in keys):
        raise EvaluationError("list elements must have the same type")
    order = sorted(range(len(items)), key=keys.__getitem__)
    return tuple(items[position] for position in order)


def distinct(items: tuple[Value, ...]) -> tuple[Value, ...]:
    """The first of all equal elements."""
    kind = type(items[0]) if items else str
    is_hashable = kind in comparing.PLAIN and kind is not float
    if is_hashable and all(type(item) is kind for item in items):
        runtime.spend(len(items) // 2)
        return tuple(dict.fromkeys(items))
    kept: list[Value] = []
    for item in items:
        if not any(runtime.same(item, other) for other in kept):
            kept.append(item)
    return tuple(kept)


def reverse(items: tuple[Value, ...]) -> tuple[Value, ...]:
    runtime.spend(len(items) // 64)
    return items[::-1]


def count_up(count: int) -> tuple[int, ...]:
    """0 … count-1."""
    runtime.spend(runtime.bounded_count(count) // 16 if count > 0 else 0)
    return tuple(range(count))


def _per_type(
    name: str,
    types: Iterable[tuple[str, Type]],
    id: str,
    result: Type | None,
    call: Callable[[tuple[Value, ...]], Value],
) -> Iterable[Overload]:
    """Declare `name` for a list of each of `types`; `result` None is the element type."""
    for what, element in types:
        overload = (id.format(what), (list_of(element),), result or element, call)
        yield from member(name, overload)


def _sums() -> Iterable[Overload]:
    zeros: tuple[Value, ...] = (0, UInt(0), 0.0, Duration(0))
    for summable, zero in zip(_SUMMABLE, zeros, strict=True):
        what = summable[0]
        yield from _per_type("sum", (summable,), f"list_{what}_sum_{what}", None, sum_from(zero))


_LIST, _LISTS = list_of(A), list_of(list_of(A))

LIBRARY = Library(
    "kubernetes.lists",
    (
        *_per_type("isSorted", _COMPARABLE, "list_{}_is_sorted_bool", BOOL, is_sorted),
        *_sums(),
        *_per_type("min", _COMPARABLE, "list_{0}_min_{0}", None, least),
        *_per_type("max", _COMPARABLE, "list_{0}_max_{0}", None, greatest),
        *member("indexOf", ("list_a_index_of_int", (_LIST, A), INT, index_of)),
        *member("lastIndexOf", ("list_a_last_index_of_int", (_LIST, A), INT, last_index_of)),
    ),
)

EXTENDED = Library(
    "lists",
    (
        *member("slice", ("list_slice", (_LIST, INT, INT), _LIST, slice_of)),
        *member(
            "flatten",
            ("list_flatten", (_LISTS,), _LIST, flatten),
            ("list_flatten_int", (list_of(DYN), INT), list_of(DYN), flatten),
        ),
        *(
            Overload(f"list_{what}_sort", "sort", (list_of(T),), list_of(T), sort, is_member=True)
            for what, T in _COMPARABLE
        ),
        *(
            Overload(
                f"list_{what}_sortByAssociatedKeys",
                "@sortByAssociatedKeys",
                (_LIST, list_of(T)),
                _LIST,
                sort_by_keys,
                is_member=True,
            )
            for what, T in _COMPARABLE
        ),
        *member("distinct", ("list_distinct", (_LIST,), _LIST, distinct)),
        *member("reverse", ("list_reverse", (_LIST,), _LIST, reverse)),
        *function("lists.range", ("lists_range", (INT,), list_of(INT), count_up)),
    ),
)
