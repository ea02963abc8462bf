"""How two objects differ: the fields that the newer one removed, changed and added.

Every field appears in at most one of the three sets; a struct, map or list that appears or goes
is told beside what is in it.
Source: KEP-555; the merging rules of x-kubernetes-list-type and x-kubernetes-map-type.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from dibs.api.patches import fieldsets, typed
from dibs.api.patches.fieldsets import SELF, Fields
from dibs.api.patches.typed import ABSENT, Value
from dibs.api.schema.shapes import ListOf, Scalar, Shape
from dibs.values.quantity import NotAQuantity, Quantity


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


def compare(old: Value, new: Value, shape: Shape) -> Comparison:
    removed: Fields = {}
    modified: Fields = {}
    added: Fields = {}
    _compare(old, new, shape, False, removed, modified, added)
    return Comparison(removed, modified, added)


def _compare(
    old: Value, new: Value, shape: Shape, whole: bool,
    removed: Fields, modified: Fields, added: Fields,
) -> None:  # fmt: skip
    """Fill the three sets of one path."""
    if old is new or (old is not ABSENT and new is not ABSENT and same(old, new)):
        return
    if old is ABSENT:
        added.update(_all_of(new, shape, whole))
        return
    if not _descends(shape, whole, old, new):
        _compare_leaf(old, new, shape, removed, modified, added)
        return
    _descend(old, new, shape, removed, modified, added)
    if new is ABSENT:
        removed[SELF] = {}


def _all_of(new: Value, shape: Shape, whole: bool) -> Fields:
    """What is added where nothing was. All of a new object is, so it has a way of its own."""
    fields: Fields = {SELF: {}}
    if not _descends(shape, whole, ABSENT, new):
        return fields
    if isinstance(shape, ListOf):
        for at, items in _by_element(new, shape).items():
            # Of what stands there several times nobody owns a part.
            fields[at] = {SELF: {}} if len(items) > 1 else _all_of(items[0], shape.item, False)
        return fields
    for name, part in new.items():
        inner, is_whole = typed.entry(shape, name)
        fields[fieldsets.field(name)] = _all_of(part, inner, is_whole)
    return fields


def _descends(shape: Shape, whole: bool, old: Value, new: Value) -> bool:
    """Empty against empty is a leaf, so that null and {} can be told apart."""
    if whole or typed.is_leaf(shape):
        return False
    return any(typed.fits(shape, side) and side for side in (old, new))


def _compare_leaf(
    old: Value, new: Value, shape: Shape, removed: Fields, modified: Fields, added: Fields
) -> None:
    if new is ABSENT:
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
        inner, whole = typed.entry(shape, name)
        _compare_at(fieldsets.field(name), one, other, inner, whole, removed, modified, added)


def _compare_at(
    at: str, old: Value, new: Value, shape: Shape, whole: bool,
    removed: Fields, modified: Fields, added: Fields,
) -> None:  # fmt: skip
    """Fill the three sets below `at`, which appears in those where there is something to say."""
    below: tuple[Fields, Fields, Fields] = ({}, {}, {})
    _compare(old, new, shape, whole, *below)
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
    for name, item in zip(typed.elements(items, shape), items, strict=True):
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
