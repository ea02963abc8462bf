"""Objects seen through their schema: which fields they set, how two differ, how two merge.

The walks of server-side apply. A leaf is a scalar, or a list, map or struct that is owned as a
whole; everything else is owned piece by piece. What is not of its schema counts as a leaf here;
`check` refuses it first where that matters. Nothing is changed in place.
Source: KEP-555; the merging rules of x-kubernetes-list-type and x-kubernetes-map-type.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import msgspec

from dibs.api.patches import fieldsets
from dibs.api.patches.fieldsets import MEMBER, SELF, Fields
from dibs.api.schema.shapes import Field, ListOf, MapOf, Record, Scalar, Shape
from dibs.values.quantity import NotAQuantity, Quantity

Value = Any


class _Absent(Enum):
    ABSENT = 0


ABSENT: Final = _Absent.ABSENT

# What the schema doesn't know is owned as a whole, as is what only a driver understands.
_RAW = Scalar("Raw")


class Untypable(ValueError):
    """An item of a list can't be told from the others; the message says why."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the newer object removed, changed and added."""

    removed: Fields
    modified: Fields
    added: Fields

    def less(self, paths: tuple[fieldsets.Path, ...]) -> Comparison:
        return Comparison(
            fieldsets.less(self.removed, paths),
            fieldsets.less(self.modified, paths),
            fieldsets.less(self.added, paths),
        )


# --- what a value is, by its schema --------------------------------------------------------------


def _is_leaf(shape: Shape) -> bool:
    match shape:
        case ListOf():
            return shape.kind == "atomic"
        case MapOf() | Record():
            return shape.is_atomic
        case _:
            return True


def _of(shape: Shape, name: str) -> tuple[Shape, bool]:
    """The shape of one entry of a mapping, and whether it is a leaf by what the field says."""
    if isinstance(shape, Record):
        known = shape.fields.get(name)
        if known is None:
            return _RAW, False
        return known.shape, known.is_atomic
    assert isinstance(shape, MapOf)
    return shape.item, False


def _fits(shape: Shape, value: Value) -> bool:
    return isinstance(value, list) if isinstance(shape, ListOf) else isinstance(value, dict)


def element(item: Value, shape: ListOf) -> str:
    """Return what tells `item` from the others of its list. Raises Untypable."""
    if shape.kind == "set":
        if isinstance(item, dict | list) or item is None:
            raise Untypable("associative list without keys has an element that is no scalar")
        return fieldsets.value(item)
    if not isinstance(item, dict):
        raise Untypable("associative list with keys may not have non-map elements")
    keys: dict[str, Value] = {}
    for name in sorted(shape.keys):
        if name in item:
            keys[name] = item[name]
        elif (known := _field(shape.item, name)) and known.default is not None:
            keys[name] = known.default
    if not keys:
        wanted = ", ".join(f'"{name}"' for name in shape.keys)
        raise Untypable(f"associative list with keys has an element that omits all of [{wanted}]")
    return fieldsets.key(keys)


def _field(shape: Shape, name: str) -> Field | None:
    return shape.fields.get(name) if isinstance(shape, Record) else None


def _elements(items: list[Value], shape: ListOf) -> list[str]:
    """An item that can't be told is told by its place."""
    named: list[str] = []
    for index, item in enumerate(items):
        try:
            named.append(element(item, shape))
        except Untypable:
            named.append(f"i:{index}")
    return named


# --- which fields an object sets -----------------------------------------------------------------


def field_set(tree: Value, shape: Shape, is_leaf: bool = False) -> Fields:
    if is_leaf or _is_leaf(shape):
        return MEMBER
    if not _fits(shape, tree):
        return {} if tree is None else MEMBER
    if isinstance(shape, ListOf):
        return _set_of_list(tree, shape)
    result: Fields = {}
    for name, value in tree.items():
        inner, whole = _of(shape, name)
        below = field_set(value, inner, whole)
        # Keys of maps are owned beside what is in them, and so is what is empty.
        if value is None or value == {} or isinstance(shape, MapOf):
            below = {SELF: {}, **below}
        if below:
            result[fieldsets.field(name)] = below
    return result


