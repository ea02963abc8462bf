"""Patches: which of the four kinds a body is, the object it makes, and the write of that.

How a patch is applied is `patches`'. A patch that names no revision is applied again to what
others have written meanwhile; apply creates what isn't there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dibs.api import check, convert, failures, shape, stamps, storage, writes
from dibs.api.calls import Call, Tree, WriteOptions, Written
from dibs.api.patches import plain, serverside, steps, strategic
from dibs.api.patches.refused import Refused
from dibs.api.plane import Plane
from dibs.store.faults import Conflict

JSON = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
TYPES = (JSON, MERGE, STRATEGIC, APPLY)


@dataclass(frozen=True, slots=True)
class Patch:
    """`type` is one of TYPES; `duplicates` are repeated fields that the reader found."""

    type: str
    body: Any
    duplicates: tuple[str, ...] = ()


async def patch(plane: Plane, call: Call, sent: Patch, options: WriteOptions) -> Written:
    """Change one object. Raises Failure: 400, 404, 409, 422."""
    if sent.type == APPLY:
        return await _apply(plane, call, sent, options)
    for _ in range(writes.MOST_TRIES):
        entry = plane.entry(call)
        live = convert.down(call.resource, call.version, plane.reader.tree(entry))
        tree = _patched(call, sent, live)
        asked = (tree.get("metadata") or {}).get("resourceVersion")
        if asked and asked != str(entry.mod_revision):
            break
        tree = convert.claimed(call.resource, call.version, tree)
        warnings = check.slips(call, tree, sent.duplicates, options.field_validation)
        try:
            return await writes.replace(plane, call, entry, tree, options, warnings)
        except Conflict:
            continue
    raise failures.conflict(call.resource, call.name)


def _patched(call: Call, sent: Patch, live: Tree) -> Tree:
    try:
        match sent.type:
            case "application/json-patch+json":
                tree = steps.json_patch(live, sent.body)
            case "application/merge-patch+json":
                tree = plain.merge(live, sent.body)
            case _:
                record = check.record_of(call.resource, call.version)
                tree = strategic.strategic(live, sent.body, record)
    except Refused as refused:
        raise failures.of_patch(call.resource, call.name, refused) from None
    return _object(call, tree)


def _object(call: Call, tree: object) -> Tree:
    """A patch can make anything of an object, also something that is none."""
    if not isinstance(tree, dict) or not isinstance(tree.get("metadata"), dict):
        raise failures.bad_request(f"the patched {call.resource.kind} has no metadata any more")
    return tree


async def _apply(plane: Plane, call: Call, sent: Patch, options: WriteOptions) -> Written:
    """Server-side apply: the fields of the body become the manager's."""
    if not options.manager:
        raise failures.bad_request("fieldManager: Required value: is required for apply patch")
    body = _object(call, sent.body)
    body = convert.claimed(call.resource, call.version, body)
    warnings = check.slips(call, body, sent.duplicates, options.field_validation)
    for _ in range(writes.MOST_TRIES):
        entry = plane.store.get(storage.key_of(call.resource, call.namespace, call.name))
        live = plane.reader.tree(entry) if entry else None
        if entry is None:
            _may_create(plane, call)
        tree = _applied(plane, call, live, body, options)
        try:
            if entry is None:
                created = replace(options, field_validation="Ignore")
                done = await writes.create(plane, call, tree, created, is_tracked=False)
            else:
                done = await writes.replace(plane, call, entry, tree, options, is_tracked=False)
        except Conflict:
            continue
        return replace(done, warnings=warnings)
    raise failures.conflict(call.resource, call.name)


def _may_create(plane: Plane, call: Call) -> None:
    """Who may patch what is there may not by that create what isn't. Raises Failure: 403, 404."""
    if call.subresource:
        raise failures.not_found(call.resource, call.name)
    refusal = plane.gate.refusal(call.caller, replace(call.asked, verb="create"))
    if refusal is not None:
        why = f'User "{call.caller.name}" cannot create resource "{call.resource.plural}"'
        why += f' in API group "{call.resource.group}"'
        raise failures.forbidden(call.resource, call.name, f"{why}: {refusal}")


def _applied(
    plane: Plane, call: Call, live: Tree | None, body: Tree, options: WriteOptions
) -> Tree:
    shown = convert.down(call.resource, call.version, live) if live else None
    asked = body["metadata"].get("resourceVersion")
    if asked and (live is None or asked != live["metadata"]["resourceVersion"]):
        raise failures.conflict(call.resource, call.name)
    try:
        tree = serverside.apply(
            shown,
            body,
            manager=options.manager,
            now=stamps.seconds(plane.world.now()),
            force=options.force,
            subresource=call.subresource,
            ignored=writes.ignored(call),
            complete=lambda tree: convert.down(
                call.resource, call.version, check.stored(call, tree)
            ),
        )
    except Refused as refused:
        raise failures.of_patch(call.resource, call.name, refused) from None
    # An object begins with structs that nobody wrote; those that stayed empty are not stored.
    record = check.record_of(call.resource, call.version)
    return tree if live else shape.pruned(record, tree, body)
