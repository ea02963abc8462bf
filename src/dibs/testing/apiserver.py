"""The API server in memory: for scenarios on one event loop, or in a thread for real clients.

    @on_a_plane
    async def test_it(plane): …                        # operations, no HTTP

    with running() as server: kubectl("-s", server.url, "get", "pods")

Time stands still unless it is moved; ids count up. Nothing needs a network beyond the loopback.
"""

from __future__ import annotations

import asyncio
import itertools
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

from dibs.api import bootstrap
from dibs.api.calls import World
from dibs.api.gate import Gate, Open
from dibs.api.plane import Plane
from dibs.api.server import serving
from dibs.api.server.handling import Handler
from dibs.api.server.limits import Limits
from dibs.store import opening
from dibs.store.records import Keep

# 2026-01-31T12:00:00Z
NOON = 1769860800.0


@dataclass(slots=True)
class Clock:
    """A time that is moved by hand, ids and suffixes in order."""

    now: float = NOON
    _uids: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _suffixes: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def world(self) -> World:
        return World(
            lambda: self.now,
            lambda: f"00000000-0000-4000-8000-{next(self._uids):012d}",
            lambda: f"{next(self._suffixes):05d}",
        )


@asynccontextmanager
async def in_memory(
    clock: Clock | None = None, gate: Gate | None = None, keep: Keep | None = None
) -> AsyncIterator[Plane]:
    """Open a plane with its first namespaces, that is lost afterwards."""
    store = opening.in_memory(keep)
    plane = Plane(store, (clock or Clock()).world, gate or Open())
    await bootstrap.ensure(plane)
    try:
        yield plane
    finally:
        await store.close()


def on_a_plane(scenario: Callable[[Plane], Awaitable[None]]) -> Callable[[], None]:
    """Make a test of a scenario on a plane of its own."""

    async def play() -> None:
        async with in_memory() as plane:
            await scenario(plane)

    def test() -> None:
        asyncio.run(play())

    test.__name__ = scenario.__name__
    test.__doc__ = scenario.__doc__
    return test


@dataclass(frozen=True, slots=True)
class Running:
    """A server in a thread. `call` runs something on its loop, and waits for it."""

    url: str
    plane: Plane
    handler: Handler
    loop: asyncio.AbstractEventLoop

    def call(self, work: Callable[[Plane], Awaitable[object]]) -> object:
        async def run() -> object:
            return await work(self.plane)

        return asyncio.run_coroutine_threadsafe(run(), self.loop).result(timeout=30)


@contextmanager
def running(
    *,
    clock: Clock | None = None,
    gate: Gate | None = None,
    tls: ssl.SSLContext | None = None,
    bounds: Limits | None = None,
) -> Iterator[Running]:
    """Serve on a free port of the loopback until the block is left."""
    started: list[Running] = []
    is_up, is_over = threading.Event(), threading.Event()
    end: list[Callable[[], object]] = []

    async def serve() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        end.append(lambda: loop.call_soon_threadsafe(stop.set))
        async with (
            in_memory(clock, gate) as plane,
            serving.listening(plane, tls=tls, bounds=bounds) as server,
        ):
            started.append(Running(server.url, plane, server.handler, loop))
            is_up.set()
            await stop.wait()

    def run() -> None:
        try:
            asyncio.run(serve())
        finally:
            is_over.set()
            is_up.set()

    thread = threading.Thread(target=run, name="dibs-apiserver", daemon=True)
    thread.start()
    is_up.wait(30)
    assert started, "the server did not start"
    try:
        yield started[0]
    finally:
        end[0]()
        thread.join(30)
