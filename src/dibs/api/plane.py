"""What every operation stands on: the store, decoded entries, the world, the gate; and commits.

One place turns what the store says to a write into what a client is told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import TypeVar
from weakref import WeakValueDictionary

from dibs.api import failures, kinds, storage
from dibs.api.calls import Call, Tree, World
from dibs.api.gate import Gate
from dibs.api.storage import Reader
from dibs.model.rules import Context
from dibs.model.rules.claims import ADMIN_LABEL
from dibs.request import admission
from dibs.store.faults import Closed, NotWritten
from dibs.store.records import Entry, Event, Key, Write
from dibs.store.store import Store

Answer = TypeVar("Answer")

NAMESPACES = kinds.of_kind("", "Namespace")
assert NAMESPACES is not None


@dataclass(frozen=True, slots=True)
class Plane:
    store: Store
    world: World
    gate: Gate
    reader: Reader = field(default_factory=Reader)
    # By namespace, for as long as somebody has or waits for one.
    turns: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    @property
    def context(self) -> Context:
        """What the rules ask: the compiler of selectors, and the label of a namespace."""
        return admission.context(self.has_admin_access)

    def has_admin_access(self, namespace: str) -> bool | None:
        entry = self.store.get(Key("namespaces", "", namespace))
        if entry is None:
            return None
        labels = self.reader.tree(entry)["metadata"].get("labels") or {}
        return bool(labels.get(ADMIN_LABEL) == "true")

    def entry(self, call: Call) -> Entry:
        """Return what is stored. Raises Failure (404)."""
        entry = self.store.get(storage.key_of(call.resource, call.namespace, call.name))
        if entry is None:
            raise failures.not_found(call.resource, call.name)
        return entry

    def namespace(self, name: str) -> Entry:
        """Return the entry of a namespace. Raises Failure (404)."""
        entry = self.store.get(Key("namespaces", "", name))
        if entry is None:
            assert NAMESPACES
            raise failures.not_found(NAMESPACES, name)
        return entry

    def object_to(self, call: Call, before: Tree | None, after: Tree | None) -> None:
        """Raise Failure (403) when the gate is against this very change."""
        if why := self.gate.objection(call.caller, call.asked, before, after):
            raise failures.forbidden(call.resource, call.name, why)

    async def commit(self, *writes: Write) -> tuple[Event, ...]:
        """Write. Raises Conflict for the caller, Failure for what the store can't do."""
        return await _told(self.store.commit(*writes))


async def _told(done: Awaitable[Answer]) -> Answer:
    try:
        return await done
    except NotWritten as fault:
        raise failures.not_stored(str(fault)) from None
    except Closed:
        raise failures.unavailable("the server is shutting down") from None
