"""The operators that decide what is evaluated at all, and those only macros may write.

The checker needs their signatures; the compiler has its own way of running the first three.
Source: the CEL specification, "logical operators"; cel-go ext, two-variable comprehensions.
"""

from __future__ import annotations

from dibs.cel import runtime
from dibs.cel.declare import Library, function
from dibs.cel.runtime import EvaluationError, Value
from dibs.cel.types import BOOL, A, K, V, map_of


def _both(left: bool, right: bool) -> bool:
    return left and right


def _either(left: bool, right: bool) -> bool:
    return left or right


def _chosen(condition: bool, truthy: Value, falsy: Value) -> Value:
    return truthy if condition else falsy


def not_strictly_false(value: Value) -> bool:
    """True unless `value` is false: what keeps a loop going over an error."""
    return value is not False


def _inserted(entries: runtime.Map, key: Value, value: Value) -> runtime.Map:
    return inserted_all(entries, runtime.Map.of([(key, value)]))


def inserted_all(entries: runtime.Map, more: runtime.Map) -> runtime.Map:
    """A map with the entries of both. Raises `insert failed` when a key is in both."""
    for key in runtime.keys_of(more):
        if runtime.key_of(key) in entries:
            raise EvaluationError(f"insert failed: key {runtime.as_text(key)} already exists")
    return runtime.Map({**entries, **more})


LIBRARY = Library(
    "control",
    (
        *function("_&&_", ("logical_and", (BOOL, BOOL), BOOL, _both)),
        *function("_||_", ("logical_or", (BOOL, BOOL), BOOL, _either)),
        *function("_?_:_", ("conditional", (BOOL, A, A), A, _chosen)),
        *function(
            "@not_strictly_false", ("not_strictly_false", (BOOL,), BOOL, not_strictly_false)
        ),
        *function(
            "cel.@mapInsert",
            ("@mapInsert_map_map", (map_of(K, V), map_of(K, V)), map_of(K, V), inserted_all),
            ("@mapInsert_map_key_value", (map_of(K, V), K, V), map_of(K, V), _inserted),
        ),
    ),
)
