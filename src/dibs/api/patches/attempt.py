"""One apply: what is wanted is merged, what is wanted no more goes, and others are asked.

What goes is what this manager applied last time and nobody owns now; the items and structs that
are left empty by that go too. Versions may differ at every step: the last apply was in one, the
other owners are in theirs.
Source: KEP-555, "pruning" and "conflicts".
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dibs.api.patches import (
    comparing,
    conflicts,
    conversion,
    entries,
    fieldsets,
    merging,
    owning,
    typed,
)
from dibs.api.patches.entries import Entry, Ledger, Writer
from dibs.api.patches.fieldsets import Fields
from dibs.api.patches.owning import Door
from dibs.api.schema.shapes import ListOf, MapOf, Record, Shape

Tree = dict[str, Any]

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
KUBECTL = "kubectl"


@dataclass(frozen=True, slots=True)
class Outcome:
    tree: Tree
    ledger: Ledger
    is_changed: bool


@dataclass(frozen=True, slots=True)
class Attempt:
    """What it starts from; `complete` fills in defaults."""

    door: Door
    live: Tree
    applied: Tree
    before: Ledger
    who: Writer
    complete: Callable[[Tree], Tree]

    def settle(self, *, force: bool) -> Outcome:
        """Raises Refused with the conflicts, less those that client-side apply explains."""
        try:
            return self._merged(force)
        except conflicts.Conflicting as clash:
            left = clash
            if self.who.manager == KUBECTL:
                left = clash.without(self._allowed())
            if left.fields:
                raise left.refused() from None
        return self._merged(force=True)

    def _merged(self, force: bool) -> Outcome:
        fields = typed.field_set(self.applied, self.door.record)
        last = self.before.entries.get(self.who)
        mine = fieldsets.less(fields, self.door.ignored)
        entry = Entry(self.door.version, mine, last.time if last else None)
        # Even an empty entry counts while others are asked, so it is put in as it is.
        ledger = Ledger({**self.before.entries, self.who: entry})
        merged = merging.merge(self.live, self.applied, self.door.record)
        if last and last.fields:
            merged = self._pruned(merged, ledger, last)
        whole = self.complete(merged)
        ledger, _ = owning.others(ledger, self.who, self.door, self.live, whole, force=force)
        left = Entry(entry.api_version, owning.ownable(mine), entry.time)
        return Outcome(
            _without_nulls(merged, self.live, self.door.record),
            ledger.having(self.who, left),
            not comparing.same(whole, self.live),
        )

    def _pruned(self, merged: Tree, ledger: Ledger, last: Entry) -> Tree:
        """Take away what this manager applied last time and nobody, itself included, owns now."""
        shape = conversion.record_or_none(last.api_version, self.door.kind)
        if shape is None:
            return merged
        whole = conversion.convert(merged, last.api_version)
        owned_last = fieldsets.named(last.fields, shape)
        pruned = merging.without(whole, owned_last, shape) or {}
        pruned = self._with_owned(whole, pruned, ledger, last.api_version)
        # And nothing that it didn't own: what lies below went too, and comes back here.
        gone = fieldsets.difference(_named_set(whole, shape), _named_set(pruned, shape))
        pruned = merging.without(whole, fieldsets.intersection(gone, owned_last), shape) or {}
        return conversion.convert(pruned, self.door.version)

    def _with_owned(self, merged: Tree, pruned: Tree, ledger: Ledger, version: str) -> Tree:
        owned = entries.union_of(ledger.entries.values())
        # The version of the pruned tree first: it may lack what conversion needs.
        for theirs in sorted(owned, key=lambda each: each != version):
            shape = conversion.record_or_none(theirs, self.door.kind)
            if shape is None:
                continue
            merged = conversion.convert(merged, theirs)
            pruned = conversion.convert(pruned, theirs)
            kept = fieldsets.union(_named_set(pruned, shape), fieldsets.named(owned[theirs], shape))
            gone = fieldsets.difference(_named_set(merged, shape), kept)
            pruned = merging.without(merged, gone, shape) or {}
        return conversion.convert(pruned, version)

    def _allowed(self) -> Fields:
        """What `kubectl apply` on the client's side wrote, and nobody has changed since.

        Only kubectl moves from its annotation to managed fields without conflicts; another name
        of the manager opts out.
        """
        annotations = entries.metadata_of(self.live).get("annotations")
        text = annotations.get(LAST_APPLIED) if isinstance(annotations, dict) else None
        try:
            tree = json.loads(text) if isinstance(text, str) else None
        except (ValueError, RecursionError):
            return {}
        if not isinstance(tree, dict) or tree.get("apiVersion") != self.door.version:
            return {}
        fields = typed.field_set(tree, self.door.record)
        diff = comparing.compare(tree, self.live, self.door.record)
        for changed in (diff.modified, diff.added, diff.removed):
            fields = fieldsets.difference(fields, changed)
        return fields


def _named_set(tree: Tree, shape: Record) -> Fields:
    return fieldsets.named(typed.field_set(tree, shape), shape)


def _without_nulls(tree: Any, live: Any, shape: Shape) -> Any:
    """Pruning leaves null where something was, and a config may ask for it: it means absence.

    Null inside of what only a driver understands is data, and what the live object has stays.
    """
    match shape, tree:
        case ((Record() | MapOf()), dict()):
            before = live if isinstance(live, dict) else {}
            inner = shape.fields if isinstance(shape, Record) else {}
            result: Tree = {}
            for name, part in tree.items():
                old = before.get(name, typed.ABSENT)
                if part is None and old is not None:
                    continue
                known = inner[name].shape if name in inner else None
                below = shape.item if isinstance(shape, MapOf) else known
                result[name] = part if below is None else _without_nulls(part, old, below)
            return result
        case ListOf(item), list():
            return [_without_nulls(part, None, item) for part in tree]
        case _:
            return tree


def with_last_applied(tree: Tree, applied: Tree) -> Tree:
    """Keep the annotation true for those who go on with client-side apply, if it is there."""
    metadata = entries.metadata_of(tree)
    annotations = metadata.get("annotations")
    if not isinstance(annotations, dict) or not annotations.get(LAST_APPLIED):
        return tree
    bare = dict(applied)
    if isinstance(given := entries.metadata_of(applied).get("annotations"), dict):
        kept = {name: text for name, text in given.items() if name != LAST_APPLIED}
        bare["metadata"] = {**applied["metadata"], "annotations": kept}
    text = json.dumps(bare, separators=(",", ":"), sort_keys=True, ensure_ascii=False) + "\n"
    annotations = {**annotations, LAST_APPLIED: text}
    return {**tree, "metadata": {**metadata, "annotations": annotations}}
