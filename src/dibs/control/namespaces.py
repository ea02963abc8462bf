"""Namespaces: what is in one goes with it, and it goes last; each has its default account.

For the embedded plane; a real cluster has its own controller.
Source: namespace controller (deletion in order, spec.finalizers), serviceaccounts controller.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dibs.api import doors, failures, local, patching, stamps, writes
from dibs.api.calls import Call, Tree, WriteOptions
from dibs.api.patching import Patch
from dibs.api.plane import Plane
from dibs.control.embedded import BY_NAME, Hands
from dibs.store.records import Entry, Key

NAMESPACES = "namespaces"
ACCOUNTS = "serviceaccounts"
DEFAULT = "default"
# Objects with finalizers, and Pods on nodes, take their time.
LOOK_AGAIN_S = 0.5


def _conditions(kinds: Counter[str], trees: Iterable[Tree]) -> Iterator[tuple[str, Tree]]:
    """Why a namespace isn't gone yet, in the words of Kubernetes' controller."""
    counted = ", ".join(f"{kind} has {count} resource instances" for kind, count in kinds.items())
    name = "NamespaceContentRemaining"
    text = f"Some resources are remaining: {counted}"
    yield name, _condition(name, "SomeResourcesRemain", text)
    finalizers = Counter(each for tree in trees for each in tree.get("finalizers") or ())
    name = "NamespaceFinalizersRemaining"
    if finalizers:
        counted = ", ".join(
            f"{each} in {count} resource instances" for each, count in sorted(finalizers.items())
        )
        text = f"Some content in the namespace has finalizers remaining: {counted}"
        yield name, _condition(name, "SomeFinalizersRemain", text)
    else:
        text = "All content-preserving finalizers finished"
        yield name, {**_condition(name, "ContentHasNoFinalizers", text), "status": "False"}


def _condition(name: str, reason: str, message: str) -> Tree:
    return {"type": name, "status": "True", "reason": reason, "message": message}


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
        if left := tuple(self._contents(key.name)):
            await self._tell(key, left)
            return LOOK_AGAIN_S
        await self._finalize(key)
        return None

    def _contents(self, namespace: str) -> Iterator[Entry]:
        for name, resource in BY_NAME.items():
            if resource.namespaced:
                yield from self.plane.store.page(name, namespace).entries

    async def _tell(self, key: Key, left: tuple[Entry, ...]) -> None:
        """Say in its status what keeps the namespace, if that is news."""
        entry = self.plane.store.get(key)
        if entry is None:
            return
        status = self.plane.reader.tree(entry).get("status") or {}
        said = {each["type"]: each for each in status.get("conditions") or ()}
        trees = [self.plane.reader.tree(each)["metadata"] for each in left]
        found = dict(_conditions(Counter(each.key.resource for each in left), trees))
        if all(
            said.get(name, {}).get("message") == each["message"] for name, each in found.items()
        ):
            return
        now = stamps.seconds(self.plane.world.now())
        told = [{**each, "lastTransitionTime": now} for each in (said | found).values()]
        call = Call("patch", BY_NAME[NAMESPACES], "v1", "", key.name, "status", local.LOOPS)
        patch = Patch(patching.MERGE, {"status": {"conditions": told}})
        try:
            await patching.patch(self.plane, call, patch, WriteOptions())
        except failures.Failure as failure:
            if failure.code != 404:
                raise local.raised(failure) from None

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
