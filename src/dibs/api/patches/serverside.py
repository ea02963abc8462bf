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
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dibs.api.patches import attempt, comparing, conversion, entries, fieldsets, owning, wellformed
from dibs.api.patches.attempt import Attempt
from dibs.api.patches.entries import APPLY, UPDATE, Entry, Ledger, Writer
from dibs.api.patches.fieldsets import Path
from dibs.api.patches.owning import Door
from dibs.api.patches.refused import bad_request

Tree = dict[str, Any]

# The manager that owns what was there before anybody applied.
_BEFORE = "before-first-apply"


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
    door = Door(version, kind, conversion.record(version, kind), _paths(ignored))
    if entries.metadata_of(applied).get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    wellformed.check(applied, door.record)
    base = _without_owners(live or conversion.nothing(version, kind))
    ledger = _ledger_before(live, base, door)
    who = entries.writer(manager, APPLY, version, subresource)
    done = Attempt(door, base, applied, ledger, who, complete).settle(force=force)
    tree, ledger = done.tree, done.ledger
    if not done.is_changed:
        tree = base
    elif entry := ledger.entries.get(who):
        ledger = ledger.having(who, replace(entry, time=now))
    if manager == attempt.KUBECTL:
        tree = attempt.with_last_applied(tree, applied)
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
    door = Door(version, kind, conversion.record(version, kind), _paths(ignored))
    ledger = _ledger_of(old, new, subresource)
    bare = _without_owners(new)
    if not ledger.entries and old is not None:
        return entries.with_ledger(bare, ledger)
    base = _without_owners(old or conversion.nothing(version, kind))
    who = entries.writer(manager, UPDATE, version, subresource)
    with contextlib.suppress(conversion.OtherShape):
        ledger = _updated(ledger, who, door, base, bare, now)
    return entries.with_ledger(bare, ledger)


def _updated(ledger: Ledger, who: Writer, door: Door, old: Tree, new: Tree, now: str) -> Ledger:
    # The writer's own entry loses what changed, as everybody's does; it gets it back here.
    ledger, diff = owning.others(ledger, None, door, old, new, force=True)
    if taken := owning.ownable(fieldsets.union(diff.modified, diff.added)):
        mine = fieldsets.union(taken, ledger.fields_of(who))
        ledger = ledger.having(who, Entry(door.version, mine, now))
    return entries.capped(ledger)


def settled(old: Tree, new: Tree) -> Tree:
    """Return `new`, or `old`'s owners on it when only their times differ.

    To be asked last, after defaults: a write that changed nothing must not make a new revision.
    """
    if not comparing.same(_without_owners(old), _without_owners(new)):
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


def _ledger_before(live: Tree | None, base: Tree, door: Door) -> Ledger:
    """The owners of the object that is applied to; when it has none, one for all that is there."""
    try:
        ledger = _owners(live)
    except ValueError as fault:
        raise bad_request(f"managed fields can't be read: {fault}") from None
    if ledger.entries or live is None:
        return ledger
    who = entries.writer(_BEFORE, UPDATE, door.version, "")
    diff = comparing.compare(conversion.nothing(door.version, door.kind), base, door.record)
    fields = owning.ownable(fieldsets.union(diff.modified, diff.added))
    return Ledger().having(who, Entry(door.version, fields))


def _without_owners(tree: Tree) -> Tree:
    metadata = tree.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return tree
    kept = {name: part for name, part in metadata.items() if name != "managedFields"}
    return {**tree, "metadata": kept}


def _paths(ignored: tuple[str, ...]) -> tuple[Path, ...]:
    return tuple((f"f:{name}",) for name in ignored)
