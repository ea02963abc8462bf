"""Killed between any two writes of a placement, a release or an eviction, it goes on where it was.

Every write point is tried: the process dies with the n-th write of the story, for each n. The next
one finds what was written, and nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from dibs.api.failures import Failure
from dibs.api.local import Local
from dibs.control import running
from dibs.control.mirror import Mirror
from dibs.control.running import Clocks
from dibs.testing import crowd, simulation, virtual
from dibs.testing.audit import Audit
from dibs.testing.crowd import Crowd, object_
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


async def done(deed: Awaitable[object]) -> None:
    """As somebody does it who doesn't know whether it was done before."""
    try:
        await deed
    except Failure as failure:
        if failure.code not in (404, 409):
            raise


async def place(plane: Driven) -> None:
    await done(plane.create(pod("made", template("one"))))
    await done(plane.create(pod("special", gpu="1")))
    await done(plane.create(pod("attached", template("fabric"))))
    spec = {"devices": {"requests": crowd.WISHES["part"]}}
    await done(plane.create(object_("ResourceClaim", "ours", "default", spec=spec)))
    for name in ("shares-0", "shares-1"):
        await done(plane.create(pod(name, {"resourceClaimName": "ours"})))
    await done(plane.create(pod("too-much", template("two"), template("two"), template("two"))))


async def evict(plane: Driven) -> None:
    for device in ("gpu-0", "fab-0"):
        taint = {"key": "broken", "effect": "NoExecute"}
        spec = {"deviceSelector": {"device": device}, "taint": taint}
        await done(plane.create(object_("DeviceTaintRule", device, spec=spec)))


async def release(plane: Driven) -> None:
    for name in ("shares-0", "shares-1", "too-much"):
        await done(plane.delete("pods", name))
    await done(plane.delete("resourceclaims", "ours"))
    await done(plane.create(pod("made-again", template("one"))))


PHASES: tuple[Callable[[Driven], Awaitable[None]], ...] = (place, evict, release)


async def lived(dies_after: int | None) -> Told:
    loop = asyncio.get_running_loop()
    store = Mortal(simulation.KEEP, loop.time)
    wall = simulation.Wall()
    plane = simulation.plane_of(store, wall, Random(1))
    driven = Driven(plane, Local(plane), Mirror(), lambda: True)
    told, audit = Told(), Audit(simulation.LIMITS)
    watch = store.watch(since=0)
    await driven.create(object_("Namespace", "default", group="v1"))
    await arrive(driven)
    before = store.written
    store.dies_after = before + dies_after if dies_after else None
    attaching = asyncio.create_task(crowd.attach(driven, Random(3)))
    clocks = Clocks(wall.now, loop.time)

    async def life(seconds: float) -> bool:
        """Whether it lived so long."""
        async with running.loops(
            Local(plane), clocks, plane=plane, patience_s=simulation.PATIENCE_S
        ) as loops:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await store.died.wait()
            if not store.died.is_set():
                told.faults += simulation.leftovers(plane, loops)
            return not store.died.is_set()

    for phase in PHASES:
        user = asyncio.create_task(phase(driven))
        if not await life(400.0):
            told.died_in = phase.__name__
            store.revive()
            # Who was not answered asks again: for the rest, the next process is there.
            user.cancel()
            await asyncio.gather(user, return_exceptions=True)
            await phase(driven)
            assert await life(600.0)
        for event in await watch.take(most=10**9, wait_s=0):
            told.faults += audit.see(event)
        told.faults += audit.rest()
    told.writes = store.written - before
    attaching.cancel()
    await asyncio.gather(attaching, return_exceptions=True)
    bound = {key.name for key, tree in audit.pods.items() if tree["spec"].get("nodeName")}
    # Evicted, they are gone: nobody makes Pods anew.
    if bound != {"made-again"} | (bound & {"special", "attached", "made"}):
        told.faults.append(f"at the end there are {sorted(bound)}")
    await store.close()
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
