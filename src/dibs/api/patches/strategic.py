"""Strategic merge patch: lists merge by their keys where the schema says so.

What a patch can say beside values: `$patch: delete|replace|merge` in a mapping or a list item,
`$retainKeys` which fields of a union may stay, `$deleteFromPrimitiveList/x` and
`$setElementOrder/x` beside a list `x`. Values inside of what only a driver understands merge as
mappings, their lists are replaced.
Source: patchStrategy and patchMergeKey of k8s.io/api; sig-api-machinery, "strategic merge patch".
"""

from __future__ import annotations

from collections import deque
from typing import Any

from dibs.api.patches import typed
from dibs.api.patches.refused import bad_request, invalid
from dibs.api.schema.shapes import Field, ListOf, MapOf, Record, Shape

Tree = dict[str, Any]

_PATCH = "$patch"
_RETAIN = "$retainKeys"
_DELETE_FROM = "$deleteFromPrimitiveList"
_ORDER = "$setElementOrder"


def strategic(tree: Tree, patch: object, record: Record) -> Tree:
    """Return `tree` patched by the rules of its kind. Raises Refused (400, 422)."""
    if not isinstance(patch, dict):
        raise bad_request("a strategic merge patch must be a JSON object")
    return _mapping(tree, patch, record)


def _mapping(old: Tree, patch: Tree, shape: Shape | None) -> Tree:
    if _PATCH in patch:
        return _directed(patch)
    result = dict(old)
    rest = dict(patch)
    if _RETAIN in rest:
        result = _retained(result, rest)
    for name in [name for name in rest if name.startswith(_ORDER)]:
        _ordered(name, rest, result, shape)
    # What is deleted and added at once stays.
    for name in [name for name in rest if name.startswith(_DELETE_FROM)]:
        _deleted(name, rest.pop(name), result)
    for name, value in rest.items():
        if value is None:
            result.pop(name, None)
        else:
            merged = _value(result.get(name, typed.ABSENT), value, _field(shape, name))
            if merged is typed.ABSENT:
                result.pop(name, None)
            else:
                result[name] = merged
    return result


def _directed(patch: Tree) -> Tree:
    match patch[_PATCH]:
        case "replace":
            return {name: value for name, value in patch.items() if name != _PATCH}
        case "delete":
            return {}
        case other:
            raise bad_request(f"unknown patch type: {other} in map: {patch}")


def _value(old: Any, patch: Any, field: Field | None) -> Any:
    """The new value of one entry; ABSENT when it goes away."""
    shape = field.shape if field else None
    match old, patch:
        case dict(), dict() if not (field and "replace" in field.strategies):
            return _mapping(old, patch, shape.item if isinstance(shape, MapOf) else shape)
        case list(), list() if field and "merge" in field.strategies:
            return _list(old, patch, field)
        case dict(), dict():
            return patch
        case list(), list():
            return patch
        case _:
            return _bare(_without_nulls(patch))


def _field(shape: Shape | None, name: str) -> Field | None:
    """What the schema says of one entry; of the entries of a map, that they are all alike."""
    if isinstance(shape, Record):
        return shape.fields.get(name)
    return Field(name, None, shape) if shape is not None else None


def _bare(patch: Any) -> Any:
    """What remains of a patch where there was nothing: mappings with directives go."""
    match patch:
        case dict():
            if _PATCH in patch:
                return typed.ABSENT
            values = {name: _bare(value) for name, value in patch.items()}
            return {name: value for name, value in values.items() if value is not typed.ABSENT}
        case list():
            return [kept for item in patch if (kept := _bare(item)) is not typed.ABSENT]
        case _:
            return patch


def _without_nulls(patch: Any) -> Any:
    match patch:
        case dict():
            return {
                name: _without_nulls(value) for name, value in patch.items() if value is not None
            }
        case list():
            return [_without_nulls(item) for item in patch]
        case _:
            return patch


# --- directives beside a field -------------------------------------------------------------------


def _retained(old: Tree, patch: Tree) -> Tree:
    """Take `$retainKeys` out of `patch` and drop what it doesn't list."""
    keys = patch.pop(_RETAIN)
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise bad_request("invalid patch format of retainKeys")
    for name, value in patch.items():
        is_directive = name.startswith((_DELETE_FROM, _ORDER))
        if value is not None and not is_directive and name not in keys:
            raise bad_request("invalid patch format of retainKeys")
    return {name: value for name, value in old.items() if name in keys}


def _deleted(directive: str, values: Any, result: Tree) -> None:
    name = _named(directive, _DELETE_FROM, "invalid patch format of primitive list")
    if not isinstance(values, list):
        raise bad_request("invalid patch format of primitive list")
    old = result.get(name)
    if isinstance(old, list):
        gone = {_key(value) for value in values}
        result[name] = [item for item in old if _key(item) not in gone]


