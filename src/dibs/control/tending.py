"""Looking after keys: each that something happened to is put right, and again until it is.

One call a key at a time, some keys at once. A call that fails comes again, each time later; one
that succeeds may say when it wants to look again. Keys are not events: ten changes of one object
while it waits are one call. Source: workqueues of Kubernetes' controllers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from dibs.client.cluster import Conflict, Forbidden, Missing, Unreachable

LOG = logging.getLogger("dibs.control")

# How long a key waits after its first failure; each further one doubles it.
FIRST_WAIT_S = 0.01
LONGEST_WAIT_S = 60.0
# What will fail again until somebody changes something; a change calls the key at once anyway.
FORBIDDEN_WAIT_S = 30.0


Key = TypeVar("Key", bound=Hashable)
# What changes are of: the model's objects for most loops, entries of the store for some.
Thing = TypeVar("Thing", contravariant=True)


class Loop(Protocol[Thing, Key]):
    """What one loop is: `tend` is called from one task a key, and must be safe to call again."""

    @property
    def name(self) -> str: ...

    def concerned(self, before: Thing | None, after: Thing | None) -> Iterable[Key]:
        """Yield the keys to look at after a change of one object."""

    async def tend(self, key: Key, /) -> float | None:
        """Put one key right; return in how many seconds to look again, None for only on change."""


@dataclass(slots=True)
class Tending(Generic[Thing, Key]):
    """Runs one loop. `changed` is its mirror's listener; `workers` keys are tended at once."""

    loop: Loop[Thing, Key]
    workers: int = 4
    _wanted: asyncio.Queue[Key] = field(default_factory=asyncio.Queue)
    # In the queue, or to be put there once the call under way is over.
    _queued: set[Key] = field(default_factory=set)
    _busy: set[Key] = field(default_factory=set)
    _again: set[Key] = field(default_factory=set)
    _failures: dict[Key, int] = field(default_factory=dict)
    _timers: dict[Key, asyncio.TimerHandle] = field(default_factory=dict)

    def changed(self, before: Thing | None, after: Thing | None) -> None:
        for key in self.loop.concerned(before, after):
            self.want(key)

    def want(self, key: Key) -> None:
        """Have a key looked at as soon as possible."""
        if key in self._busy:
            self._again.add(key)
        elif key not in self._queued:
            self._queued.add(key)
            self._wanted.put_nowait(key)

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits for a call now; timers may still come."""
        return not self._queued and not self._busy

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                for number in range(self.workers):
                    tasks.create_task(self._work(), name=f"{self.loop.name} {number}")
        finally:
            for timer in self._timers.values():
                timer.cancel()
            self._timers.clear()

    async def _work(self) -> None:
        while True:
            key = await self._wanted.get()
            self._queued.discard(key)
            self._busy.add(key)
            try:
                wait_s = await self._tended(key)
            finally:
                self._busy.discard(key)
            if key in self._again:
                self._again.discard(key)
                self.want(key)
            elif wait_s is not None:
                self._look_again(key, wait_s)

    async def _tended(self, key: Key) -> float | None:
        """One call; returns when the next is due."""
        try:
            wait_s = await self.loop.tend(key)
        except (Conflict, Missing, Unreachable):
            # The world moved: what is written now decides, a moment later.
            return self._backed_off(key)
        except Forbidden as refused:
            LOG.warning("%s: %s: %s", self.loop.name, key, refused)
            return max(self._backed_off(key), FORBIDDEN_WAIT_S)
        except Exception:
            LOG.exception("%s: %s", self.loop.name, key)
            return max(self._backed_off(key), FORBIDDEN_WAIT_S)
        self._failures.pop(key, None)
        return wait_s

    def _backed_off(self, key: Key) -> float:
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        return min(FIRST_WAIT_S * 2.0 ** min(failures, 30), LONGEST_WAIT_S)

    def _look_again(self, key: Key, wait_s: float) -> None:
        def due() -> None:
            self._timers.pop(key, None)
            self.want(key)

        if (earlier := self._timers.pop(key, None)) is not None:
            earlier.cancel()
        self._timers[key] = asyncio.get_running_loop().call_later(max(wait_s, 0.0), due)
