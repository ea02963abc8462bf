"""`dibs up` from outside: Pods a second in the shapes of scheduler_perf, watches, lists, memory.

The server is a process of its own with its store on disk, the client another one that talks to it
over TLS. Both share the machine; what each has used of processors is told beside the rate.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import aiohttp

from bench import planes
from bench.case import Bench, Case, Ours
from bench.clock import Took
from bench.planes import Client, Server

NODES, DEVICES = 500, 10
IN_FLIGHT, STEADY = 10, 1000
# With ten devices left, every Pod in flight may have one; upstream's shape.
HALF, FULL = NODES * DEVICES // 2, NODES * DEVICES - 10
WATCHERS, EVENTS = 500, 100
LISTED = 10_000

_SLICES = "/apis/resource.k8s.io/v1/resourceslices"
_CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
_TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


@dataclass(frozen=True, slots=True)
class Rate:
    """How many were done, in how much time, and what both sides used of processors."""

    count: int
    took: Took
    client_s: float

    def ours(self) -> Ours:
        assert self.took.cpu_s is not None
        server, there = (1e3 * each / self.count for each in (self.took.cpu_s, self.client_s))
        note = (
            f"{server:.2f} ms of processor time a Pod in the server, {there:.2f} ms in the client"
        )
        by_cpu = self.count / self.took.cpu_s if self.took.cpu_s else None
        return Ours(self.took, self.count / self.took.clock_s, by_cpu, note)


async def rated(server: Server, count: int, work: Coroutine[Any, Any, None]) -> Rate:
    began, before, there = time.perf_counter(), server.cpu_s(), time.process_time()
    await work
    took = Took(time.perf_counter() - began, server.cpu_s() - before, 1)
    return Rate(count, took, time.process_time() - there)


# --- Pods -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Filling:
    """One plane on its way from empty to full."""

    empty: Rate
    half: Rate
    full: Rate
    resident_mb: float


@cache
def filling(folder: Path) -> Filling:
    with planes.serving(folder / "filling", planes.fleet(NODES, DEVICES)) as server:
        return asyncio.run(_filling(server))


async def _filling(server: Server) -> Filling:
    numbers = itertools.count()

    def names(count: int) -> list[str]:
        return [f"pod-{next(numbers):05}" for _ in range(count)]

    async with planes.client(server) as client:
        await _steady(client, names(100))
        empty = await rated(server, STEADY, _steady(client, names(STEADY)))
        await client.burst(names(HALF))
        half = await rated(server, STEADY, _steady(client, names(STEADY)))
        await client.burst(names(FULL - HALF))
        full = await rated(server, STEADY, _steady(client, names(STEADY)))
        return Filling(empty, half, full, server.resident_mb())


async def _steady(client: Client, names: list[str]) -> None:
    await planes.each(client.pass_through, names, IN_FLIGHT)


def burst(bench: Bench) -> Ours:
    async def run(server: Server) -> Rate:
        names = [f"pod-{number:05}" for number in range(NODES * DEVICES)]
        async with planes.client(server) as client:
            return await rated(server, len(names), client.burst(names))

    with planes.serving(bench.folder / "burst", planes.fleet(NODES, DEVICES)) as server:
        return asyncio.run(run(server)).ours()


# --- watches --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Watched:
    """`lags_s` are from sending a write to having its event, of every watcher and event."""

    rate: Rate
    lags_s: list[float]
    grown_mb: float


@cache
def watched(folder: Path) -> Watched:
    with planes.serving(folder / "watched", planes.fleet(1, 1)) as server:
        return asyncio.run(_watched(server))


async def _watched(server: Server) -> Watched:
    sent: list[float] = []
    lags: list[float] = []
    alone_mb = server.resident_mb()
    async with planes.session(server) as session, planes.client(server) as client:
        opened = [await _watch(session) for _ in range(WATCHERS)]
        grown_mb = server.resident_mb() - alone_mb

        async def write(name: str) -> None:
            sent.append(time.perf_counter())
            await client.http.fetch("POST", _CLAIMS, body=planes.claim(name))

        async def all_seen() -> None:
            readers = [asyncio.create_task(_read(each, sent, lags)) for each in opened]
            await planes.each(write, [f"claim-{number}" for number in range(EVENTS)], 1)
            await asyncio.gather(*readers)

        rate = await rated(server, WATCHERS * EVENTS, all_seen())
        for response in opened:
            response.close()
    return Watched(rate, lags, grown_mb)


async def _watch(session: aiohttp.ClientSession) -> aiohttp.ClientResponse:
    return await session.get(_CLAIMS, params={"watch": "true"})


async def _read(response: aiohttp.ClientResponse, sent: list[float], lags: list[float]) -> None:
    """Events come in the order of the writes, one a line."""
    seen = 0
    async for chunk in response.content.iter_any():
        now, lines = time.perf_counter(), chunk.count(b"\n")
        lags += [now - sent[number] for number in range(seen, seen + lines)]
        seen += lines
        if seen >= EVENTS:
            return


def events(bench: Bench) -> Ours:
    found = watched(bench.folder)
    cuts = statistics.quantiles(found.lags_s, n=100)
    note = f"from the write to the event {cuts[49] * 1e3:.0f} ms, for one of 100 over "
    note += f"{cuts[98] * 1e3:.0f} ms"
    return Ours(found.rate.took, found.rate.count / found.rate.took.clock_s, note=note)


# --- lists, and what is there at the start --------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Listed:
    slices: Took
    claims: Took
    started_s: float


@cache
def listed(folder: Path) -> Listed:
    with planes.serving(folder / "listed", planes.fleet(1, 1)) as server:
        slices, claims = asyncio.run(_listed(server))
    with planes.serving(folder / "listed") as server:
        return Listed(slices, claims, server.started_s)


async def _listed(server: Server) -> tuple[Took, Took]:
    async with planes.client(server) as client, planes.session(server) as session:

        async def post_slice(number: int) -> None:
            body = planes.slice_of(f"other-{number:05}", DEVICES)
            await client.http.fetch("POST", _SLICES, body=body)

        async def post_claim(number: int) -> None:
            await client.http.fetch("POST", _CLAIMS, body=planes.claim(f"claim-{number:05}"))

        await planes.each(post_slice, range(LISTED), 64)
        slices = await _got(server, session, _SLICES, {})
        await planes.each(post_claim, range(LISTED), 64)
        claims = await _got(server, session, _CLAIMS, _TABLE)
        await planes.each(post_claim, range(LISTED, 2 * LISTED), 64)
        return slices, claims


async def _got(
    server: Server, session: aiohttp.ClientSession, path: str, headers: dict[str, str]
) -> Took:
    """From the request to the last byte; the median of five."""
    clocks, cpus = [], []
    for _ in range(5):
        began, before = time.perf_counter(), server.cpu_s()
        async with session.get(path, headers=headers) as response:
            assert response.status == 200
            await response.read()
        clocks.append(time.perf_counter() - began)
        cpus.append(server.cpu_s() - before)
    return Took(statistics.median(clocks), statistics.median(cpus), 5)


# --- the table ------------------------------------------------------------------------------------


def steady(shape: str, what: str, of: Callable[[Filling], Rate]) -> Case:
    return Case(
        f"plane-{shape}",
        "plane",
        "pods/s",
        f"one box, {NODES} nodes of {DEVICES} devices, {what}: {IN_FLIGHT} Pods in flight, each "
        "made with a template of one device, bound, seen bound by a watch, and deleted",
        measure=lambda bench: of(filling(bench.folder)).ours(),
        goal=300,
        is_slow=True,
    )


CASES = (
    steady("empty", "all free", lambda found: found.empty),
    steady("half", f"{HALF:,} of {NODES * DEVICES:,} in use", lambda found: found.half),
    steady("full", f"{FULL:,} of {NODES * DEVICES:,} in use", lambda found: found.full),
    Case(
        "plane-burst",
        "plane",
        "pods/s",
        f"{NODES * DEVICES:,} Pods made at once, 64 requests at a time, until all are seen bound; "
        "they take all devices",
        measure=burst,
        goal=300,
        is_slow=True,
    ),
    Case(
        "plane-memory",
        "plane",
        "MB",
        f"what the server has resident with {FULL:,} Pods on {NODES} nodes of {DEVICES} devices, "
        "after 8,000 Pods came and most stayed",
        measure=lambda bench: Ours(Took(0, None, 1), filling(bench.folder).resident_mb),
        is_slow=True,
    ),
    Case(
        "plane-watches",
        "plane",
        "events/s",
        f"{WATCHERS} watches of claims while {EVENTS} claims are made one after the other",
        measure=events,
        is_slow=True,
    ),
    Case(
        "plane-watches-memory",
        "plane",
        "MB",
        f"what the server has resident for {WATCHERS} watches more, each a TLS connection",
        measure=lambda bench: Ours(Took(0, None, 1), watched(bench.folder).grown_mb),
        is_slow=True,
    ),
    Case(
        "plane-list-slices",
        "plane",
        "s",
        f"a list of {LISTED:,} slices of {DEVICES} devices, from the request to the last byte",
        measure=lambda bench: Ours(listed(bench.folder).slices),
        goal=1,
        is_slow=True,
    ),
    Case(
        "plane-list-claims",
        "plane",
        "s",
        f"a list of {LISTED:,} claims as Table, as kubectl get asks for it",
        measure=lambda bench: Ours(listed(bench.folder).claims),
        goal=1,
        is_slow=True,
    ),
    Case(
        "plane-start",
        "plane",
        "s",
        f"`dibs up` on a store of {2 * LISTED:,} claims and {LISTED:,} slices, until it says ready",
        measure=lambda bench: Ours(Took(listed(bench.folder).started_s, None, 1)),
        is_slow=True,
    ),
)
