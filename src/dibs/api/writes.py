"""Create and update: from a body to a committed object, or to everything that is wrong with it.

A write rests on the revision that was read; when that moved meanwhile, a client that named it gets
a conflict, and one that didn't is served on the new one. Patches come here with the patched tree.
"""

from __future__ import annotations

from dataclasses import replace as replace_

from dibs.api import (
    admit,
    check,
    claim_status,
    convert,
    failures,
    prepare,
    quotas,
    stamps,
    storage,
)
from dibs.api.calls import Call, Tree, WriteOptions, Written
from dibs.api.patches import serverside
from dibs.api.plane import Plane
from dibs.model.kinds import Known
from dibs.store.faults import Conflict
from dibs.store.records import Check, Delete, Entry, Event, Put, Write

# How often a write is tried again on what others have written meanwhile.
MOST_TRIES = 20
# Generated names that were all taken.
_NAMES_TRIED = 8


async def create(
    plane: Plane,
    call: Call,
    body: Tree,
    options: WriteOptions,
    duplicates: tuple[str, ...] = (),
    *,
    is_tracked: bool = True,
) -> Written:
    """Write a new object. Raises Failure: 400, 403, 404 (the namespace), 409, 422."""
    tree = convert.claimed(call.resource, call.version, body)
    warnings = check.slips(call, tree, duplicates, options.field_validation)
    stored = check.stored(call, tree, is_of_model=options.is_of_model)
    async with quotas.turn(plane, call.namespace):
        made = await _create(plane, call, stored, options, is_tracked=is_tracked)
    return replace_(made, warnings=warnings)


async def _create(
    plane: Plane, call: Call, stored: Tree, options: WriteOptions, *, is_tracked: bool
) -> Written:
    for tried in range(MOST_TRIES):
        said = prepare.for_create(call, stored, plane.world)
        guards = _namespace_guards(plane, call, said)
        new = admit.filled(plane, call, said)
        item = check.new(call, new, plane.context)
        beside = quotas.charged(plane, call, new)
        plane.object_to(call, None, new)
        key = storage.key_of(call.resource, call.namespace, new["metadata"]["name"])
        if plane.store.get(key) is not None and _is_taken(call, stored, tried):
            raise failures.already_exists(call.resource, key.name)
        if is_tracked:
            new = tracked(plane, call, None, new, options, said)
        elif managed := stored["metadata"].get("managedFields"):
            new = {**new, "metadata": {**new["metadata"], "managedFields": managed}}
        if options.dry_run:
            return _written(call, None, new, created=True)
        try:
            events = await plane.commit(Put(key, bytes_of(call, new), 0), *guards, *beside)
        except Conflict as conflict:
            if conflict.key == key and _is_taken(call, stored, tried):
                raise failures.already_exists(call.resource, key.name) from None
            continue
        return _written(call, None, plane.reader.written(events[0], new, item), created=True)
    raise failures.conflict(call.resource, call.name)


def _is_taken(call: Call, tree: Tree, tried: int) -> bool:
    """Whether that name was asked for; a generated one is drawn again."""
    is_named = bool((tree.get("metadata") or {}).get("name") or call.name)
    return is_named or tried >= _NAMES_TRIED


def _namespace_guards(plane: Plane, call: Call, new: Tree) -> tuple[Write, ...]:
    """The namespace must be there and stay, and not be on its way out, while we write."""
    if not call.resource.namespaced:
        return ()
    entry = plane.namespace(call.namespace)
    if plane.reader.tree(entry)["metadata"].get("deletionTimestamp"):
        name = new["metadata"].get("name", "")
        why = (
            f"unable to create new content in namespace {call.namespace} because it is being "
            "terminated"
        )
        raise failures.forbidden(call.resource, name, why)
    return (Check(entry.key, entry.mod_revision),)


async def update(
    plane: Plane,
    call: Call,
    body: Tree,
    options: WriteOptions,
    duplicates: tuple[str, ...] = (),
    *,
    doors: tuple[str, ...] = (),
) -> Written:
    """Replace an object. Raises Failure: 400, 403, 404, 409, 422.

    With `doors`, the main one "" and others, it is as if written through each of these in turn,
    and all of that or none: for the loops of this process, who would write twice.
    """
    tree = convert.claimed(call.resource, call.version, body)
    warnings = check.slips(call, tree, duplicates, options.field_validation)
    asked = (tree.get("metadata") or {}).get("resourceVersion")
    for _ in range(MOST_TRIES):
        entry = plane.entry(call)
        if asked and asked != str(entry.mod_revision):
            break
        try:
            return await replace(plane, call, entry, tree, options, warnings, doors=doors)
        except Conflict:
            continue
    raise failures.conflict(call.resource, call.name)


