"""A control plane in memory, with one loop running or with all: the real thing, nothing faked.

    async with whole() as plane:
        await plane.create({...})
        await plane.settled()

`settled` waits until no loop has anything to do and the mirror has seen every write.
"""

from __future__ import annotations

import asyncio
import itertools
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from dibs.api import deletes as api_deletes
from dibs.api import kinds, patching, storage, writes
from dibs.api.calls import Call, DeleteOptions, Tree, World, WriteOptions
from dibs.api.gate import Open
from dibs.api.kinds import Resource
from dibs.api.local import LOOPS, Local
from dibs.api.patching import Patch
from dibs.api.plane import Plane
from dibs.client.cluster import Cluster, Ref
from dibs.control import running
from dibs.control.mirror import Mirror
from dibs.control.running import Clocks
from dibs.control.tending import Loop, Tending
from dibs.model.kinds import Known
from dibs.schedule.state import DEFAULTS, Options
from dibs.store import opening
from dibs.store.store import Store

# A loop that isn't done by then has a bug.
PATIENCE_S = 10.0

Make = Callable[[Cluster, Mirror], Loop[Known, Ref]]


@dataclass(frozen=True, slots=True)
class Driven:
    """What a test does to the plane from outside, as an administrator would."""

    plane: Plane
    cluster: Local
    mirror: Mirror
    is_idle: Callable[[], bool]
    want: Callable[[Ref], None] = lambda ref: None

    async def create(self, tree: Tree) -> Tree:
        resource = _of(tree)
        call = self._call("create", resource, tree["metadata"].get("namespace", ""))
        return (await writes.create(self.plane, call, tree, WriteOptions())).tree

    async def status(
        self, plural: str, name: str, status: Tree, namespace: str = "default"
    ) -> None:
        await self.patch(plural, name, {"status": status}, namespace, door="status")

    async def patch(
        self, plural: str, name: str, patch: Tree, namespace: str = "default", door: str = ""
    ) -> None:
        call = self._call("patch", _named(plural), namespace, name, door)
        await patching.patch(self.plane, call, Patch(patching.MERGE, patch), WriteOptions())

    async def delete(self, plural: str, name: str, namespace: str = "default") -> None:
        call = self._call("delete", _named(plural), namespace, name)
        await api_deletes.delete(self.plane, call, DeleteOptions(grace_s=0))

    async def tree(self, plural: str, name: str, namespace: str = "default") -> Tree:
        key = storage.key_of(_named(plural), namespace, name)
        entry = self.plane.store.get(key)
        assert entry is not None, f"{plural} {namespace}/{name} is there"
        return self.plane.reader.tree(entry)

    async def settled(self) -> None:
        """Wait until nothing moves any more."""
        async with asyncio.timeout(PATIENCE_S):
            quiet, revision = 0, -1
            # Watches hand on what they saw within a few rounds of the event loop.
            while quiet < 20:
                await asyncio.sleep(0)
                is_still = self.is_idle() and revision == self.plane.store.revision
                quiet = quiet + 1 if is_still else 0
                revision = self.plane.store.revision

    def _call(
        self, verb: str, resource: Resource, namespace: str, name: str = "", door: str = ""
    ) -> Call:
        version, inside = resource.stored_version, namespace if resource.namespaced else ""
        return Call(verb, resource, version, inside, name, door, LOOPS)


@asynccontextmanager
async def driven(make: Make) -> AsyncIterator[Driven]:
    """A plane with namespace `default` and one loop, until the end of the block."""
    plane = _plane(opening.in_memory())
    cluster, mirror = Local(plane), Mirror()
    tending = Tending(make(cluster, mirror))
    mirror.listen(tending.changed)
    found = Driven(plane, cluster, mirror, lambda: tending.is_idle, tending.want)
    await found.create(_DEFAULT)
    tasks = [asyncio.create_task(mirror.follow(cluster)), asyncio.create_task(tending.run())]
    await mirror.until_synced()
    try:
        yield found
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await plane.store.close()


@asynccontextmanager
async def whole(options: Options = DEFAULTS) -> AsyncIterator[Driven]:
    """A plane with namespace `default` and all loops, until the end of the block."""
    plane = _plane(opening.in_memory())
    cluster = Local(plane)
    clocks = Clocks(time.time, time.monotonic)
    async with running.loops(cluster, clocks, options, plane=plane) as loops:
        found = Driven(plane, cluster, loops.mirror, lambda: loops.is_idle)
        await found.create(_DEFAULT)
        yield found
        assert not loops.broken.done(), "every loop still runs"
    await plane.store.close()


_DEFAULT: Tree = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}


def _plane(store: Store) -> Plane:
    numbers = itertools.count()
    world = World(time.time, lambda: str(uuid.uuid4()), lambda: f"{next(numbers):05}")
    return Plane(store, world, Open())


def _of(tree: dict[str, Any]) -> Resource:
    group = tree["apiVersion"].rpartition("/")[0]
    found = kinds.of_kind(group, tree["kind"])
    assert found is not None, f"{tree['kind']} is served"
    return found


def _named(plural: str) -> Resource:
    return next(each for each in kinds.RESOURCES if each.plural == plural)
