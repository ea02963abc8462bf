"""What only the embedded plane's own loops need: every object of the store, of whatever kind.

`feed` tells a loop of all there is and all that happens, by entries of the store; `Hands` deletes
and changes objects by their keys. Loops that work in a real cluster too use `client.cluster`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from dibs.api import deletes, failures, kinds, local, patching
from dibs.api.calls import Call, DeleteOptions, Tree, WriteOptions
from dibs.api.gate import Record
from dibs.api.kinds import Resource
from dibs.api.patching import Patch
from dibs.api.plane import Plane
from dibs.store.faults import TooOld, TooSlow
from dibs.store.records import Entry, Key

_MOST_AT_ONCE = 500
_WAIT_S = 3600.0
BY_NAME: Mapping[str, Resource] = {
    each.qualified: each for each in kinds.RESOURCES if each.is_kept and not each.stored
}


class Hears(Protocol):
    def changed(self, before: Entry | None, after: Entry | None) -> None: ...


@dataclass(frozen=True, slots=True)
class Hands:
    """Raises the exceptions of `client.cluster`."""

    plane: Plane

    async def delete(self, key: Key, uid: str, propagation: str | None = None) -> None:
        """Delete the object with this uid; gone already is as good."""
        call = _call("delete", key)
        options = DeleteOptions(uid=uid, propagation=propagation)
        try:
            done = await deletes.delete(self.plane, call, options)
        except failures.Failure as failure:
            if failure.code != 404:
                raise local.raised(failure) from None
            return
        record = Record(call.caller, call.asked, 200, before=done.before, after=done.after)
        self.plane.gate.note(record)

    async def change(self, key: Key, metadata: Tree, changed: Mapping[str, Any]) -> None:
        """Write some fields of the metadata, if the object is still as it was read."""
        patch = {"metadata": {"resourceVersion": metadata["resourceVersion"], **changed}}
        try:
            await patching.patch(
                self.plane, _call("patch", key), Patch(patching.MERGE, patch), WriteOptions()
            )
        except failures.Failure as failure:
            if failure.code != 404:
                raise local.raised(failure) from None


async def feed(plane: Plane, *hearers: Hears) -> None:
    """Tell of everything that is there, then of every change, until cancelled."""
    known: dict[Key, Entry] = {}
    while True:
        watch = plane.store.watch(since=plane.store.revision)
        there: dict[Key, Entry] = {}
        for resource in BY_NAME:
            page = plane.store.page(resource, revision=watch.revision)
            there.update((entry.key, entry) for entry in page.entries)
        for key in {**known, **there}:
            before, after = known.get(key), there.get(key)
            if before is None or after is None or before.mod_revision != after.mod_revision:
                for hearer in hearers:
                    hearer.changed(before, after)
        known = there
        try:
            while True:
                for event in await watch.take(most=_MOST_AT_ONCE, wait_s=_WAIT_S):
                    if event.after is not None:
                        known[event.key] = event.after
                    else:
                        known.pop(event.key, None)
                    for hearer in hearers:
                        hearer.changed(event.before, event.after)
        except (TooOld, TooSlow):
            # What we missed is found by comparing.
            continue


def _call(verb: str, key: Key) -> Call:
    resource = BY_NAME[key.resource]
    return Call(verb, resource, resource.stored_version, key.namespace, key.name, "", local.LOOPS)