def _set_of_list(items: list[Value], shape: ListOf) -> Fields:
    named = _elements(items, shape)
    result: Fields = {}
    for name, item in zip(named, items, strict=True):
        # Of items with one name nobody knows which is whose: they are owned together.
        is_double = name in result
        result[name] = MEMBER if is_double else {SELF: {}, **field_set(item, shape.item)}
    return result


# --- how two objects differ ----------------------------------------------------------------------


def compare(old: Value, new: Value, shape: Shape) -> Comparison:
    removed: Fields = {}
    modified: Fields = {}
    added: Fields = {}
    _compare(old, new, shape, False, removed, modified, added)
    return Comparison(removed, modified, added)


def _compare(
    old: Value, new: Value, shape: Shape, is_leaf: bool,
    removed: Fields, modified: Fields, added: Fields,
) -> None:  # fmt: skip
    """Fill the three sets of one path."""
    if old is new or (old is not ABSENT and new is not ABSENT and same(old, new)):
        return
    if not _descends(shape, is_leaf, old, new):
        _compare_leaf(old, new, shape, removed, modified, added)
        return
    _descend(old, new, shape, removed, modified, added)
    if old is ABSENT:
        added[SELF] = {}
    elif new is ABSENT:
        removed[SELF] = {}


def _descends(shape: Shape, is_leaf: bool, old: Value, new: Value) -> bool:
    """Empty against empty is a leaf, so that null and {} can be told apart."""
    if is_leaf or _is_leaf(shape):
        return False
    return any(_fits(shape, side) and side for side in (old, new))


def _compare_leaf(
    old: Value, new: Value, shape: Shape, removed: Fields, modified: Fields, added: Fields
) -> None:
    if old is ABSENT:
        added[SELF] = {}
    elif new is ABSENT:
        removed[SELF] = {}
    elif not _means_the_same(old, new, shape):
        modified[SELF] = {}


def _descend(
    old: Value, new: Value, shape: Shape, removed: Fields, modified: Fields, added: Fields
) -> None:
    if isinstance(shape, ListOf):
        _compare_lists(
            old if isinstance(old, list) else [], new if isinstance(new, list) else [], shape,
            removed, modified, added,
        )  # fmt: skip
        return
    before = old if isinstance(old, dict) else {}
    after = new if isinstance(new, dict) else {}
    for name in before.keys() | after.keys():
        one, other = before.get(name, ABSENT), after.get(name, ABSENT)
        if one is other:
            continue
        inner, whole = _of(shape, name)
        _compare_at(fieldsets.field(name), one, other, inner, whole, removed, modified, added)


def _compare_at(
    at: str, old: Value, new: Value, shape: Shape, is_leaf: bool,
    removed: Fields, modified: Fields, added: Fields,
) -> None:  # fmt: skip
    """Fill the three sets below `at`, which appears in those where there is something to say."""
    below: tuple[Fields, Fields, Fields] = ({}, {}, {})
    _compare(old, new, shape, is_leaf, *below)
    for fields, found in zip((removed, modified, added), below, strict=True):
        if found:
            fields[at] = found


def _compare_lists(
    old: list[Value], new: list[Value], shape: ListOf,
    removed: Fields, modified: Fields, added: Fields,
) -> None:  # fmt: skip
    before, after = _by_element(old, shape), _by_element(new, shape)
    for at in before.keys() | after.keys():
        olds, news = before.get(at, []), after.get(at, [])
        if len(olds) <= 1 and len(news) <= 1:
            one = olds[0] if olds else ABSENT
            other = news[0] if news else ABSENT
            _compare_at(at, one, other, shape.item, False, removed, modified, added)
        elif len(olds) > 1 and len(news) > 1:
            if not same(olds, news):
                modified.setdefault(at, {})[SELF] = {}
        elif len(olds) > 1:
            if news:
                _compare_at(at, ABSENT, news[0], shape.item, False, removed, modified, added)
            removed.setdefault(at, {})[SELF] = {}
        else:
            if olds:
                _compare_at(at, olds[0], ABSENT, shape.item, False, removed, modified, added)
            added.setdefault(at, {})[SELF] = {}


