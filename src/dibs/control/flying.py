"""Decisions under way: their writes in flight, in the order in which they depend on each other.

From its decision until it has landed a flight's objects are believed to be as decided (`world`).
However it ends, it lands only when it is known how they stand: nobody else is given devices that
may be taken. Pods that share a claim fly one after the other. Writing takes turns; waiting for a
device to be attached (KEP-5007) takes none, so that it holds up nobody.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from dibs.client.cluster import Conflict, Forbidden, Missing, Ref, Unreachable
from dibs.control import carrying
from dibs.control.carrying import Hand
from dibs.control.world import World
from dibs.schedule import writes
from dibs.schedule.plan import BindPod, Placed, Write
from dibs.schedule.snapshot import Key, key_of

LOG = logging.getLogger("dibs.control")
CLAIMS, PODS = carrying.CLAIMS, carrying.PODS
# Decisions that write at once.
MOST_WRITING = 64
# Between two looks at whether an object has come to be as it was written.
CONFIRM_S = 1.0


@dataclass(frozen=True, slots=True)
class Landing:
    """How a flight ended: `fault` is None when the Pod got its node."""

    key: Key
    decision: Placed
    fault: Exception | None


@dataclass(slots=True)
class Flights:
    """`landed` is called once for each flight."""

    world: World
    hand: Hand
    landed: Callable[[Landing], Awaitable[None]]
    _under_way: set[asyncio.Task[None]] = field(default_factory=set)
    # The last decision under way that concerns an object: the next one waits for it.
    _last: dict[Ref, asyncio.Task[None]] = field(default_factory=dict)
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_WRITING))

    def __len__(self) -> int:
        return len(self._under_way)

    async def turn(self) -> None:
        """Wait until one more could write: whoever decides shall not be far ahead of that."""
        async with self._turns:
            return

    def launch(self, key: Key, decision: Placed) -> None:
        refs = concerned(decision)
        flight = _Flight(self, key, decision, refs, {
            self._last[ref]: None for ref in refs if ref in self._last
        })  # fmt: skip
        flight.learn()
        self.world.decided(decision, refs)
        task = asyncio.create_task(flight.fly(), name=f"bind {key}")
        self._under_way.add(task)
        self._last.update(dict.fromkeys(refs, task))
        task.add_done_callback(lambda _: self._ended(task, refs))

    def _ended(self, task: asyncio.Task[None], refs: tuple[Ref, ...]) -> None:
        self._under_way.discard(task)
        for ref in refs:
            if self._last.get(ref) is task:
                del self._last[ref]

    def cancel(self) -> None:
        """What is under way is left to the next start."""
        for task in self._under_way:
            task.cancel()


@dataclass(slots=True)
class _Flight:
    flights: Flights
    key: Key
    decision: Placed
    refs: tuple[Ref, ...]
    ahead: dict[asyncio.Task[None], None]
    todo: list[Write] = field(default_factory=list)
    # Whom it was decided about: not whoever may have the same name by now.
    uids: dict[Ref, str] = field(default_factory=dict)

    def learn(self) -> None:
        """What is to be written, and on what."""
        state = self.flights.world.state
        self.todo = writes.of(self.decision, state)
        pod = state.snapshot.pods[self.key]
        self.uids[Ref(PODS, *self.key)] = pod.metadata.uid
        for use in self.decision.claims:
            if not use.is_new:
                self.uids[Ref.to(use.claim)] = use.claim.metadata.uid

    async def fly(self) -> None:
        fault: Exception | None = None
        try:
            await self._carry()
        except (Conflict, Missing, Unreachable, Forbidden, carrying.Failed) as found:
            fault = found
        except Exception as bug:  # a bug with one Pod must not keep what it was to have
            LOG.exception("bind %s", self.key)
            fault = bug
        if fault is not None:
            await self._confirm()
        self.flights.world.landed(self.refs)
        await self.flights.landed(Landing(self.key, self.decision, fault))

    async def _carry(self) -> None:
        if self.ahead:
            # What is reserved must have been allocated.
            await asyncio.wait(self.ahead)
        hand = self.flights.hand
        hand.check(self.key, self.uids)
        bindings = [each for each in self.todo if isinstance(each, BindPod)]
        async with self.flights._turns:
            others = [each for each in self.todo if not isinstance(each, BindPod)]
            await hand.carry_out(others, self.uids)
        await hand.until_ready(self.key, self.todo, self.uids)
        async with self.flights._turns:
            await hand.carry_out(bindings, self.uids)

    async def _confirm(self) -> None:
        """Until it is known how the objects stand, their devices are given to nobody."""
        while True:
            try:
                await self.flights.hand.confirm(self.refs)
                return
            except Unreachable:
                await asyncio.sleep(CONFIRM_S)


def concerned(decision: Placed) -> tuple[Ref, ...]:
    """The objects that a decision changes."""
    names = dict.fromkeys(key_of(use.claim.metadata) for use in decision.claims)
    return (Ref(PODS, *decision.subject.key), *(Ref(CLAIMS, *name) for name in names))
