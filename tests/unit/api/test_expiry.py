"""Events go an hour after they were last told of, and nothing else does."""

from __future__ import annotations

import asyncio

from dibs.api import expiry, kinds, stamps, writes
from dibs.api.calls import Call, Tree, WriteOptions
from dibs.api.plane import Plane
from dibs.testing import apiserver

EVENTS = kinds.find("", "v1", "events")
assert EVENTS


async def tell(plane: Plane, name: str, **more: str) -> None:
    about = {"kind": "Pod", "name": "p", "namespace": "default"}
    event: Tree = {"metadata": {"name": name}, "involvedObject": about, **more}
    await writes.create(plane, Call("create", EVENTS, "v1", "default"), event, WriteOptions())


def names(plane: Plane) -> list[str]:
    return [entry.key.name for entry in plane.store.page("events").entries]


def test_events_go_when_they_are_old() -> None:
    async def play() -> None:
        clock = apiserver.Clock()
        async with apiserver.in_memory(clock) as plane:
            await tell(plane, "old")
            later = stamps.seconds(clock.now + 3000)
            await tell(plane, "again", lastTimestamp=later)
            clock.now += 1800
            await tell(plane, "new")
            await expiry.sweep(plane)
            assert names(plane) == ["again", "new", "old"]
            clock.now += 1801
            await expiry.sweep(plane)
            assert names(plane) == ["again", "new"]
            assert plane.store.count("namespaces") == 4

    asyncio.run(play())
