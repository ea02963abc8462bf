"""What a write does to the owners of the fields that it changes, whoever they are.

A change takes a field from those who own it; a removal takes it from everybody. Owners speak of
fields in the version they wrote in, so they are asked in that version.
Source: KEP-555.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dibs.api.patches import comparing, conflicts, conversion, fieldsets
from dibs.api.patches.comparing import Comparison
from dibs.api.patches.entries import Entry, Ledger, Writer
from dibs.api.patches.fieldsets import MEMBER, Fields, Path
from dibs.api.schema.shapes import Record

Tree = dict[str, Any]

# Nobody owns these: the server writes them, or they name the object.
_SERVERS = (
    "name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation",
    "managedFields", "resourceVersion",
)  # fmt: skip
_UNOWNED: Fields = {
    "f:apiVersion": MEMBER,
    "f:kind": MEMBER,
    "f:metadata": {**MEMBER, **{fieldsets.field(name): MEMBER for name in _SERVERS}},
}


@dataclass(frozen=True, slots=True)
class Door:
    """Where a write comes in: its version and kind, and the fields that are not written there."""

    version: str
    kind: str
    record: Record
    ignored: tuple[Path, ...]

    def compared(self, old: Tree, new: Tree) -> Comparison:
        """Both in the version of the door."""
        return comparing.compare(old, new, self.record).less(self.ignored)

    def compared_in(self, version: str, old: Tree, new: Tree) -> Comparison | None:
        """None for a version that is served no more."""
        record = conversion.record_or_none(version, self.kind)
        if record is None:
            return None
        before, after = conversion.convert(old, version), conversion.convert(new, version)
        return comparing.compare(before, after, record).less(self.ignored)


def ownable(fields: Fields) -> Fields:
    return fieldsets.difference(fields, _UNOWNED)


def others(
    ledger: Ledger, who: Writer | None, door: Door, old: Tree, new: Tree, *, force: bool
) -> tuple[Ledger, Comparison]:
    """Return the ledger without what all but `who` lost, and what was changed.

    Raises Conflicting when somebody owns what is changed and it is not forced.
    """
    diff = door.compared(old, new)
    diffs: dict[str, Comparison | None] = {door.version: diff}
    conflicting: dict[Writer, tuple[Entry, Fields]] = {}
    result: dict[Writer, Entry] = {}
    for other, entry in ledger.entries.items():
        if other == who:
            result[other] = entry
            continue
        if entry.api_version not in diffs:
            diffs[entry.api_version] = door.compared_in(entry.api_version, old, new)
        change = diffs[entry.api_version]
        if change is None:
            continue
        touched = fieldsets.union(change.modified, change.added)
        if clash := fieldsets.intersection(entry.fields, touched):
            conflicting[other] = (entry, clash)
        left = fieldsets.difference(fieldsets.difference(entry.fields, clash), change.removed)
        if left:
            result[other] = replace(entry, fields=left)
    if conflicting and not force:
        raise conflicts.Conflicting(conflicting)
    return Ledger(result), diff