def _ordered(directive: str, patch: Tree, result: Tree, shape: Shape | None) -> None:
    """Take `$setElementOrder/x`, and `x` with it, out of `patch` and merge them into `result`."""
    wrong = "invalid patch format of setElementOrder list"
    order = patch.pop(directive)
    name = _named(directive, _ORDER, wrong)
    old, new = result.get(name), patch.get(name)
    if not isinstance(order, list) or not all(
        part is None or isinstance(part, list) for part in (old, new)
    ):
        raise bad_request(wrong)
    if name in patch and new is None:
        return
    if old is None and new is None:
        return
    field = _field(shape, name)
    key = field.merge_key if field else ""
    _check_order(new or [], order, key)
    patch.pop(name, None)
    if new is None:
        merged = old or []
    elif old is None:
        merged = _bare(_without_nulls(new))
    else:
        merged = _value(old, new, field)
    result[name] = _arranged(merged, order, old or [], key)


def _named(directive: str, prefix: str, wrong: str) -> str:
    start, slash, name = directive.partition("/")
    if not slash or start != prefix:
        raise bad_request(wrong)
    return name


def _check_order(items: list[Any], order: list[Any], key: str) -> None:
    """The items of a patch must stand in the order that it asks for."""
    if not items or not order:
        return
    left = iter([_key_of(item, key) for item in order])
    for item in items:
        if isinstance(item, dict) and _PATCH in item:
            continue
        wanted = _key_of(item, key)
        if not any(other == wanted for other in left):
            raise bad_request(
                f"The order in patch list:\n{items}\n doesn't match {_ORDER} list:\n{order}\n"
            )


# --- lists ---------------------------------------------------------------------------------------


def _list(old: list[Any], patch: list[Any], field: Field) -> list[Any]:
    items = [*old, *patch]
    if any(isinstance(item, list) for item in items):
        raise invalid("lists of lists are not supported")
    if not items:
        return old
    if not any(isinstance(item, dict) for item in items):
        first_of_each = {_key(item): item for item in reversed(items)}
        merged = [first_of_each.pop(name) for name in map(_key, items) if name in first_of_each]
        return _arranged(merged, patch, old, "")
    if not all(isinstance(item, dict) for item in items):
        raise bad_request(f"list element types are not identical in {field.name}")
    if not field.merge_key:
        raise bad_request(f"cannot merge lists without merge key for {field.name}")
    old, patch = _special(old, patch, field.merge_key)
    shape = field.shape.item if isinstance(field.shape, ListOf) else None
    merged = _by_key(old, patch, field.merge_key, shape)
    return _arranged(merged, patch, old, field.merge_key)


def _special(old: list[Tree], patch: list[Tree], key: str) -> tuple[list[Tree], list[Tree]]:
    """Obey the items with `$patch`: one `replace` makes all the others the whole list."""
    plain = [item for item in patch if _PATCH not in item]
    replaces = False
    for item in patch:
        match item.get(_PATCH, ""):
            case "":
                pass
            case "delete":
                gone = _key_of(item, key)
                old = [other for other in old if key not in other or _key_of(other, key) != gone]
            case "replace":
                replaces = True
            case "merge":
                raise bad_request("merging lists cannot yet be specified in the patch")
            case other:
                raise bad_request(f"unknown patch type: {other} in map: {item}")
    return (plain, []) if replaces else (old, plain)


def _by_key(old: list[Tree], patch: list[Tree], key: str, shape: Shape | None) -> list[Tree]:
    result = list(old)
    places = {_key_of(item, key): at for at, item in reversed(list(enumerate(old))) if key in item}
    for item in patch:
        name = _key_of(item, key)
        if name in places:
            at = places[name]
            result[at] = _mapping(result[at], item, shape)
        else:
            places[name] = len(result)
            result.append(item)
    return result


def _arranged(merged: list[Any], order: list[Any], old: list[Any], key: str) -> list[Any]:
    """Items of `order` in its order, the others as they were; both interleaved as they were."""
    wanted = {name: at for at, name in reversed(list(enumerate(_keys(order, key))))}
    before = {name: at for at, name in reversed(list(enumerate(_keys(old, key))))}
    named = [(_key_of(item, key), item) for item in merged]
    ours = sorted((each for each in named if each[0] in wanted), key=lambda each: wanted[each[0]])
    theirs = [each for each in named if each[0] not in wanted]
    theirs.sort(key=lambda each: before.get(each[0], -1))
    left_ours, left_theirs = deque(ours), deque(theirs)
    result: list[Any] = []
    while left_ours and left_theirs:
        left, right = before.get(left_theirs[0][0]), before.get(left_ours[0][0])
        goes_first = left is not None and right is not None and left < right
        result.append((left_theirs if goes_first else left_ours).popleft()[1])
    return result + [item for _, item in (*left_ours, *left_theirs)]


def _keys(items: list[Any], key: str) -> list[object]:
    return [_key_of(item, key) for item in items]


def _key_of(item: Any, key: str) -> object:
    """What an item is told by. Raises Refused when it lacks its key."""
    if not key:
        return _key(item)
    if not isinstance(item, dict) or key not in item:
        raise bad_request(f"map: {item} does not contain declared merge key: {key}")
    return _key(item[key])


def _key(value: Any) -> object:
    """Hashable, and true is not 1."""
    return (type(value).__name__, value if isinstance(value, str | int | float) else repr(value))
