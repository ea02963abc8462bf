"""An event loop whose clock is a number: it jumps to the next timer when all else is done.

    virtual.run(story())      # an hour of sleeping takes no time, and goes the same each time

Work for threads is done at once, in this one. Nothing from outside wakes such a loop: no sockets,
no signals; who waits for nothing at all is told so instead of hanging.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

Answer = TypeVar("Answer")

LEAST_S = 1e-6
# So many callbacks without any time going by are a loop that never rests.
MOST_AT_ONCE = 200_000


class Stuck(Exception):
    """Nothing will ever happen any more, or it never ends and no time goes by."""


class _Jumping(selectors.SelectSelector):
    """Waits by setting the clock forward."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self._at_once = 0

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise Stuck("everybody waits for somebody else")
        if timeout > 0:
            # What a sum of floats leaves over is no time at all, and would be waited for for ever.
            self.now += max(timeout, LEAST_S)
            self._at_once = 0
        self._at_once += 1
        if self._at_once > MOST_AT_ONCE:
            raise Stuck(f"{MOST_AT_ONCE} rounds at {self.now} s")
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """Starts at 0 seconds."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)
        # Two timers a microsecond apart are two.
        self._clock_resolution = 1e-9

    def time(self) -> float:
        return self._jumping.now

    def run_in_executor(  # type: ignore[override]
        self, executor: object, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        done = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as fault:  # noqa: BLE001  # whoever waits for it is told, as from a thread
            done.set_exception(fault)
        return done


def run(story: Coroutine[Any, Any, Answer]) -> Answer:
    """Run to the end in virtual time. Raises Stuck, and whatever the story raises."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(story)
