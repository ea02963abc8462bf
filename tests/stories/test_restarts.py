"""Killed between any two writes of a placement, a release or an eviction, it goes on where it was.

Every write point is tried: the process dies with the n-th write of the story, for each n. The next
one finds what was written, and nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dibs.api.failures import Failure
from dibs.api.local import Local
from dibs.control import running
from dibs.control.mirror import Mirror
from dibs.control.running import Clocks
from dibs.store import opening
from dibs.store.store import Store
from dibs.testing import crowd, disk, simulation, virtual
from dibs.testing.audit import Audit
from dibs.testing.crowd import Crowd, object_
from dibs.testing.disk import Call
from dibs.testing.mortal import Mortal
from dibs.testing.planes import Driven

pytestmark = pytest.mark.slow


@dataclass
class Told:
    """What was found out: how many writes there were, and what was wrong."""

    writes: int = 0
    died_in: str = ""
    faults: list[str] = field(default_factory=list)


def pod(name: str, *sources: dict[str, str], **limits: str) -> dict[str, Any]:
    entries = [{"name": f"c{number}", **source} for number, source in enumerate(sources)]
    resources: dict[str, Any] = {"claims": [{"name": each["name"]} for each in entries]}
    if limits:
        resources["limits"] = {"example.com/gpu": limits["gpu"]}
    container = {"name": "main", "image": "example.com/x", "resources": resources}
    spec = {"containers": [container], "resourceClaims": entries}
    return object_("Pod", name, "default", "v1", spec=spec)


def template(name: str) -> dict[str, str]:
    return {"resourceClaimTemplateName": name}


async def arrive(plane: Driven) -> None:
    users = Crowd(plane, Random(0))
    for tree in crowd.CLASSES:
        await plane.create(tree)
    await users._templates("default")
    for node in ("n0", "n1"):
        await users._node(node)


async def done(deed: Callable[[], Awaitable[object]]) -> None:
    """As somebody does it who doesn't know whether it was done before, until it is."""
    while True:
        try:
            await deed()
            return
        except Failure as failure:
            if failure.code in (404, 409):
                return
            if failure.code < 500:
                raise
            # The disk was full, or something the like.
            await asyncio.sleep(1.0)


async def place(plane: Driven) -> None:
    await done(partial(plane.create, pod("made", template("one"))))
    await done(partial(plane.create, pod("special", gpu="1")))
    await done(partial(plane.create, pod("attached", template("fabric"))))
    spec = {"devices": {"requests": crowd.WISHES["part"]}}
    await done(partial(plane.create, object_("ResourceClaim", "ours", "default", spec=spec)))
    for name in ("shares-0", "shares-1"):
        await done(partial(plane.create, pod(name, {"resourceClaimName": "ours"})))
    await done(
        partial(plane.create, pod("too-much", template("two"), template("two"), template("two")))
    )


async def evict(plane: Driven) -> None:
    for device in ("gpu-0", "fab-0"):
        taint = {"key": "broken", "effect": "NoExecute"}
        spec = {"deviceSelector": {"device": device}, "taint": taint}
        await done(partial(plane.create, object_("DeviceTaintRule", device, spec=spec)))


async def release(plane: Driven) -> None:
    for name in ("shares-0", "shares-1", "too-much"):
        await done(partial(plane.delete, "pods", name))
    await done(partial(plane.delete, "resourceclaims", "ours"))
    await done(partial(plane.create, pod("made-again", template("one"))))


PHASES: tuple[Callable[[Driven], Awaitable[None]], ...] = (place, evict, release)


async def lived(
    dies_after: int | None = None,
    folder: Path | None = None,
    begins: Callable[[], None] = lambda: None,
) -> Told:
    """The whole story; in memory, or in a folder. `begins` is called when all that is there from
    the start is."""
    loop = asyncio.get_running_loop()
    mortal = Mortal(simulation.KEEP, loop.time)
    store: Store = mortal
    if folder is not None:
        store = await opening.in_folder(folder, simulation.KEEP, loop.time)
    wall = simulation.Wall()
    plane = simulation.plane_of(store, wall, Random(1))
    driven = Driven(plane, Local(plane), Mirror(), lambda: True)
    told, audit = Told(), Audit(simulation.LIMITS)
    watch = store.watch(since=0)
    await driven.create(object_("Namespace", "default", group="v1"))
    await arrive(driven)
    before = mortal.written
    begins()
    mortal.dies_after = before + dies_after if dies_after else None
    attaching = asyncio.create_task(crowd.attach(driven, Random(3)))
    clocks = Clocks(wall.now, loop.time)

    async def life(seconds: float) -> bool:
        """Whether it lived so long."""
        async with running.loops(
            Local(plane), clocks, plane=plane, patience_s=simulation.PATIENCE_S
        ) as loops:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await mortal.died.wait()
            if not mortal.died.is_set():
                told.faults += simulation.leftovers(plane, loops)
            return not mortal.died.is_set()

    for phase in PHASES:
        user = asyncio.create_task(phase(driven))
        if not await life(400.0):
            told.died_in = phase.__name__
            mortal.revive()
            # Who was not answered asks again: for the rest, the next process is there.
            user.cancel()
            await asyncio.gather(user, return_exceptions=True)
            await phase(driven)
            assert await life(600.0)
        for event in await watch.take(most=10**9, wait_s=0):
            told.faults += audit.see(event)
        told.faults += audit.rest()
    told.writes = mortal.written - before
    attaching.cancel()
    await asyncio.gather(attaching, return_exceptions=True)
    bound = {key.name for key, tree in audit.pods.items() if tree["spec"].get("nodeName")}
    # Evicted, they are gone: nobody makes Pods anew.
    if bound != {"made-again"} | (bound & {"special", "attached", "made"}):
        told.faults.append(f"at the end there are {sorted(bound)}")
    await store.close()
    if store is not mortal:
        await mortal.close()
    return told


def test_it_lives_without_being_killed() -> None:
    told = virtual.run(lived(None))
    assert told.faults == []
    assert told.writes > 60


@pytest.mark.parametrize("part", range(8))
def test_killed_at_every_write(part: int) -> None:
    """`part` of all points, so that a run says how far it came."""
    died = []
    point = part + 1
    while True:
        told = virtual.run(lived(point))
        assert told.faults == [], f"killed at write {point}, in {told.died_in}"
        if not told.died_in:
            break
        died.append(told.died_in)
        point += 8
    assert {"place", "evict", "release"} == set(died)


@pytest.mark.skipif(not disk.is_reachable(), reason="SQLite is built into this Python")
def test_every_call_that_writes_fails_once(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Who asked for it is told, or asks again; nothing is lost, nothing is given away twice."""
    is_long = request.config.getoption("--hypothesis-profile") == "long"
    with disk.installed(lambda call: sqlite3.SQLITE_OK) as seen:
        first: list[int] = []
        story = lived(folder=tmp_path / "well", begins=lambda: first.append(len(seen.calls)))
        assert virtual.run(story).faults == []
    calls = len(seen.calls) - first[0]
    assert calls > 100
    for number in range(first[0], first[0] + calls, 1 if is_long else calls // 12):
        failed: list[Call] = []

        def judge(call: Call, number: int = number, failed: list[Call] = failed) -> int:
            if call.number != number:
                return int(sqlite3.SQLITE_OK)
            failed.append(call)
            return disk.FAILURES[call.kind][0]

        folder = tmp_path / str(number)
        with disk.installed(judge):
            told = virtual.run(lived(folder=folder))
        assert len(failed) == 1
        assert told.faults == [], failed
        shutil.rmtree(folder)
