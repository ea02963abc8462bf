"""One object put over another, and an object without some of its fields, by their schema.

Source: KEP-555; the merging rules of x-kubernetes-list-type and x-kubernetes-map-type.
"""

from __future__ import annotations

from collections import Counter

from dibs.api.patches import fieldsets, typed
from dibs.api.patches.fieldsets import SELF, Fields
from dibs.api.patches.typed import ABSENT, Value
from dibs.api.schema.shapes import ListOf, Scalar, Shape


def merge(old: Value, new: Value, shape: Shape, whole: bool = False) -> Value:
    """Return `old` with all that `new` sets; ABSENT is a side that isn't there."""
    if new is ABSENT:
        return old
    if old is ABSENT or whole or typed.is_leaf(shape):
        return new
    old_fits, new_fits = typed.fits(shape, old), typed.fits(shape, new)
    if not (old_fits and old):
        return new
    if not new_fits:
        # Null takes nothing away from what is owned piece by piece.
        return old if new is None else new
    if isinstance(shape, ListOf):
        return _merge_lists(old, new, shape)
    result = dict(old)
    for name, value in new.items():
        inner, inner_whole = typed.entry(shape, name)
        result[name] = merge(old.get(name, ABSENT), value, inner, inner_whole)
    return result


def _merge_lists(old: list[Value], new: list[Value], shape: ListOf) -> list[Value]:
    """Items of both are merged and follow the order of `new`; those of `old` alone keep theirs.

    An old item goes before the next item that both have, as it did before.
    """
    old_names, new_names = typed.elements(old, shape), typed.elements(new, shape)
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


def without(tree: Value, fields: Fields, shape: Shape) -> Value:
    """Return `tree` less the members of `fields`; what is left empty becomes null."""
    if isinstance(shape, Scalar):
        return tree
    if not typed.fits(shape, tree) or not tree or typed.is_leaf(shape):
        return None
    if isinstance(shape, ListOf):
        kept: list[Value] = []
        for name, item in zip(typed.elements(tree, shape), tree, strict=True):
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
            inner, _ = typed.entry(shape, name)
            result[name] = without(value, below, inner) if below else value
    return result or None
