"""A control plane lived through in virtual time, from a seed: users, bad weather, crashed loops.

    found = simulation.lived(7)      # the same each time: faults, and what happened

`python -m dibs.testing.simulation 7` tells one seed's story again; `A-B` runs a range of them.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import logging
import math
import sys
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from random import Random

from dibs.api.calls import World
from dibs.api.gate import Open
from dibs.api.local import Local
from dibs.api.plane import Plane
from dibs.control import running, scheduling, telling
from dibs.control.mirror import Mirror
from dibs.control.running import Clocks, Loops
from dibs.model import codec, kinds
from dibs.model.kinds import Known
from dibs.schedule import pods
from dibs.schedule.plan import Placed, Subject, Waits
from dibs.schedule.snapshot import Snapshot
from dibs.schedule.state import Options, State
from dibs.store import opening
from dibs.store.records import Keep
from dibs.store.store import Store
from dibs.store.watching import Watch
from dibs.testing import crowd, virtual
from dibs.testing.audit import Audit, Limits
from dibs.testing.crowd import Crowd
from dibs.testing.planes import Driven
from dibs.testing.unreliable import Unreliable, Weather
from dibs.view import brief

START = 1_767_225_600.0  # 2026-01-01
# How long devices may take to become ready here, and how long all may take to come to rest:
# longer than any Pod is parked, any device awaited and any node mourned for.
PATIENCE_S = 30.0
REST_S = 1_500.0
# Shorter than a Pod is parked without anything happening: by then all that woke it has helped it.
CALM_S = 240.0
# Nothing is forgotten: the audit looks at all of it.
KEEP = Keep(revisions=10**9, age_s=math.inf, old_bytes=10**12)


@dataclass(slots=True)
class Wall:
    """A clock on the wall that somebody sets now and then; virtual time goes on steadily."""

    offset: float = START

    def now(self) -> float:
        return self.offset + asyncio.get_running_loop().time()


@dataclass(frozen=True, slots=True)
class Story:
    """What came of a seed. `digest` is of everything that was written."""

    seed: int
    faults: tuple[str, ...]
    revision: int
    given: int
    bound: int
    digest: str


LIMITS = Limits({"nic-0": crowd.NIC}, dict(crowd.DRAWN), crowd.CARD)


@dataclass(slots=True)
class Life:
    """One simulation while it goes on."""

    chance: Random
    plane: Driven
    wall: Wall
    weather: Weather
    cluster: Unreliable
    options: Options
    watch: Watch
    audit: Audit = field(default_factory=lambda: Audit(LIMITS))
    faults: list[str] = field(default_factory=list)
    written: hashlib._Hash = field(default_factory=hashlib.sha256)

    async def look(self) -> list[str]:
        """Check every event since the last look; return what was written."""
        written = []
        for event in await self.watch.take(most=10**9, wait_s=0):
            self.faults += [f"revision {event.revision}: {each}" for each in self.audit.see(event)]
            self.written.update(f"{event.key} ".encode())
            self.written.update(event.after.value if event.after else b"")
            written.append(str(event.key))
        return written

    @asynccontextmanager
    async def loops(self) -> AsyncIterator[Loops]:
        clocks = Clocks(self.wall.now, asyncio.get_running_loop().time)
        async with running.loops(
            self.cluster, clocks, self.options, plane=self.plane.plane, patience_s=PATIENCE_S
        ) as loops:
            yield loops
            if loops.broken.done():
                self.faults.append(f"a loop ended: {loops.broken.exception()!r}")

    async def bustle(self, deeds: int) -> None:
        """What users do, and what befalls the cluster meanwhile."""
        users = Crowd(self.plane, self.chance, names=self.chance.choice((2, 5, 10)))
        await users.arrive()
        left = deeds
        while left:
            # Now and then the process is killed, and another one started.
            lives = min(left, self.chance.choice((deeds, deeds // 4, 3)))
            left -= lives
            async with self.loops() as loops:
                for _ in range(lives):
                    await users.act()
                    self._befall()
                    await asyncio.sleep(self.chance.choice((0.0, 0.0, 0.01, 0.1, 1.0, 5.0)))
                if not left and self.chance.random() < 0.5:
                    # Those who have seen it all must come to the end on their own too.
                    self.weather.calm()
                    await asyncio.sleep(CALM_S)
                    await self.look()
                    self.faults += self.audit.rest()
                    self.faults += leftovers(self.plane.plane, loops)
            await self.look()
        await users.make_templates()

    def _befall(self) -> None:
        if self.chance.random() < 0.03:
            now = asyncio.get_running_loop().time()
            self.weather.down_until = now + self.chance.choice((0.5, 5.0, 40.0))
        if self.chance.random() < 0.03:
            self.wall.offset += self.chance.choice((-86_400.0, -30.0, 30.0, 3_600.0))

    async def rest(self) -> Loops:
        """Let everything come to an end in fine weather, and check what is left."""
        self.weather.calm()
        async with self.loops() as loops:
            await asyncio.sleep(REST_S)
            await self.look()
            # What goes on for ever would go on now.
            await asyncio.sleep(REST_S / 4)
            if restless := await self.look():
                self.faults.append(f"it doesn't come to rest: {restless}")
            self.faults += self.audit.rest()
            self.faults += leftovers(self.plane.plane, loops)
            self.faults += misinformed(self.plane.plane, loops)
        return loops


def leftovers(plane: Plane, loops: Loops) -> Iterator[str]:
    """What the loops know and shouldn't, or should and don't, when nothing is under way."""
    there = {key_of_known(item): item for item in objects(plane)}
    known = {
        key_of_known(item): item for kind in kinds.KINDS for item in loops.mirror.all(kind).values()
    }
    if there != known:
        wrong = [key for key in there.keys() | known.keys() if there.get(key) != known.get(key)]
        yield f"the mirror is wrong about {sorted(wrong)}"
    if not loops.is_idle:
        yield "somebody is still busy"
    state = State.of(Snapshot.of(there.values()), loops.world.state.options)
    if state.ledger != loops.world.state.ledger:
        yield "the ledger isn't what the claims say"
    for key, pod in state.snapshot.pods.items():
        if not pods.is_open(pod) or pod.spec.scheduler_name not in scheduling.NAMES:
            continue
        decision = pods.decide(state, Subject("Pod", key))
        if isinstance(decision, Placed) and scheduling.is_made(decision, pod):
            yield f"{key} waits and could be placed"
    yield from (f"left over: {each}" for each in loops.remembered())


def misinformed(plane: Plane, loops: Loops) -> Iterator[str]:
    """Who was told another reason than there is. That others took devices calls nobody, so a
    reason may be as old as a Pod may be parked."""
    state = State.of(Snapshot.of(objects(plane)), loops.world.state.options)
    for key, pod in state.snapshot.pods.items():
        decision = pods.decide(state, Subject("Pod", key))
        if not pod.spec.node_name and isinstance(decision, Waits):
            said = {each.get("message") for each in telling.conditions(pod)}
            if said != {brief.of(decision)}:
                yield f"{key} is told {said}, not {brief.of(decision)}"


def objects(plane: Plane) -> Iterator[Known]:
    """Everything of the model's kinds that is stored."""
    for kind in kinds.KINDS:
        resource = f"{kind.plural}.{kind.group}".rstrip(".")
        for entry in plane.store.page(resource).entries:
            found = codec.decode(plane.reader.tree(entry)).object
            assert found is not None, "what is stored can be read"
            yield found


