"""Dependents follow their owners: deleted with them, waited for, or let go, as the deletion says.

An object with owners of which none lives is deleted. An owner that is deleted in the foreground
stays until its dependents are gone; one that is to leave orphans lets go of them first.
This is for the embedded plane: a real cluster has its own collector.
Source: garbage collection, "Owners and dependents", "Cascading deletion".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from dibs.api import deletes, kinds
from dibs.api.calls import Tree
from dibs.api.plane import Plane
from dibs.control.embedded import Hands
from dibs.store.records import Entry, Key


@dataclass(slots=True)
class Garbage:
    """Keys are those of the store. It learns who owns whom from what it is told; so it must have
    been told of everything that is there before the first call."""

    plane: Plane
    hands: Hands
    name: str = "garbage"
    _living: dict[str, Key] = field(default_factory=dict)
    _owned: dict[str, set[Key]] = field(default_factory=dict)

    def concerned(self, before: Entry | None, after: Entry | None) -> Iterable[Key]:
        old, new = (self.plane.reader.tree(e)["metadata"] if e else None for e in (before, after))
        entry = after or before
        assert entry is not None
        self._learn(entry.key, old, new)
        if new is not None:
            if new.get("ownerReferences") or _waits(new):
                yield entry.key
            # An owner may have waited for what blocks it no more.
            yield from self._there(_blocked(old) - _blocked(new))
            return
        assert old is not None
        yield from sorted(self._owned.get(old["uid"], ()))
        # An owner may have waited for just this one.
        yield from self._there(_owners(old))

    def _there(self, uids: set[str]) -> Iterable[Key]:
        return [self._living[uid] for uid in sorted(uids) if uid in self._living]

    def _learn(self, key: Key, old: Tree | None, new: Tree | None) -> None:
        if old is not None and (new is None or new["uid"] != old["uid"]):
            self._living.pop(old["uid"], None)
        if new is not None:
            self._living[new["uid"]] = key
        for uid in _owners(old) - _owners(new):
            self._owned[uid].discard(key)
            if not self._owned[uid]:
                del self._owned[uid]
        for uid in _owners(new) - _owners(old):
            self._owned.setdefault(uid, set()).add(key)

    async def tend(self, key: Key) -> float | None:
        entry = self.plane.store.get(key)
        if entry is None:
            return None
        tree = self.plane.reader.tree(entry)
        metadata = tree["metadata"]
        if _waits(metadata):
            await self._wait(key, metadata)
        elif not metadata.get("deletionTimestamp"):
            await self._follow(key, metadata)
        return None

    async def _wait(self, key: Key, metadata: Tree) -> None:
        """One step of a deletion that concerns dependents; the next comes with the last of them."""
        finalizers = metadata["finalizers"]
        dependents = tuple(self._dependents(metadata["uid"]))
        if deletes.ORPHAN in finalizers:
            for dependent, owned in dependents:
                await self._let_go(dependent, owned, {metadata["uid"]})
            await self._finish(key, metadata, deletes.ORPHAN)
            return
        for dependent, owned in dependents:
            if not owned.get("deletionTimestamp"):
                await self.hands.delete(dependent, owned["uid"], "Foreground")
        if self._is_in_circle(metadata, dependents):
            # Each would wait for the other: this one blocks nobody any more.
            told = [{**each, "blockOwnerDeletion": False} for each in metadata["ownerReferences"]]
            await self.hands.change(key, metadata, {"ownerReferences": told})
            return
        if not any(metadata["uid"] in _blocked(owned) for _, owned in dependents):
            await self._finish(key, metadata, deletes.FOREGROUND)

    async def _follow(self, key: Key, metadata: Tree) -> None:
        """What becomes of a dependent, by how its owners are."""
        owners = _owners(metadata)
        # Of a kind that isn't served here nobody knows whether it is there: elsewhere it is.
        gone = {uid for uid in _served_owners(metadata) if uid not in self._living}
        leaving = {uid for uid in owners & self._living.keys() if self._is_leaving(uid)}
        if owners and owners == gone:
            await self.hands.delete(key, metadata["uid"], "Background")
        elif leaving and owners == gone | leaving:
            await self.hands.delete(key, metadata["uid"], "Foreground")
        elif gone:
            await self._let_go(key, metadata, gone)

    def _is_in_circle(self, metadata: Tree, dependents: Iterable[tuple[Key, Tree]]) -> bool:
        """Whether it may wait for a dependent that waits for it: both sides of it are on their way
        out. It need not be a circle; then it is let go a little early, as upstream does."""
        blocks = {uid for uid in _blocked(metadata) if uid in self._living}
        return any(self._is_leaving(uid) for uid in blocks) and any(
            _waits(owned) and deletes.FOREGROUND in owned["finalizers"] for _, owned in dependents
        )

    def _is_leaving(self, uid: str) -> bool:
        entry = self.plane.store.get(self._living[uid])
        metadata = self.plane.reader.tree(entry)["metadata"] if entry else {}
        return deletes.FOREGROUND in (metadata.get("finalizers") or ()) and _waits(metadata)

    def _dependents(self, uid: str) -> Iterator[tuple[Key, Tree]]:
        for key in sorted(self._owned.get(uid, ())):
            entry = self.plane.store.get(key)
            if entry is not None:
                yield key, self.plane.reader.tree(entry)["metadata"]

    async def _let_go(self, key: Key, metadata: Tree, owners: set[str]) -> None:
        kept = [each for each in metadata["ownerReferences"] if each["uid"] not in owners]
        await self.hands.change(key, metadata, {"ownerReferences": kept})

    async def _finish(self, key: Key, metadata: Tree, finalizer: str) -> None:
        kept = [each for each in metadata["finalizers"] if each != finalizer]
        await self.hands.change(key, metadata, {"finalizers": kept})


def _owners(metadata: Tree | None) -> set[str]:
    return {each["uid"] for each in (metadata or {}).get("ownerReferences") or ()}


def _served_owners(metadata: Tree) -> set[str]:
    return {
        each["uid"]
        for each in metadata.get("ownerReferences") or ()
        if kinds.of_kind(each["apiVersion"].rpartition("/")[0], each["kind"]) is not None
    }


def _waits(metadata: Tree) -> bool:
    """Whether it is being deleted and that has to do with its dependents."""
    found = metadata.get("finalizers") or ()
    concerns = deletes.ORPHAN in found or deletes.FOREGROUND in found
    return bool(metadata.get("deletionTimestamp")) and concerns


def _blocked(metadata: Tree | None) -> set[str]:
    """The owners that must not go before it."""
    references = (metadata or {}).get("ownerReferences") or ()
    return {each["uid"] for each in references if each.get("blockOwnerDeletion")}


# events.k8s.io shows what is kept as core's.
KEPT: tuple[str, ...] = tuple(
    each.qualified for each in kinds.RESOURCES if each.is_kept and not each.stored
)
