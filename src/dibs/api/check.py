"""What is refused: a body of another shape (400), an object or a change against the rules (422).

The kinds of resource.k8s.io are read and judged by `model`; for the others the shape comes from
`schema`, and what must hold in them from `core_rules`. Paths are told in the version that the
client wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import msgspec

from dibs.api import core_rules, failures, flawless, kinds, shape
from dibs.api.calls import Call, Tree
from dibs.api.convert import up
from dibs.api.kinds import RESOURCE, Resource
from dibs.api.openapi import strict
from dibs.api.schema import reading
from dibs.api.schema.shapes import Record
from dibs.model import codec, defaults, rules, versions
from dibs.model.faults import FaultKind
from dibs.model.kinds import Known
from dibs.model.meta import ObjectMeta
from dibs.model.objects import ResourceClaim
from dibs.model.rules import Context, FieldFault, metadata
from dibs.model.rules.status import without_lost_devices
from dibs.values import names

_NOT_FATAL = (FaultKind.UNKNOWN_FIELD, FaultKind.DUPLICATE_KEY, FaultKind.BARE_WORD)


def record_of(resource: Resource, version: str) -> Record:
    record = reading.record_of(resource.api_version(version), resource.kind)
    assert record is not None, (resource, version)
    return record


def _stored_record(resource: Resource) -> Record:
    kept = kinds.kept_in(resource)
    return record_of(kept, kept.stored_version)


# --- bodies ---------------------------------------------------------------------------------------


def slips(call: Call, tree: Tree, duplicates: Iterable[str], mode: str) -> tuple[str, ...]:
    """Return what a client is warned of: unknown and repeated fields. Raises Failure (400) if it
    asked for Strict."""
    if mode == "Ignore":
        return ()
    record = record_of(call.resource, call.version)
    if not duplicates and flawless.is_fitting(record, tree):
        return ()
    unknown = strict.unknown_fields(tree, record)
    found = (*unknown, *duplicates)
    if found and mode == "Strict":
        raise _unreadable(call, f"strict decoding error: {', '.join(found)}")
    return found


def stored(call: Call, tree: Tree, *, is_of_model: bool = False) -> Tree:
    """Return the body as it is stored: its fields alone, with defaults. Raises Failure (400).

    What `is_of_model` was written from an object with defaults, and is so already.
    """
    if is_of_model and call.resource.group == RESOURCE:
        return tree
    shaped = up(call.resource, call.version, tree)
    if call.resource.group == RESOURCE:
        item = _decoded(call, shaped)
        return codec.encode(defaults.apply(item))
    record = _stored_record(call.resource)
    fitting = shape.fit(record, shaped)
    if fitting.faults:
        raise _unreadable(call, "; ".join(fitting.faults))
    if "status" not in fitting.tree or not call.resource.has_status:
        return fitting.tree
    status = shape.zeroed(record.fields["status"].shape, fitting.tree["status"])
    return {**fitting.tree, "status": status}


def fitted(api_version: str, kind: str, tree: Tree) -> Tree:
    """Return a body that isn't stored (a Binding, DeleteOptions) with its fields alone. Raises
    Failure (400)."""
    record = reading.record_of(api_version, kind)
    assert record is not None, (api_version, kind)
    fitting = shape.fit(record, tree)
    if fitting.faults:
        raise failures.bad_request(f"{kind} cannot be handled: {'; '.join(fitting.faults)}")
    return fitting.tree


def _decoded(call: Call, tree: Tree) -> Known:
    decoded = codec.decode(tree)
    fatal = [fault for fault in decoded.faults if fault.kind not in _NOT_FATAL]
    if fatal or decoded.object is None:
        texts = (str(replace(fault, subject="")) for fault in fatal)
        raise _unreadable(call, "; ".join(texts))
    return decoded.object


def _unreadable(call: Call, why: str) -> failures.Failure:
    kind = call.resource.kind
    return failures.bad_request(
        f'{kind} in version "{call.version}" cannot be handled as a {kind}: {why}'
    )


# --- objects --------------------------------------------------------------------------------------


def new(call: Call, tree: Tree, context: Context) -> Known | None:
    """Return the object that a tree is, if the model has its kind. Raises Failure (422) with every
    fault of a new object, in its stored version."""
    item = _modelled(call, tree)
    _refuse(call, tree, _faults(call, tree, None, (item, None), context))
    return item


def change(
    call: Call, tree: Tree, old: Tree, before: Known | None, context: Context
) -> tuple[Tree, Known | None]:
    """Return the object as it will be stored, twice as in `new`; `before` is what `old` is, if the
    model has its kind. Raises Failure (422) with every fault of it."""
    if call.resource.qualified == "resourceclaims.resource.k8s.io":
        tree = _without_lost_reports(call, tree, old)
    item = _modelled(call, tree)
    _refuse(call, tree, _faults(call, tree, old, (item, before), context))
    return tree, item


def _without_lost_reports(call: Call, tree: Tree, old: Tree) -> Tree:
    """A deallocator need not clear what drivers reported of the devices."""
    if not (old.get("status") or {}).get("devices"):
        return tree
    item, before = _decoded(call, tree), _decoded(call, old)
    assert isinstance(item, ResourceClaim)
    assert isinstance(before, ResourceClaim)
    kept = without_lost_devices(item.status, before.status)
    return codec.encode(msgspec.structs.replace(item, status=kept))


def _faults(
    call: Call,
    tree: Tree,
    old: Tree | None,
    items: tuple[Known | None, Known | None],
    context: Context,
) -> Iterator[FieldFault]:
    item, before = items
    if item is None:
        yield from _metadata(call.resource, tree, old)
    elif call.subresource == "status" and before is not None:
        yield from rules.validate_status(item, before, context=context)
    else:
        yield from rules.validate(item, before, context=context)
    if call.resource.group != RESOURCE:
        # A status is reported in parts, by agents that know no more yet; all else is at its door
        # as it was, but for the metadata of Nodes.
        if call.subresource != "status" or call.resource.qualified == "nodes":
            wanted = {name: value for name, value in tree.items() if name != "status"}
            yield from shape.missing(_stored_record(call.resource), wanted)
        yield from core_rules.faults(call.resource, tree, old)


def _modelled(call: Call, tree: Tree) -> Known | None:
    return None if call.resource.model is None else _decoded(call, tree)


def _metadata(resource: Resource, tree: Tree, old: Tree | None) -> Iterator[FieldFault]:
    meta = msgspec.convert(tree["metadata"], ObjectMeta)
    if old is not None:
        yield from metadata.updated(meta, msgspec.convert(old["metadata"], ObjectMeta))
        return
    yield from metadata.created(
        meta, namespaced=resource.namespaced, name_faults=names.faults_of_dns_subdomain
    )


def _refuse(call: Call, tree: Tree, found: Iterable[FieldFault]) -> None:
    faults = tuple({str(fault): fault for fault in found}.values())
    if not faults:
        return
    kind, version = call.resource.kind, call.version
    told = tuple(replace(each, path=versions.written(kind, version, each.path)) for each in faults)
    raise failures.invalid(call.resource, tree["metadata"].get("name", ""), told)
