"""All loops of a control plane, started together and stopped together.

`loops` run on any cluster; `embedded_loops` are what a real cluster has of its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from dibs.api.plane import Plane
from dibs.client.cluster import Cluster, Ref
from dibs.control import carrying, embedded
from dibs.control.carrying import Hand
from dibs.control.embedded import Hands
from dibs.control.evicting import Evicting, RuleStatus
from dibs.control.garbage import Garbage
from dibs.control.making import Making
from dibs.control.mirror import Mirror
from dibs.control.namespaces import Namespaces
from dibs.control.nodeless import Nodeless
from dibs.control.poolstatus import PoolStatusRequests
from dibs.control.releasing import Releasing
from dibs.control.scheduling import Scheduling
from dibs.control.tending import Tending
from dibs.control.world import World
from dibs.model.kinds import Known
from dibs.schedule.state import DEFAULTS, Options
from dibs.store.records import Entry, Key

LOG = logging.getLogger("dibs.control")


@dataclass(frozen=True, slots=True)
class Clocks:
    """`now` is seconds since 1970, `steady` seconds that only go forward."""

    now: Callable[[], float]
    steady: Callable[[], float]


def _pending() -> asyncio.Future[None]:
    return asyncio.get_running_loop().create_future()


@dataclass(frozen=True, slots=True)
class Loops:
    """What runs, for who wants to look at it."""

    mirror: Mirror
    world: World
    scheduling: Scheduling
    tendings: tuple[Tending[Known, Ref], ...]
    embedded: tuple[Tending[Entry, Key], ...] = ()
    # Done when a loop has ended that should never end; with the exception that ended it.
    broken: asyncio.Future[None] = field(default_factory=_pending)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being done, nor waits for its turn."""
        return (
            self.scheduling.is_idle
            and all(each.is_idle for each in self.tendings)
            and all(each.is_idle for each in self.embedded)
        )

    def remembered(self) -> list[str]:
        """What is kept of what is under way: nothing, when all is at rest."""
        return self.scheduling.remembered()

    def ended(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or self.broken.done():
            return
        fault = task.exception() or AssertionError(f"{task.get_name()} ended")
        LOG.error("%s has ended", task.get_name(), exc_info=fault)
        self.broken.set_exception(fault)
        # Whoever runs us looks at it; nobody has to.
        self.broken.exception()


@asynccontextmanager
async def loops(
    cluster: Cluster,
    clocks: Clocks,
    options: Options = DEFAULTS,
    *,
    plane: Plane | None = None,
    patience_s: float = carrying.PATIENCE_S,
) -> AsyncIterator[Loops]:
    """Run until the block ends. With a `plane` also what only the embedded one needs."""
    mirror = Mirror()
    world = World.of(mirror, options)
    hand = Hand(cluster, mirror, clocks.now, patience_s)
    scheduling = Scheduling(cluster, mirror, world, hand, clocks.now, clocks.steady)
    releasing = Tending(Releasing(cluster, mirror, world.is_in_flight))
    world.when_landed(lambda ref: releasing.want(ref) if ref.kind == carrying.CLAIMS else None)
    tendings = (
        Tending(Making(cluster, mirror, world, clocks.now)),
        releasing,
        Tending(Evicting(cluster, mirror, world, clocks.now)),
        Tending(RuleStatus(cluster, mirror, clocks.now)),
        Tending(PoolStatusRequests(cluster, mirror, world, clocks.now)),
        *((Tending(Nodeless(cluster, mirror)),) if plane is not None else ()),
    )
    inside = _embedded(plane) if plane is not None else ()
    running = Loops(mirror, world, scheduling, tendings, inside)
    tasks: list[asyncio.Task[None]] = []
    try:
        tasks.append(asyncio.create_task(mirror.follow(cluster), name="mirror"))
        if plane is not None:
            tasks.append(asyncio.create_task(embedded.feed(plane, *inside), name="feed"))
        # Nobody acts on half of what is there.
        await mirror.until_synced()
        mirror.listen(scheduling.changed)
        for tending in tendings:
            mirror.listen(tending.changed)
        tasks += [asyncio.create_task(each.run()) for each in tendings]
        tasks += [asyncio.create_task(each.run()) for each in inside]
        tasks.append(asyncio.create_task(scheduling.run(), name="scheduling"))
        for task in tasks:
            task.add_done_callback(running.ended)
        yield running
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _embedded(plane: Plane) -> tuple[Tending[Entry, Key], ...]:
    hands = Hands(plane)
    return Tending(Garbage(plane, hands)), Tending(Namespaces(plane, hands))