def _by_element(items: list[Value], shape: ListOf) -> dict[str, list[Value]]:
    grouped: dict[str, list[Value]] = {}
    for name, item in zip(_elements(items, shape), items, strict=True):
        grouped.setdefault(name, []).append(item)
    return grouped


def same(one: Value, other: Value) -> bool:
    """Whether two trees are equal as JSON: true is not 1."""
    if one != other:
        return False
    if isinstance(one, str):
        return True
    encoder = msgspec.json.Encoder(order="deterministic")
    return encoder.encode(one) == encoder.encode(other)


def _means_the_same(old: Value, new: Value, shape: Shape) -> bool:
    """1000m is 1, 1.0 is 1; all else must be equal."""
    if isinstance(shape, Scalar) and shape.name == "Quantity":
        try:
            return Quantity.parse(str(old)) == Quantity.parse(str(new))
        except NotAQuantity:
            return False
    is_number = isinstance(old, int | float) and isinstance(new, int | float)
    return is_number and not isinstance(old, bool) and not isinstance(new, bool) and old == new


# --- how two objects merge -----------------------------------------------------------------------


def merge(old: Value, new: Value, shape: Shape, is_leaf: bool = False) -> Value:
    """Return `old` with all that `new` sets; ABSENT is a side that isn't there."""
    if new is ABSENT:
        return old
    if old is ABSENT or is_leaf or _is_leaf(shape):
        return new
    old_fits, new_fits = _fits(shape, old), _fits(shape, new)
    if not (old_fits and old):
        return new
    if not new_fits:
        # Null takes nothing away from what is owned piece by piece.
        return old if new is None else new
    if isinstance(shape, ListOf):
        return _merge_lists(old, new, shape)
    result = dict(old)
    for name, value in new.items():
        inner, whole = _of(shape, name)
        result[name] = merge(old.get(name, ABSENT), value, inner, whole)
    return result


def _merge_lists(old: list[Value], new: list[Value], shape: ListOf) -> list[Value]:
    """Items of both are merged and follow the order of `new`; those of `old` alone keep theirs.

    An old item goes before the next item that both have, as it did before.
    """
    old_names, new_names = _elements(old, shape), _elements(new, shape)
    # Which of two items with one name is meant can't be known: `new` has it alone.
    counts = Counter(old_names)
    old_items = {
        name: item if counts[name] == 1 else ABSENT
        for name, item in zip(old_names, old, strict=True)
    }
    wanted, done = set(new_names), set[str]()
    shared = iter([name for name in new_names if name in old_items])
    next_shared = next(shared, None)
    result: list[Value] = []
    left = right = 0
    while left < len(old) or right < len(new):
        if left < len(old):
            name = old_names[left]
            if name not in wanted:
                result.append(old[left])
                left += 1
                continue
            # `new` has it elsewhere: it was, or will be, put there.
            if right < len(new) and next_shared not in (None, name):
                left += 1
                continue
            left += name in done
        if right < len(new):
            name = new_names[right]
            result.append(merge(old_items.get(name, ABSENT), new[right], shape.item))
            done.add(name)
            left += left < len(old) and old_names[left] == name
            right += 1
            if name == next_shared:
                next_shared = next(shared, None)
    return result


# --- an object without some fields ---------------------------------------------------------------


def without(tree: Value, fields: Fields, shape: Shape) -> Value:
    """Return `tree` less the members of `fields`; what is left empty becomes null."""
    if isinstance(shape, Scalar):
        return tree
    if not _fits(shape, tree) or not tree or _is_leaf(shape):
        return None
    if isinstance(shape, ListOf):
        kept: list[Value] = []
        for name, item in zip(_elements(tree, shape), tree, strict=True):
            below = fields.get(name)
            if below is None:
                kept.append(item)
            elif SELF not in below:
                kept.append(without(item, below, shape.item) if below else item)
        return kept or None
    result: dict[str, Value] = {}
    for name, value in tree.items():
        below = fields.get(fieldsets.field(name))
        if below is None:
            result[name] = value
        elif SELF not in below:
            inner, _ = _of(shape, name)
            result[name] = without(value, below, inner) if below else value
    return result or None
