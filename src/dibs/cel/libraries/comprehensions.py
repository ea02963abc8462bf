"""What the two-variable macros expand to: putting an entry into a map (cel-go ext).

Each call copies the map, since values do not change. A fold that builds a map of many entries
does better with `insert_into` on a map nobody else has seen yet.
"""

from __future__ import annotations

from dibs.cel import runtime
from dibs.cel.declare import Library, function
from dibs.cel.runtime import EvaluationError, Map, Value
from dibs.cel.types import K, V, map_of


def insert(entries: Map, key: Value, value: Value) -> Map:
    copy = Map(entries)
    insert_into(copy, key, value)
    return copy


def insert_all(entries: Map, more: Map) -> Map:
    copy = Map(entries)
    for key in runtime.keys_of(more):
        insert_into(copy, key, runtime.lookup(more, key))
    return copy


def insert_into(entries: Map, key: Value, value: Value) -> None:
    """Add an entry in place. Raises `insert failed: key k already exists`."""
    if runtime.has_key(entries, key):
        raise EvaluationError(f"insert failed: key {runtime.as_text(key)} already exists")
    entries[runtime.key_of(key)] = value


_MAP = map_of(K, V)

LIBRARY = Library(
    "comprehensions",
    (
        *function(
            "cel.@mapInsert",
            ("@mapInsert_map_key_value", (_MAP, K, V), _MAP, insert),
            ("@mapInsert_map_map", (_MAP, _MAP), _MAP, insert_all),
        ),
    ),
)
