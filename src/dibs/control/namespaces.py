"""Namespaces: what is in one goes with it, and it goes last; each has its default account.

For the embedded plane; a real cluster has its own controller.
Source: namespace controller (deletion in order, spec.finalizers), serviceaccounts controller.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dibs.api import doors, failures, local, writes
from dibs.api.calls import Call, WriteOptions
from dibs.api.plane import Plane
from dibs.control.embedded import BY_NAME, Hands
from dibs.store.records import Entry, Key

NAMESPACES = "namespaces"
ACCOUNTS = "serviceaccounts"
DEFAULT = "default"
# Objects with finalizers, and Pods on nodes, take their time.
LOOK_AGAIN_S = 0.5


@dataclass(slots=True)
class Namespaces:
    """Keys are those of namespaces in the store."""

    plane: Plane
    hands: Hands
    name: str = "namespaces"

    def concerned(self, before: Entry | None, after: Entry | None) -> Iterable[Key]:
        entry = after or before
        assert entry is not None
        if entry.key.resource == NAMESPACES:
            yield entry.key
        elif after is None and entry.key.namespace:
            # The last object of a namespace that goes, or an account that must be there.
            yield Key(NAMESPACES, "", entry.key.namespace)

    async def tend(self, key: Key) -> float | None:
        entry = self.plane.store.get(key)
        if entry is None:
            return None
        tree = self.plane.reader.tree(entry)
        if not tree["metadata"].get("deletionTimestamp"):
            await self._account(key.name)
            return None
        left = tuple(self._contents(key.name))
        for each in left:
            metadata = self.plane.reader.tree(each)["metadata"]
            if not metadata.get("deletionTimestamp"):
                await self.hands.delete(each.key, metadata["uid"], "Background")
        if tuple(self._contents(key.name)):
            return LOOK_AGAIN_S
        await self._finalize(key)
        return None

    def _contents(self, namespace: str) -> Iterator[Entry]:
        for name, resource in BY_NAME.items():
            if resource.namespaced:
                yield from self.plane.store.page(name, namespace).entries

    async def _account(self, namespace: str) -> None:
        """The account whose tokens `kubectl create token default` asks for."""
        if self.plane.store.get(Key(ACCOUNTS, namespace, DEFAULT)) is not None:
            return
        call = Call("create", BY_NAME[ACCOUNTS], "v1", namespace, "", "", local.LOOPS)
        tree = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": DEFAULT}}
        try:
            await writes.create(self.plane, call, tree, WriteOptions())
        except failures.Failure as failure:
            raise local.raised(failure) from None

    async def _finalize(self, key: Key) -> None:
        entry = self.plane.store.get(key)
        if entry is None:
            return
        tree = self.plane.reader.tree(entry)
        resource = BY_NAME[NAMESPACES]
        call = Call("update", resource, "v1", "", key.name, "finalize", local.LOOPS)
        body = {**tree, "spec": {**(tree.get("spec") or {}), "finalizers": []}}
        try:
            await doors.finalize(self.plane, call, body, WriteOptions())
        except failures.Failure as failure:
            if failure.code != 404:
                raise local.raised(failure) from None
