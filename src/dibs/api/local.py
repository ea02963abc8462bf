"""The server's own way in: `client.cluster.Cluster` without HTTP, for the loops of this process.

Everything goes through the same operations as a request from outside: defaults, rules, quotas,
immutability, audit. Only authentication is left out; `caller` is who it is done as.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from dibs.api import deletes, doors, failures, kinds, patching, storage, writes
from dibs.api.calls import Call, Caller, DeleteOptions, Tree, WriteOptions, Written
from dibs.api.gate import Record
from dibs.api.kinds import Resource
from dibs.api.patching import Patch
from dibs.api.plane import Plane
from dibs.client.cluster import Change, Conflict, Forbidden, Missing, Ref, Synced, Unreachable
from dibs.model import codec, defaults
from dibs.model.kinds import Kind, Known
from dibs.store.faults import TooOld, TooSlow
from dibs.store.records import Entry

LOG = logging.getLogger("dibs.api")

# What kube-controller-manager and kube-scheduler may do together.
LOOPS = Caller("system:dibs", ("system:masters", "system:authenticated"))
# A controller writes what it read: a field it doesn't know is not its slip.
_AS_READ = WriteOptions(field_validation="Ignore")
_OF_MODEL = WriteOptions(field_validation="Ignore", is_of_model=True)
_MOST_AT_ONCE = 500
# Whoever waits longer than this for news is asked again; nothing else hangs on it.
_WAIT_S = 3600.0


@dataclass(frozen=True, slots=True)
class Local:
    """What is written so belongs to no field manager: nobody applies what the loops write, and
    to keep account of it takes longer than to write it."""

    plane: Plane
    caller: Caller = LOOPS

    async def watch(self, kind: Kind) -> AsyncIterator[Change | Synced]:
        resource = _resource(kind)
        while True:
            page = self.plane.store.page(resource.qualified)
            watch = self.plane.store.watch(resource.qualified, since=page.revision)
            for entry in page.entries:
                yield Change(_ref(kind, entry), self._object(entry), entry.mod_revision)
            there = frozenset(_ref(kind, entry) for entry in page.entries)
            yield Synced(kind, there, page.revision)
            try:
                while True:
                    for event in await watch.take(most=_MOST_AT_ONCE, wait_s=_WAIT_S):
                        ref = Ref(kind, event.key.namespace, event.key.name)
                        found = self._object(event.after) if event.after else None
                        yield Change(ref, found, event.revision)
            except (TooOld, TooSlow):
                # What we missed can't be had any more: tell anew what is there.
                continue

    async def get(self, ref: Ref) -> Known | None:
        entry = self.plane.store.get(storage.key_of(_resource(ref.kind), ref.namespace, ref.name))
        return self._object(entry) if entry is not None else None

    async def create(self, item: Known) -> Known:
        ref = Ref.to(item)
        call = self._call("create", ref)
        return await self._write(call, writes.create(self.plane, call, _tree(item), _OF_MODEL))

    async def update(self, item: Known, door: str = "") -> Known:
        call = self._call("update", Ref.to(item), door)
        return await self._write(call, writes.update(self.plane, call, _tree(item), _OF_MODEL))

    async def update_both(self, item: Known, *, status_first: bool = False) -> Known:
        call = self._call("update", Ref.to(item))
        doors = ("status", "") if status_first else ("", "status")
        return await self._write(
            call, writes.update(self.plane, call, _tree(item), _OF_MODEL, doors=doors)
        )

    async def patch(self, ref: Ref, patch: Mapping[str, Any], door: str = "") -> Known:
        call = self._call("patch", ref, door)
        sent = Patch(patching.MERGE, dict(patch))
        return await self._write(call, patching.patch(self.plane, call, sent, _AS_READ))

    async def delete(self, ref: Ref, *, uid: str = "", grace_s: int | None = None) -> None:
        call = self._call("delete", ref)
        options = DeleteOptions(grace_s=grace_s, uid=uid or None)
        await self._done(call, deletes.delete(self.plane, call, options))

    async def bind(self, pod: Ref, uid: str, node: str) -> None:
        call = self._call("create", pod, "binding")
        body = {
            "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": uid},
            "target": {"kind": "Node", "name": node},
        }
        await self._done(call, self._bound(call, body))

    async def report(self, event: Mapping[str, Any]) -> None:
        resource = kinds.of_kind("", "Event")
        assert resource is not None
        call = Call("create", resource, "v1", event["metadata"]["namespace"], "", "", self.caller)
        body = {"apiVersion": "v1", "kind": "Event", **event}
        try:
            await writes.create(self.plane, call, body, _AS_READ)
        except failures.Failure as failure:
            # The namespace may be on its way out; an event is a courtesy.
            if failure.code not in (403, 404, 409):
                LOG.warning("an event can't be kept: %s", failure.message)

    async def _bound(self, call: Call, body: Tree) -> Written:
        before = self.plane.store.get(storage.key_of(call.resource, call.namespace, call.name))
        answer = await doors.bind(self.plane, call, body, _AS_READ)
        after = self.plane.store.get(storage.key_of(call.resource, call.namespace, call.name))
        read = self.plane.reader.tree
        old, new = (read(entry) if entry else None for entry in (before, after))
        return Written(answer, created=True, before=old, after=new)

    # --- how it is done --------------------------------------------------------------------------

    def _call(self, verb: str, ref: Ref, door: str = "") -> Call:
        resource = _resource(ref.kind)
        name = "" if verb == "create" and not door else ref.name
        version = resource.stored_version
        return Call(verb, resource, version, ref.namespace, name, door, self.caller)

    async def _write(self, call: Call, doing: Coroutine[Any, Any, Written]) -> Known:
        written = await self._done(call, doing)
        return self.plane.reader.item_of(written.tree)

    async def _done(self, call: Call, doing: Coroutine[Any, Any, Written]) -> Written:
        try:
            written = await doing
        except failures.Failure as failure:
            self.plane.gate.note(Record(call.caller, call.asked, failure.code))
            raise raised(failure) from None
        code = 201 if written.created else 200
        record = Record(call.caller, call.asked, code, "", "", written.before, written.after)
        self.plane.gate.note(record)
        return written

    def _object(self, entry: Entry) -> Known:
        return self.plane.reader.item(entry)


def raised(failure: failures.Failure) -> Exception:
    """The exception of `client.cluster` for what the server answers."""
    if failure.code == 404:
        # A create fails so when its namespace is gone: as missing as the object of an update.
        return Missing(failure.message)
    if failure.code == 409:
        return Conflict(failure.message)
    if failure.code in (429, 500, 503, 504, 507):
        return Unreachable(failure.message)
    return Forbidden(failure.message)


def _resource(kind: Kind) -> Resource:
    found = kinds.of_kind(kind.group, kind.name)
    assert found is not None, f"{kind.name} is served"
    return found


def _ref(kind: Kind, entry: Entry) -> Ref:
    return Ref(kind, entry.key.namespace, entry.key.name)


def _tree(item: Known) -> Tree:
    return codec.encode(defaults.apply(item))
