"""A cluster as it is on bad days: late, forgetful, repeating itself; never telling what isn't so.

Writes are slow, fail before they are done or after, or conflict with nothing. Each watch lags
behind by its own time, says things again, and begins again with all that is there. What is late is
in order, as with a real API server; between kinds there is no order. Source: API concepts, watches.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar

from dibs.client import cluster
from dibs.client.cluster import Change, Cluster, Conflict, Ref, Synced, Unreachable
from dibs.model.kinds import Kind, Known

Answer = TypeVar("Answer")


@dataclass(slots=True)
class Weather:
    """Chances are of one call, or of one word of a watch. It may change while it is used."""

    slow_s: float = 0.0
    conflict: float = 0.0
    refused: float = 0.0
    lost: float = 0.0
    lag_s: float = 0.0
    repeated: float = 0.0
    restarted: float = 0.0
    # Nobody gets through at all until then, by the clock of the event loop.
    down_until: float = 0.0

    def calm(self) -> None:
        """From now on nothing goes wrong."""
        self.slow_s = self.lag_s = self.down_until = 0.0
        self.conflict = self.refused = self.lost = self.repeated = self.restarted = 0.0


# Changes that a watch may say again.
_REMEMBERED = 5


@dataclass(frozen=True, slots=True)
class Unreliable:
    """`client.cluster.Cluster` in a certain weather; `chance` decides everything."""

    inner: Cluster
    chance: Random
    weather: Weather = field(default_factory=Weather)

    async def watch(self, kind: Kind) -> AsyncIterator[Change | Synced]:
        while True:
            said: deque[Change] = deque(maxlen=_REMEMBERED)
            # Some kinds are told at once, others long after.
            pace = self.chance.choice((0.0, 0.1, 1.0, 4.0))
            async for news in self.inner.watch(kind):
                await self._wait(self.weather.lag_s * pace)
                yield news
                if isinstance(news, Change):
                    said.append(news)
                if said and self._happens(self.weather.repeated):
                    yield self.chance.choice(said)
                if self._happens(self.weather.restarted):
                    break

    async def get(self, ref: Ref) -> Known | None:
        await self._reach()
        found = await self.inner.get(ref)
        # It may be old news by the time it is heard.
        await self._wait(self.weather.slow_s)
        return found

    async def create(self, item: Known) -> Known:
        return await self._write(self.inner.create(item), "create")

    async def update(self, item: Known, door: str = "") -> Known:
        return await self._write(self.inner.update(item, door), f"update {door}")

    async def update_both(self, item: Known, *, status_first: bool = False) -> Known:
        if self.chance.random() < 0.5:
            # As a cluster does it that has no such write: stopped between the two, now and then.
            return await cluster.update_in_turn(self, item, status_first=status_first)
        return await self._write(self.inner.update_both(item, status_first=status_first), "both")

    async def patch(self, ref: Ref, patch: Mapping[str, Any], door: str = "") -> Known:
        return await self._write(self.inner.patch(ref, patch, door), f"patch {door}")

    async def delete(self, ref: Ref, *, uid: str = "", grace_s: int | None = None) -> None:
        await self._write(self.inner.delete(ref, uid=uid, grace_s=grace_s), "delete")

    async def bind(self, pod: Ref, uid: str, node: str) -> None:
        await self._write(self.inner.bind(pod, uid, node), "bind")

    async def report(self, event: Mapping[str, Any]) -> None:
        await self._wait(self.weather.slow_s)
        await self.inner.report(event)

    async def _write(self, doing: Awaitable[Answer], what: str) -> Answer:
        done = False
        try:
            await self._reach()
            if self._happens(self.weather.conflict):
                raise Conflict(f"{what}: made up")
            done = True
            answer = await doing
        finally:
            if not done:
                # Never begun; Python warns of what is forgotten.
                doing.close()  # type: ignore[attr-defined]
        await self._wait(self.weather.slow_s)
        if self._happens(self.weather.lost):
            raise Unreachable(f"{what}: done, but nobody hears of it")
        return answer

    async def _reach(self) -> None:
        await self._wait(self.weather.slow_s)
        is_down = self.weather.down_until > asyncio.get_running_loop().time()
        if is_down or self._happens(self.weather.refused):
            raise Unreachable("nobody answers")

    async def _wait(self, longest_s: float) -> None:
        if longest_s:
            # Mostly short, now and then as long as it can be.
            await asyncio.sleep(longest_s * self.chance.random() ** 3)

    def _happens(self, probability: float) -> bool:
        return probability > 0 and self.chance.random() < probability
