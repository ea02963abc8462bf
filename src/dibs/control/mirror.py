"""What the cluster holds, as far as we have seen it; what we wrote ourselves included, at once.

An object is replaced only by a newer one: what a watch tells late can't undo what a write has
answered. Whoever wants to know of changes is told each of them once, in one order.
It can be rebuilt from the cluster at any time, and is, after each start.
Source: the informers and the assume cache of Kubernetes; resourceVersions are comparable numbers
(KEP-5504).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dibs.client.cluster import Change, Cluster, Ref, Synced
from dibs.model import kinds
from dibs.model.kinds import Kind, Known

# Told of each change: what was there, and what is now. Either may be None, not both.
Listener = Callable[[Known | None, Known | None], None]


@dataclass(slots=True)
class Mirror:
    """One for all loops of a process; it belongs to their event loop."""

    kinds: tuple[Kind, ...] = kinds.KINDS
    _objects: dict[str, dict[Ref, Known]] = field(default_factory=dict)
    # At which revision objects went.
    _gone: dict[str, dict[Ref, int]] = field(default_factory=dict)
    # Up to which revision all of a kind has been told: what it doesn't hold of that time is gone.
    _told: dict[str, int] = field(default_factory=dict)
    _listeners: list[Listener] = field(default_factory=list)
    _waiting: set[str] = field(default_factory=set)
    _synced: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._objects = {kind.name: {} for kind in self.kinds}
        self._gone = {kind.name: {} for kind in self.kinds}
        self._waiting = {kind.name for kind in self.kinds}

    # --- asking ----------------------------------------------------------------------------------

    def get(self, ref: Ref) -> Known | None:
        return self._objects[ref.kind.name].get(ref)

    def all(self, kind: Kind) -> Mapping[Ref, Known]:
        """Everything of a kind; not to be kept, nor changed."""
        return self._objects[kind.name]

    async def until_synced(self) -> None:
        """Wait until all that was there at the start has been seen."""
        await self._synced.wait()

    # --- telling ---------------------------------------------------------------------------------

    def listen(self, listener: Listener) -> None:
        """Tell of every change from now on, of what is there already at once."""
        for objects in self._objects.values():
            for item in tuple(objects.values()):
                listener(None, item)
        self._listeners.append(listener)

    def wrote(self, item: Known) -> None:
        """Take in what a write of ours was answered with."""
        self._put(Ref.to(item), item, int(item.metadata.resource_version))

    def take(self, news: Change | Synced) -> None:
        """Take in what a watch tells."""
        if isinstance(news, Synced):
            self._sync(news)
        elif news.object is None:
            self._drop(news.ref, news.revision)
        else:
            self._put(news.ref, news.object, news.revision)

    async def follow(self, cluster: Cluster) -> None:
        """Watch every kind, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for kind in self.kinds:
                tasks.create_task(self._follow(cluster, kind), name=f"watch {kind.plural}")

    async def _follow(self, cluster: Cluster, kind: Kind) -> None:
        async for news in cluster.watch(kind):
            self.take(news)

    # --- one change ------------------------------------------------------------------------------

    def _put(self, ref: Ref, item: Known, revision: int) -> None:
        objects, gone = self._objects[ref.kind.name], self._gone[ref.kind.name]
        before = objects.get(ref)
        if revision <= max(_revision(before), gone.get(ref, 0)):
            return
        if before is None and revision <= self._told.get(ref.kind.name, 0):
            return
        gone.pop(ref, None)
        objects[ref] = item
        self._tell(before, item)

    def _drop(self, ref: Ref, revision: int) -> None:
        objects, gone = self._objects[ref.kind.name], self._gone[ref.kind.name]
        before = objects.get(ref)
        if revision <= _revision(before):
            return
        gone[ref] = max(revision, gone.get(ref, 0))
        if objects.pop(ref, None) is not None:
            self._tell(before, None)
        _forget(gone)

    def _sync(self, synced: Synced) -> None:
        objects = self._objects[synced.kind.name]
        missed = [
            ref
            for ref, item in objects.items()
            if ref not in synced.there and _revision(item) <= synced.revision
        ]
        for ref in missed:
            self._drop(ref, synced.revision)
        name = synced.kind.name
        self._told[name] = max(synced.revision, self._told.get(name, 0))
        self._waiting.discard(synced.kind.name)
        if not self._waiting:
            self._synced.set()

    def _tell(self, before: Known | None, after: Known | None) -> None:
        for listener in self._listeners:
            listener(before, after)


# So many deletions are remembered: a watch is never further behind than that.
MOST_GONE = 10_000


def _forget(gone: dict[Ref, int]) -> None:
    if len(gone) > 2 * MOST_GONE:
        for ref in sorted(gone, key=gone.__getitem__)[:MOST_GONE]:
            del gone[ref]


def _revision(item: Known | None) -> int:
    return int(item.metadata.resource_version or 0) if item is not None else 0
