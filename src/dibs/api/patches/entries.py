"""Who owns which fields: the entries of `metadata.managedFields`, read, written, kept few.

A `Ledger` is the entries by their writer. A writer is a manager with an operation, a subresource
and, when it updates, the version it wrote in; one that applies is the same in all versions.
Source: meta/v1 ManagedFieldsEntry; KEP-555.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from dibs.api.patches import fieldsets
from dibs.api.patches.fieldsets import Fields

APPLY = "Apply"
UPDATE = "Update"

# More writers that update than this are merged into one, the oldest first.
MAX_UPDATERS = 10
_OLDEST = "ancient-changes"

Tree = dict[str, Any]


@dataclass(frozen=True, slots=True, order=True)
class Writer:
    """`api_version` is "" for one that applies."""

    manager: str
    operation: str
    api_version: str = ""
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """`api_version` is the version whose fields these are; `time` is None until it changed
    something."""

    api_version: str
    fields: Fields
    time: str | None = None


@dataclass(frozen=True, slots=True)
class Ledger:
    entries: dict[Writer, Entry] = field(default_factory=dict)

    def having(self, writer: Writer, entry: Entry) -> Ledger:
        """With this entry, or without it when it owns nothing."""
        others = {each: kept for each, kept in self.entries.items() if each != writer}
        return Ledger({**others, writer: entry} if entry.fields else others)

    def fields_of(self, writer: Writer) -> Fields:
        entry = self.entries.get(writer)
        return entry.fields if entry else {}


def writer(manager: str, operation: str, api_version: str, subresource: str) -> Writer:
    is_apply = operation == APPLY
    return Writer(manager or "unknown", operation, "" if is_apply else api_version, subresource)


# --- reading -------------------------------------------------------------------------------------


def read(tree: object) -> Ledger:
    """Return the ledger of a `managedFields` list. Raises ValueError."""
    entries: dict[Writer, Entry] = {}
    for index, each in enumerate(tree if isinstance(tree, list | tuple) else ()):
        if not isinstance(each, dict):
            raise ValueError(f"managed fields entry {index} is no mapping")
        texts = {
            name: each.get(name) or ""
            for name in ("manager", "operation", "apiVersion", "fieldsType", "subresource")
        }
        if not all(isinstance(text, str) for text in texts.values()):
            raise ValueError(f"managed fields entry {index} has a field that is no text")
        if texts["operation"] not in (APPLY, UPDATE):
            raise ValueError("operation must be `Apply` or `Update`")
        if not texts["apiVersion"]:
            raise ValueError("apiVersion must not be empty")
        if texts["fieldsType"] != "FieldsV1":
            raise ValueError(f"invalid fieldsType in managed fields entry {index}")
        who = Writer(
            texts["manager"],
            texts["operation"],
            "" if texts["operation"] == APPLY else texts["apiVersion"],
            texts["subresource"],
        )
        fields = fieldsets.decode(each.get("fieldsV1") or {})
        time = each.get("time")
        entries[who] = Entry(texts["apiVersion"], fields, time if isinstance(time, str) else None)
    return Ledger(entries)


def is_reset(tree: object) -> bool:
    """Whether a client asks to forget all owners: an empty list, or one empty entry."""
    return isinstance(tree, list | tuple) and (len(tree) == 0 or (len(tree) == 1 and tree[0] == {}))


# --- writing -------------------------------------------------------------------------------------


def written(ledger: Ledger) -> list[Tree]:
    """Return the list as the API shows it: appliers first, then by time."""
    trees = [_tree(who, entry) for who, entry in ledger.entries.items()]
    return sorted(trees, key=_order)


def _tree(who: Writer, entry: Entry) -> Tree:
    tree: Tree = {
        "apiVersion": entry.api_version,
        "fieldsType": "FieldsV1",
        "fieldsV1": fieldsets.encode(entry.fields),
        "manager": who.manager,
        "operation": who.operation,
    }
    if who.subresource:
        tree["subresource"] = who.subresource
    if entry.time:
        tree["time"] = entry.time
    return tree


def _order(tree: Tree) -> tuple[str, ...]:
    names = ("operation", "time", "manager", "apiVersion", "subresource")
    return tuple(tree.get(name, "") for name in names)


def with_ledger(tree: Tree, ledger: Ledger) -> Tree:
    """Return the object with its owners written down, or without any."""
    metadata = {name: part for name, part in metadata_of(tree).items() if name != "managedFields"}
    if ledger.entries:
        metadata["managedFields"] = written(ledger)
    return {**tree, "metadata": metadata} if metadata or "metadata" in tree else tree


def metadata_of(tree: Tree) -> Tree:
    metadata = tree.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


# --- keeping them few ----------------------------------------------------------------------------


def capped(ledger: Ledger) -> Ledger:
    """Merge the oldest entries of those that update, by version, until few enough are left."""
    updaters = sorted(
        (who for who in ledger.entries if who.operation == UPDATE),
        key=lambda who: (ledger.entries[who].time or "", who),
    )
    surplus = len(updaters) - MAX_UPDATERS
    buckets: dict[str, list[Writer]] = {}
    for who in updaters:
        if surplus <= 0:
            break
        merged = buckets.setdefault(ledger.entries[who].api_version, [])
        merged.append(who)
        # Two become one, and each further one goes.
        surplus -= len(merged) > 1
    entries = dict(ledger.entries)
    for version, merged in buckets.items():
        if len(merged) == 1:
            continue
        newest = ledger.entries[merged[-1]]
        bucket = Writer(_OLDEST, UPDATE, version)
        members = {*merged, bucket} & entries.keys()
        fields = fieldsets.union_of(entries.pop(who).fields for who in members)
        entries[bucket] = replace(newest, fields=fields)
    return Ledger(entries)


def union_of(entries: Iterable[Entry]) -> dict[str, Fields]:
    """Return what is owned by any of them, by the version it is owned in."""
    sets: dict[str, list[Fields]] = {}
    for entry in entries:
        sets.setdefault(entry.api_version, []).append(entry.fields)
    return {version: fieldsets.union_of(each) for version, each in sets.items()}