async def replace(
    plane: Plane,
    call: Call,
    entry: Entry,
    tree: Tree,
    options: WriteOptions,
    warnings: tuple[str, ...] = (),
    *,
    is_tracked: bool = True,
    doors: tuple[str, ...] = (),
) -> Written:
    """Write `tree`, of the version of the call, in the place of `entry`.

    Raises Conflict when something else stands there by now, and Failure.
    """
    old = plane.reader.tree(entry)
    _same_object(call, tree, old)
    stored = check.stored(call, tree, is_of_model=options.is_of_model)
    new, item = old, None if call.resource.model is None else plane.reader.item(entry)
    for door in doors or (call.subresource,):
        new, item = _through(plane, call.at(door), stored, (new, item))
        if is_tracked:
            new = tracked(plane, call.at(door), old, new, options)
    if new == old or serverside.settled(old, new) == old:
        return _written(call, old, old, warnings)
    if options.dry_run:
        return _written(call, old, new, warnings)
    if is_gone(call, new):
        event = await remove(plane, call, entry, old)
        return _written(call, old, plane.reader.written(event, new), warnings, gone=True)
    [event] = await plane.commit(Put(entry.key, bytes_of(call, new), entry.mod_revision))
    return _written(call, old, plane.reader.written(event, new, item), warnings)


def _through(
    plane: Plane, call: Call, stored: Tree, known: tuple[Tree, Known | None]
) -> tuple[Tree, Known | None]:
    """Return what is known of an object, changed by what may be written at this door."""
    old, before = known
    new = prepare.for_update(call, stored, old, plane.world)
    if call.resource.qualified == "resourceclaims.resource.k8s.io" and call.subresource:
        claim_status.refuse(plane.gate, call, new, old)
    new, item = check.change(call, new, old, before, plane.context)
    plane.object_to(call, old, new)
    return new, item


def bytes_of(call: Call, tree: Tree) -> bytes:
    """Return what will be stored. Raises Failure (413): patches can make much of little."""
    value = storage.to_bytes(tree)
    if len(value) > storage.MOST_BYTES:
        name = tree["metadata"].get("name", "")
        raise failures.object_too_large(call.resource, name, len(value), storage.MOST_BYTES)
    return value


async def remove(plane: Plane, call: Call, entry: Entry, old: Tree) -> Event:
    """Take an object away, and out of the quotas that count it. Raises Conflict, Failure."""
    credited = quotas.credited(plane, entry.key.namespace, call.resource.qualified, old)
    events = await plane.commit(Delete(entry.key, entry.mod_revision), *credited)
    return events[0]


def _same_object(call: Call, tree: Tree, old: Tree) -> None:
    uid = (tree.get("metadata") or {}).get("uid")
    if uid and uid != old["metadata"]["uid"]:
        why = (
            f"Precondition failed: UID in precondition: {uid}, UID in object meta: "
            f"{old['metadata']['uid']}"
        )
        raise failures.conflict(call.resource, call.name, why)


def is_gone(call: Call, tree: Tree) -> bool:
    """Whether an object that is being deleted has nothing left to wait for."""
    metadata = tree["metadata"]
    if not metadata.get("deletionTimestamp") or metadata.get("finalizers"):
        return False
    if call.resource.qualified == "namespaces":
        return not (tree.get("spec") or {}).get("finalizers")
    return not metadata.get("deletionGracePeriodSeconds")


def tracked(
    plane: Plane,
    call: Call,
    old: Tree | None,
    new: Tree,
    options: WriteOptions,
    said: Tree | None = None,
) -> Tree:
    """Return the tree with who wrote which field; as it was for writes without a manager.

    `said` is the tree before others had their say, whose additions nobody owns.
    """
    if not options.manager:
        return new
    found = serverside.track(
        None if old is None else _shown(call, old),
        _shown(call, said or new),
        manager=options.manager,
        now=stamps.seconds(plane.world.now()),
        subresource=call.subresource,
        ignored=ignored(call),
    )
    managed = found["metadata"].get("managedFields")
    metadata = {key: value for key, value in new["metadata"].items() if key != "managedFields"}
    if managed:
        metadata["managedFields"] = managed
    return {**new, "metadata": metadata}


def ignored(call: Call) -> tuple[str, ...]:
    """Return the fields that this door doesn't write, so that nobody comes to own them there."""
    if call.subresource == "status":
        return ("spec",) if call.resource.qualified == "nodes" else ("metadata", "spec")
    return ("status",) if call.resource.has_status else ()


def _shown(call: Call, tree: Tree) -> Tree:
    return convert.down(call.resource, call.version, tree)


def _written(
    call: Call,
    before: Tree | None,
    after: Tree,
    warnings: tuple[str, ...] = (),
    *,
    created: bool = False,
    gone: bool = False,
) -> Written:
    tree = convert.down(call.resource, call.version, after)
    return Written(tree, created, warnings, before, None if gone else after)
