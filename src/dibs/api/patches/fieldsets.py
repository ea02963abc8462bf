"""Sets of field paths, as `managedFields` keeps them (FieldsV1), and their arithmetic.

A set is a dict from path elements to the sets below; "." in it says that the path itself is a
member. Elements are written as FieldsV1 writes them: `f:name` a field, `k:{…}` an item of a list
by its keys, `v:…` a value of a set, `i:0` an index. What owns what is decided elsewhere.
Source: meta/v1 ManagedFieldsEntry; KEP-555 (server-side apply).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import msgspec

from dibs.api.schema.shapes import ListOf, MapOf, Record, Shape

Fields = dict[str, Any]
Path = tuple[str, ...]

SELF = "."
MEMBER: Fields = {SELF: {}}

# Deeper than any object may be (`model`), so that reading a foreign set can't exhaust the stack.
_DEEPEST = 100


def field(name: str) -> str:
    return f"f:{name}"


def key(values: dict[str, object]) -> str:
    """`values` sorted by name."""
    return f"k:{msgspec.json.encode(values).decode()}"


def value(item: object) -> str:
    return f"v:{msgspec.json.encode(item).decode()}"


# --- arithmetic: none of these changes its arguments ---------------------------------------------


def union(one: Fields, other: Fields) -> Fields:
    if not one or not other:
        return one or other
    result = dict(one)
    for element, below in other.items():
        result[element] = union(result[element], below) if element in result else below
    return result


def union_of(sets: Iterable[Fields]) -> Fields:
    """As `union` of all, in one pass."""
    result: Fields = {}
    for each in sets:
        _add(result, each)
    return result


def _add(result: Fields, fields: Fields) -> None:
    """`result` and all below it is ours alone."""
    for element, below in fields.items():
        _add(result.setdefault(element, {}), below)


def difference(one: Fields, other: Fields) -> Fields:
    """The paths of `one` that are no members of `other`; what lies below a member stays."""
    if not other:
        return one
    result: Fields = {}
    for element, below in one.items():
        if element == SELF:
            if SELF not in other:
                result[SELF] = below
        elif element not in other:
            result[element] = below
        elif left := difference(below, other[element]):
            result[element] = left
    return result


def intersection(one: Fields, other: Fields) -> Fields:
    result: Fields = {}
    for element, below in one.items():
        if element not in other:
            continue
        if element == SELF:
            result[SELF] = below
        elif common := intersection(below, other[element]):
            result[element] = common
    return result


def less(fields: Fields, paths: Collection[Path]) -> Fields:
    """`fields` without anything at or below one of `paths`."""
    for path in paths:
        fields = _less(fields, path)
    return fields


def _less(fields: Fields, path: Path) -> Fields:
    first, *others = path
    if first not in fields:
        return fields
    rest = {element: below for element, below in fields.items() if element != first}
    left = _less(fields[first], tuple(others)) if others else {}
    return rest | {first: left} if left else rest


def named(fields: Fields, shape: Shape | None) -> Fields:
    """`fields` with every struct field on the way to a member made a member too.

    The keys of maps and the items of lists are not: whether they go is decided by their own
    membership.
    """
    result: Fields = {}
    for element, below in fields.items():
        if element == SELF:
            result[SELF] = below
            continue
        inner: Shape | None = None
        is_named = False
        match shape:
            case Record():
                known = shape.fields.get(element[2:]) if element.startswith("f:") else None
                inner, is_named = (known.shape, True) if known else (None, False)
            case MapOf(item) if element.startswith("f:"):
                inner = item
            case ListOf(item) if element.startswith("k:"):
                inner = item
        deeper = named(below, inner)
        result[element] = {SELF: {}, **deeper} if is_named else deeper
    return result


def has(fields: Fields, path: Path) -> bool:
    for element in path:
        if element not in fields:
            return False
        fields = fields[element]
    return SELF in fields


def paths(fields: Fields, at: Path = ()) -> Iterator[Path]:
    """Yield the members: those of one level first, then what lies below each."""
    below = sorted(element for element in fields if element != SELF)
    for element in below:
        if SELF in fields[element]:
            yield (*at, element)
    for element in below:
        yield from paths(
            {name: deeper for name, deeper in fields[element].items() if name != SELF},
            (*at, element),
        )


# --- as text and as JSON -------------------------------------------------------------------------


def shown(path: Path) -> str:
    """`.spec.containers[name="web"].image`, as conflicts are told."""
    return "".join(_shown(element) for element in path)


def _shown(element: str) -> str:
    kind, text = element[0], element[2:]
    match kind:
        case "f":
            return f".{text}"
        case "k":
            parts = (f"{name}={json.dumps(part)}" for name, part in json.loads(text).items())
            return f"[{','.join(parts)}]"
        case "v":
            return f"[={text}]"
        case _:
            return f"[{text}]"


def encode(fields: Fields) -> dict[str, Any]:
    """Return the FieldsV1 tree: a lone member is {}, elements are in order."""
    if len(fields) == 1 and SELF in fields:
        return {}
    result: dict[str, Any] = {SELF: {}} if SELF in fields else {}
    for element in sorted(name for name in fields if name != SELF):
        result[element] = encode(fields[element])
    return result


def decode(tree: object, depth: int = 0) -> Fields:
    """Return the set of a FieldsV1 tree. Raises ValueError."""
    if not isinstance(tree, dict) or depth > _DEEPEST:
        raise ValueError("not a set of fields")
    if not tree:
        return MEMBER if depth else {}
    result: Fields = {}
    for element, below in tree.items():
        if element == SELF:
            result[SELF] = {}
        elif canonical := _canonical(element):
            deeper = decode(below, depth + 1)
            known = result.get(canonical)
            result[canonical] = union(known, deeper) if known else deeper
    return result


def _canonical(element: str) -> str:
    """Others may write keys in another order or with blanks. "" for elements of the future."""
    kind, colon, text = element.partition(":")
    if not colon:
        raise ValueError(f"missing colon: {element}")
    match kind:
        case "f":
            return element
        case "k":
            keys = _json(text)
            if not isinstance(keys, dict):
                raise ValueError(f"no keys: {element}")
            return key(dict(sorted(keys.items())))
        case "v":
            return value(_json(text))
        case "i":
            return f"i:{int(text)}"
        case _:
            return ""


def _json(text: str) -> object:
    try:
        parsed: object = msgspec.json.decode(text.encode())
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError) as fault:
        raise ValueError(str(fault)) from None
    return parsed
