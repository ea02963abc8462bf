"""A store whose process dies with its n-th write: that one is done, and nobody hears of it.

What is asked for after it is never answered, as by a process that is not there any more. After
`revive` it is the store of the next process, with what was written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from dibs.store.records import Event, Keep, Write
from dibs.store.state import State
from dibs.store.store import Store


class Mortal(Store):
    """In memory. It lives for ever until `dies_after` is set."""

    def __init__(self, keep: Keep, clock: Callable[[], float]) -> None:
        super().__init__(State(), None, keep, clock)
        self.dies_after: int | None = None
        self.written = 0
        self.died = asyncio.Event()

    async def commit(self, *writes: Write) -> tuple[Event, ...]:
        if self.died.is_set():
            await _for_ever()
        found = await super().commit(*writes)
        self.written += 1
        if self.written == self.dies_after:
            self.died.set()
        if self.died.is_set():
            await _for_ever()
        return found

    def revive(self) -> None:
        """Whoever asks now asks another process."""
        self.dies_after = None
        self.died.clear()


async def _for_ever() -> None:
    await asyncio.Event().wait()