def key_of_known(item: Known) -> tuple[str, str, str]:
    return kinds.of(item).name, item.metadata.namespace, item.metadata.name


# --- a whole life ---------------------------------------------------------------------------------


def lived(seed: int, deeds: int = 40) -> Story:
    """Live through a seed's story."""
    with _listening() as heard:
        found = virtual.run(_lived(seed, deeds))
    serious = [each.getMessage() for each in heard.records if each.levelno >= logging.ERROR]
    traces = [each.exc_text for each in heard.records if each.exc_text]
    return replace(found, faults=(*found.faults, *serious, *map(str, traces)))


async def _lived(seed: int, deeds: int) -> Story:
    chance = Random(seed)
    store = opening.in_memory(KEEP, asyncio.get_running_loop().time)
    wall = Wall()
    plane = plane_of(store, wall, Random(seed + 1))
    weather = _weather(chance)
    local = Local(plane)
    cluster = Unreliable(local, chance, weather)
    driven = Driven(plane, local, Mirror(), lambda: True)
    options = Options(order=chance.choice(("first-fit", "packed")))
    life = Life(chance, driven, wall, weather, cluster, options, store.watch(since=0))
    await driven.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}})
    attaching = asyncio.create_task(crowd.attach(driven, chance))
    try:
        await life.bustle(deeds)
        await life.rest()
    finally:
        attaching.cancel()
        await asyncio.gather(attaching, return_exceptions=True)
        await store.close()
    audit, digest = life.audit, life.written.hexdigest()[:16]
    return Story(seed, tuple(life.faults), store.revision, audit.given, audit.bound, digest)


def _weather(chance: Random) -> Weather:
    if chance.random() < 0.15:
        return Weather()
    return Weather(
        slow_s=chance.choice((0.0, 0.01, 0.5, 5.0)),
        conflict=chance.choice((0.0, 0.05, 0.2)),
        refused=chance.choice((0.0, 0.05, 0.2)),
        lost=chance.choice((0.0, 0.05, 0.2)),
        lag_s=chance.choice((0.0, 0.1, 2.0, 20.0)),
        repeated=chance.choice((0.0, 0.1)),
        restarted=chance.choice((0.0, 0.01, 0.05)),
    )


def plane_of(store: Store, wall: Wall, chance: Random) -> Plane:
    """A plane on that store, whose uids come from `chance`."""
    numbers = itertools.count()
    world = World(
        wall.now,
        lambda: str(uuid.UUID(int=chance.getrandbits(128), version=4)),
        lambda: f"{next(numbers):05}",
    )
    return Plane(store, world, Open())


class _Records(logging.Handler):
    """Keeps what the loops say."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        self.records.append(record)


@contextmanager
def _listening() -> Iterator[_Records]:
    logger, handler = logging.getLogger("dibs"), _Records()
    level, passed = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.ERROR)
    logger.propagate = False
    try:
        yield handler
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = passed


def main(words: list[str]) -> int:
    first, _, last = words[0].partition("-")
    started = time.process_time()
    bad = 0
    for seed in range(int(first), int(last or first) + 1):
        story = lived(seed)
        bad += bool(story.faults)
        if story.faults or not last:
            sys.stdout.write(f"{told(story)}\n")
    sys.stdout.write(f"{bad} bad, {time.process_time() - started:.1f} s\n")
    return 1 if bad else 0


def told(story: Story) -> str:
    """What is wrong with a story, and how to hear it again."""
    counts = f"{story.revision} writes, {story.given} claims given, {story.bound} Pods bound"
    again = f"python -m dibs.testing.simulation {story.seed}"
    lines = (f"seed {story.seed}: {counts}, {story.digest} ({again})", *story.faults)
    return "\n    ".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
