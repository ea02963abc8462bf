"""Delete, one or many: preconditions, finalizers, grace of Pods, namespaces that empty first.

What has something to wait for is marked, and goes with the write that takes away the last of it
(`writes.is_gone`). Dependents are the garbage collector's, whom the two finalizers call.
Source: API concepts, "Resource deletion"; garbage collection, "Cascading deletion".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dibs.api import convert, failures, pods, reads, stamps, storage, writes
from dibs.api.calls import Call, DeleteOptions, ListOptions, Tree, Written
from dibs.api.plane import Plane
from dibs.store.faults import Conflict
from dibs.store.records import Entry, Put

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
_FINALIZERS = {"Orphan": ORPHAN, "Foreground": FOREGROUND, "Background": ""}
# Without them nothing works any more, and they can't be made again while they go.
_LASTING_NAMESPACES = ("default", "kube-system", "kube-public")


async def delete(plane: Plane, call: Call, options: DeleteOptions) -> Written:
    """Delete one object, or mark it. Raises Failure: 403, 404, 409."""
    if call.resource.qualified == "namespaces" and call.name in _LASTING_NAMESPACES:
        raise failures.forbidden(call.resource, call.name, "this namespace may not be deleted")
    for _ in range(writes.MOST_TRIES):
        entry = plane.entry(call)
        try:
            return await _delete(plane, call, entry, options)
        except Conflict:
            continue
    raise failures.conflict(call.resource, call.name)


async def _delete(plane: Plane, call: Call, entry: Entry, options: DeleteOptions) -> Written:
    old = plane.reader.tree(entry)
    _precondition(call, old, options)
    plane.object_to(call, old, None)
    new = _marked(plane, call, old, options)
    if writes.is_gone(call, new):
        if options.dry_run:
            return replace(_written(call, old, None, old), is_dry=True)
        event = await writes.remove(plane, call, entry, old)
        return _written(call, old, None, plane.reader.written(event, old))
    if options.dry_run or new == old:
        return replace(_written(call, old, new, new), is_dry=options.dry_run)
    [event] = await plane.commit(Put(entry.key, storage.to_bytes(new), entry.mod_revision))
    written = plane.reader.written(event, new)
    return _written(call, old, written, written)


def _written(call: Call, before: Tree, after: Tree | None, shown: Tree) -> Written:
    tree = convert.down(call.resource, call.version, shown)
    return Written(tree, before=before, after=after)


def _precondition(call: Call, old: Tree, options: DeleteOptions) -> None:
    for name, wanted, found in (
        ("UID", options.uid, old["metadata"]["uid"]),
        ("ResourceVersion", options.revision, old["metadata"]["resourceVersion"]),
    ):
        if wanted is not None and wanted != found:
            why = (
                f"Precondition failed: {name} in precondition: {wanted}, "
                f"{name} in object meta: {found}"
            )
            raise failures.conflict(call.resource, call.name, why)


def _marked(plane: Plane, call: Call, old: Tree, options: DeleteOptions) -> Tree:
    """Return the object with its time of deletion and what it waits for."""
    metadata: dict[str, Any] = dict(old["metadata"])
    finalizers = _finalizers(metadata.get("finalizers") or [], options)
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)
    grace = pods.grace_s(old, options.grace_s) if call.resource.qualified == "pods" else 0
    marked = metadata.get("deletionTimestamp")
    if not marked or grace < int(metadata.get("deletionGracePeriodSeconds") or 0):
        now = plane.world.now()
        metadata["deletionTimestamp"] = stamps.seconds(now + grace)
        metadata["deletionGracePeriodSeconds"] = grace
        if call.resource.generation and not marked:
            metadata["generation"] = int(metadata.get("generation") or 0) + 1
    new = {**old, "metadata": metadata}
    if call.resource.qualified == "namespaces":
        new["status"] = {**(old.get("status") or {}), "phase": "Terminating"}
    return new


def _finalizers(found: list[str], options: DeleteOptions) -> list[str]:
    """How dependents go is asked anew with each deletion; unasked it stays."""
    if options.propagation is None:
        return found
    kept = [each for each in found if each not in (ORPHAN, FOREGROUND)]
    wanted = _FINALIZERS[options.propagation]
    return [*kept, wanted] if wanted else kept


async def delete_collection(
    plane: Plane, call: Call, selected: ListOptions, options: DeleteOptions
) -> tuple[Written, ...]:
    """Delete what is selected, one after the other; what is gone meanwhile is passed over."""
    found = reads.listed(plane.store, plane.reader, call, selected)
    done: list[Written] = []
    for entry in found.entries:
        one = replace(call, namespace=entry.key.namespace, name=entry.key.name)
        try:
            done.append(await delete(plane, one, options))
        except failures.Failure as failure:
            if failure.code != 404:
                raise
    return tuple(done)
