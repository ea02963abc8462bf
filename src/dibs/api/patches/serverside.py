"""Server-side apply, and who owns what after any other write.

`apply` merges what a manager wants into the object, takes away what it no longer wants and nobody
else owns, and refuses to change what others own unless forced. `track` looks at what a create,
update or other patch changed and gives those fields to its manager. Both are told the time.

Defaults are none of ours: `apply` is followed by defaulting, whose fields nobody owns; `track`
comes after it, as on the API server.
Source: KEP-555; the merge semantics of managedFields (FieldsV1).
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dibs.api.patches import conflicts, conversion, entries, fieldsets, typed, wellformed
from dibs.api.patches.entries import APPLY, UPDATE, Entry, Ledger, Writer
from dibs.api.patches.fieldsets import Fields, Path
from dibs.api.patches.refused import bad_request
from dibs.api.patches.typed import Comparison
from dibs.api.schema.shapes import ListOf, MapOf, Record, Shape

Tree = dict[str, Any]

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
# The manager that owns what was there before anybody applied.
_BEFORE = "before-first-apply"
_KUBECTL = "kubectl"

# Nobody owns these: the server writes them, or they name the object.
_UNOWNED: tuple[Path, ...] = (
    ("f:apiVersion",),
    ("f:kind",),
    ("f:metadata",),
    *(
        ("f:metadata", f"f:{name}")
        for name in (
            "name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName",
            "generation", "managedFields", "resourceVersion",
        )
    ),
)  # fmt: skip
_STRIPPED: Fields = {
    "f:apiVersion": {".": {}},
    "f:kind": {".": {}},
    "f:metadata": {".": {}, **{path[1]: {".": {}} for path in _UNOWNED if len(path) == 2}},
}


def apply(
    live: Tree | None,
    applied: Tree,
    *,
    manager: str,
    now: str,
    force: bool = False,
    subresource: str = "",
    ignored: tuple[str, ...] = (),
    complete: Callable[[Tree], Tree] = lambda tree: tree,
) -> Tree:
    """Return the object after `manager` applied `applied`, with its `metadata.managedFields`.

    `live` is the object in the version of `applied`, None when it is to be created. `ignored` are
    the top-level fields that this door doesn't write (`status` at the main one; `spec`, `metadata`
    at `/status`). `complete` fills in defaults, in the same version: a list that is owned as a
    whole and differs from the live one only in them is no conflict. The result is not completed.

    Raises Refused: 409 with one cause a field that another manager owns, 400 when `applied` is not
    of its kind.
    """
    version, kind = conversion.head(applied)
    record = conversion.record(version, kind)
    if entries.metadata_of(applied).get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    wellformed.check(applied, record)
    base = _without_owners(live or conversion.nothing(version, kind))
    ledger = _ledger_before(live, base, record, version)
    who = entries.writer(manager, APPLY, version, subresource)
    attempt = _Attempt(base, applied, record, version, kind, ledger, who, _paths(ignored), complete)
    tree, ledger, is_changed = attempt.settle(force)
    if not is_changed:
        tree = base
    elif entry := ledger.entries.get(who):
        ledger = ledger.having(who, replace(entry, time=now))
    if manager == _KUBECTL:
        tree = _with_last_applied(tree, applied)
    return entries.with_ledger(tree, ledger)


def track(
    old: Tree | None,
    new: Tree,
    *,
    manager: str,
    now: str,
    subresource: str = "",
    ignored: tuple[str, ...] = (),
) -> Tree:
    """Return `new` with its owners: `manager` owns what differs from `old` (None: everything).

    Both are in the version of the write. Owners that `new` itself brings are believed, as the API
    does for the main resource; an object without any that exists already stays without. Raises
    nothing: when the owners can't be worked out, those of `old` are kept.
    """
    version, kind = conversion.head(new)
    record = conversion.record(version, kind)
    ledger = _ledger_of(old, new, subresource)
    bare = _without_owners(new)
    if not ledger.entries and old is not None:
        return entries.with_ledger(bare, ledger)
    base = _without_owners(old or conversion.nothing(version, kind))
    with contextlib.suppress(conversion.OtherShape):
        ledger = _updated(
            base, bare, record, version, kind, ledger,
            entries.writer(manager, UPDATE, version, subresource), now, _paths(ignored),
        )  # fmt: skip
    return entries.with_ledger(bare, ledger)


def settled(old: Tree, new: Tree) -> Tree:
    """Return `new`, or `old`'s owners on it when only their times differ.

    To be asked last, after defaults: a write that changed nothing must not make a new revision.
    """
    if not typed.same(_without_owners(old), _without_owners(new)):
        return new
    try:
        before, after = _owners(old), _owners(new)
    except ValueError:
        return new
    if _timeless(before) != _timeless(after):
        return new
    return entries.with_ledger(new, before)


def _timeless(ledger: Ledger) -> dict[Writer, Entry]:
    return {who: replace(entry, time=None) for who, entry in ledger.entries.items()}


# --- what is known before ------------------------------------------------------------------------


def _owners(tree: Tree | None) -> Ledger:
    return entries.read(entries.metadata_of(tree or {}).get("managedFields"))


def _ledger_of(old: Tree | None, new: Tree, subresource: str) -> Ledger:
    given = entries.metadata_of(new).get("managedFields")
    if not subresource:
        if given is not None and entries.is_reset(given):
            return Ledger()
        try:
            ledger = entries.read(given)
        except ValueError:
            ledger = Ledger()
        if ledger.entries:
            return ledger
    # A client that knows nothing of owners must not take them away.
    try:
        return _owners(old)
    except ValueError:
        return Ledger()


def _ledger_before(live: Tree | None, base: Tree, record: Record, version: str) -> Ledger:
    """The owners of the object that is applied to; when it has none, one for all that is there."""
    try:
        ledger = _owners(live)
    except ValueError as fault:
        raise bad_request(f"managed fields can't be read: {fault}") from None
    if ledger.entries or live is None:
        return ledger
    who = entries.writer(_BEFORE, UPDATE, version, "")
    diff = typed.compare(conversion.nothing(version, record.kind), base, record)
    fields = fieldsets.difference(fieldsets.union(diff.modified, diff.added), _STRIPPED)
    return Ledger().having(who, Entry(version, fields))


def _without_owners(tree: Tree) -> Tree:
    metadata = tree.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return tree
    kept = {name: part for name, part in metadata.items() if name != "managedFields"}
    return {**tree, "metadata": kept}


def _paths(ignored: tuple[str, ...]) -> tuple[Path, ...]:
    return tuple((f"f:{name}",) for name in ignored)


# --- any write but apply -------------------------------------------------------------------------


def _updated(
    old: Tree, new: Tree, record: Record, version: str, kind: str, ledger: Ledger,
    who: Writer, now: str, ignored: tuple[Path, ...],
) -> Ledger:  # fmt: skip
    diff = typed.compare(old, new, record).less(ignored)
    ledger = _others(ledger, None, old, new, version, kind, diff, ignored, force=True)
    # The writer's own entry has lost what changed, as everybody's has; it gets it back here.
    taken = fieldsets.difference(fieldsets.union(diff.modified, diff.added), _STRIPPED)
    if taken:
        mine = fieldsets.union(taken, ledger.fields_of(who))
        ledger = ledger.having(who, Entry(version, mine, now))
    return entries.capped(ledger)


def _others(
    ledger: Ledger, who: Writer | None, old: Tree, new: Tree, version: str, kind: str,
    diff: Comparison, ignored: tuple[Path, ...], force: bool,
) -> Ledger:  # fmt: skip
    """Take from all but `who` what was changed or removed. Raises Refused when they mind."""
    diffs = {version: diff}
    conflicting: dict[Writer, tuple[Entry, Fields]] = {}
    result: dict[Writer, Entry] = {}
    for other, entry in ledger.entries.items():
        if other == who:
            result[other] = entry
            continue
        if entry.api_version not in diffs:
            if not (theirs := conversion.record_or_none(entry.api_version, kind)):
                continue
            diffs[entry.api_version] = typed.compare(
                conversion.convert(old, entry.api_version),
                conversion.convert(new, entry.api_version),
                theirs,
            ).less(ignored)
        change = diffs[entry.api_version]
        touched = fieldsets.union(change.modified, change.added)
        if clash := fieldsets.intersection(entry.fields, touched):
            conflicting[other] = (entry, clash)
        left = fieldsets.difference(fieldsets.difference(entry.fields, clash), change.removed)
        if left:
            result[other] = replace(entry, fields=left)
    if conflicting and not force:
        raise conflicts.Conflicting(conflicting)
    return Ledger(result)


# --- apply ---------------------------------------------------------------------------------------


class _Attempt:
    """One apply: what it starts from, and what it comes to."""

    def __init__(
        self, live: Tree, applied: Tree, record: Record, version: str, kind: str,
        ledger: Ledger, who: Writer, ignored: tuple[Path, ...], complete: Callable[[Tree], Tree],
    ) -> None:  # fmt: skip
        self.live = live
        self.applied = applied
        self.record = record
        self.version = version
        self.kind = kind
        self.before = ledger
        self.who = who
        self.ignored = ignored
        self.complete = complete

    def settle(self, force: bool) -> tuple[Tree, Ledger, bool]:
        """Return the object, its owners, and whether it changed.

        Raises Refused with the conflicts, less those that client-side apply explains.
        """
        try:
            return self._merged(force)
        except conflicts.Conflicting as clash:
            left = clash
            if self.who.manager == _KUBECTL:
                left = clash.without(self._allowed())
            if left.fields:
                raise left.refused() from None
        return self._merged(force=True)

    def _merged(self, force: bool) -> tuple[Tree, Ledger, bool]:
        fields = typed.field_set(self.applied, self.record)
        mine = fieldsets.less(fields, self.ignored)
        last = self.before.entries.get(self.who)
        entry = Entry(self.version, mine, last.time if last else None)
        # Even an empty entry counts while others are asked, so it is put in as it is.
        ledger = Ledger({**self.before.entries, self.who: entry})
        merged = typed.merge(self.live, self.applied, self.record)
        if last and last.fields:
            merged = self._pruned(merged, ledger, last)
        whole = self.complete(merged)
        diff = typed.compare(self.live, whole, self.record).less(self.ignored)
        ledger = _others(
            ledger, self.who, self.live, whole, self.version, self.kind, diff, self.ignored, force
        )
        mine = fieldsets.difference(ledger.fields_of(self.who), _STRIPPED)
        ledger = ledger.having(self.who, replace(entry, fields=mine))
        tree: Tree = _without_nulls(merged, self.live, self.record)
        return tree, ledger, not typed.same(whole, self.live)

    def _pruned(self, merged: Tree, ledger: Ledger, last: Entry) -> Tree:
        """Take away what this manager applied last time and nobody, itself included, owns now."""
        shape = conversion.record_or_none(last.api_version, self.kind)
        if shape is None:
            return merged
        whole = conversion.convert(merged, last.api_version)
        owned_last = fieldsets.named(last.fields, shape)
        pruned = typed.without(whole, owned_last, shape) or {}
        pruned = self._with_owned(whole, pruned, ledger, last.api_version)
        # And nothing that it didn't own: what lies below went too, and comes back here.
        before = fieldsets.named(typed.field_set(whole, shape), shape)
        after = fieldsets.named(typed.field_set(pruned, shape), shape)
        gone = fieldsets.intersection(fieldsets.difference(before, after), owned_last)
        pruned = typed.without(whole, gone, shape) or {}
        return conversion.convert(pruned, self.version)

    def _with_owned(self, merged: Tree, pruned: Tree, ledger: Ledger, version: str) -> Tree:
        owned = entries.union_of(ledger.entries.values())
        at = version
        # The version of the pruned tree first: it may lack what conversion needs.
        for theirs in sorted(owned, key=lambda each: each != version):
            shape = conversion.record_or_none(theirs, self.kind)
            if shape is None:
                continue
            merged = conversion.convert(merged, theirs)
            pruned = conversion.convert(pruned, theirs)
            at = theirs
            before = fieldsets.named(typed.field_set(merged, shape), shape)
            after = fieldsets.named(typed.field_set(pruned, shape), shape)
            kept = fieldsets.union(after, fieldsets.named(owned[theirs], shape))
            gone = fieldsets.difference(before, kept)
            pruned = typed.without(merged, gone, shape) or {}
        return pruned if at == version else conversion.convert(pruned, version)

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
        if not isinstance(tree, dict) or tree.get("apiVersion") != self.version:
            return {}
        fields = typed.field_set(tree, self.record)
        diff = typed.compare(tree, self.live, self.record)
        for changed in (diff.modified, diff.added, diff.removed):
            fields = fieldsets.difference(fields, changed)
        return fields


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


def _with_last_applied(tree: Tree, applied: Tree) -> Tree:
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
