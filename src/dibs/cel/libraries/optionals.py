"""Optional values: making them, asking them, reaching through them (cel-go optional types, v2).

`or` and `orValue` are given both sides here; that the right side is only computed when needed
is the compiler's doing.
"""

from __future__ import annotations

from dibs.cel import runtime
from dibs.cel.declare import Library, function, member
from dibs.cel.runtime import NONE, EvaluationError, Optional, Value, times
from dibs.cel.types import BOOL, DYN, INT, STRING, K, V, list_of, map_of, optional_of


def of_non_zero(value: Value) -> Optional:
    """None for null, false, zero, "" and what is empty; a Semver 0.0.0 is something."""
    if type(value) is runtime.Duration and value.nanoseconds == 0:
        return NONE
    if type(value) is runtime.Timestamp:
        # The zero of Go's clock is the first moment of year 1.
        return NONE if value.nanoseconds == times.LEAST_SECOND * times.SECOND else Optional(value)
    if type(value) in _EMPTIABLE and not value:
        return NONE
    return Optional(value)


_EMPTIABLE = frozenset(
    (type(None), bool, int, runtime.UInt, float, str, bytes, tuple, runtime.Map, runtime.DefaultMap)
)


def none() -> Optional:
    return NONE


def has_value(optional: Optional) -> bool:
    return optional.present


def value(optional: Optional) -> Value:
    if not optional.present:
        raise EvaluationError("optional.none() dereference")
    return optional.value


def either(optional: Optional, other: Optional) -> Optional:
    return optional if optional.present else other


def value_or(optional: Optional, other: Value) -> Value:
    return optional.value if optional.present else other


def first(items: tuple[Value, ...]) -> Optional:
    return Optional(items[0]) if items else NONE


def last(items: tuple[Value, ...]) -> Optional:
    return Optional(items[-1]) if items else NONE


def unwrap(items: tuple[Value, ...]) -> tuple[Value, ...]:
    """The values that are there, in order."""
    runtime.spend(len(items) // 4)
    for item in items:
        if type(item) is not Optional:
            raise EvaluationError(f"value {runtime.as_text(item)} is not optional")
    return tuple(item.value for item in items if item.present)


_OPTIONAL, _LIST, _MAP = optional_of(V), list_of(V), map_of(K, V)
_FIND = runtime.find_optional

LIBRARY = Library(
    "optional",
    (
        *function("optional.of", ("optional_of", (V,), _OPTIONAL, Optional)),
        *function(
            "optional.ofNonZeroValue", ("optional_ofNonZeroValue", (V,), _OPTIONAL, of_non_zero)
        ),
        *function("optional.none", ("optional_none", (), _OPTIONAL, none)),
        *member("value", ("optional_value", (_OPTIONAL,), V, value)),
        *member("hasValue", ("optional_hasValue", (_OPTIONAL,), BOOL, has_value)),
        *member("or", ("optional_or_optional", (_OPTIONAL, _OPTIONAL), _OPTIONAL, either)),
        *member("orValue", ("optional_orValue_value", (_OPTIONAL, V), V, value_or)),
        *function("_?._", ("select_optional_field", (DYN, STRING), _OPTIONAL, _FIND)),
        *function(
            "_[?_]",
            ("list_optindex_optional_int", (_LIST, INT), _OPTIONAL, _FIND),
            (
                "optional_list_optindex_optional_int",
                (optional_of(_LIST), INT),
                _OPTIONAL,
                _FIND,
            ),
            ("map_optindex_optional_value", (_MAP, K), _OPTIONAL, _FIND),
            ("optional_map_optindex_optional_value", (optional_of(_MAP), K), _OPTIONAL, _FIND),
        ),
        *function(
            "_[_]",
            ("optional_list_index_int", (optional_of(_LIST), INT), _OPTIONAL, _FIND),
            ("optional_map_index_value", (optional_of(_MAP), K), _OPTIONAL, _FIND),
        ),
        *member("first", ("list_first", (_LIST,), _OPTIONAL, first)),
        *member("last", ("list_last", (_LIST,), _OPTIONAL, last)),
        *member("unwrapOpt", ("optional_unwrapOpt", (list_of(_OPTIONAL),), _LIST, unwrap)),
        *function("optional.unwrap", ("optional_unwrap", (list_of(_OPTIONAL),), _LIST, unwrap)),
    ),
)
