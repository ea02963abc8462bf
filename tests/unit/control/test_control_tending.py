"""Tending: one call a key at a time, again after failures, none forgotten."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest

from dibs.client.cluster import Conflict, Forbidden, Ref
from dibs.control.tending import Tending
from dibs.model import kinds
from dibs.model.core import Node
from dibs.model.kinds import Known
from dibs.model.meta import ObjectMeta

NODES = next(kind for kind in kinds.KINDS if kind.name == "Node")
A, B = Ref(NODES, "", "a"), Ref(NODES, "", "b")


@dataclass
class Recorder:
    """Fails as often as told, and counts."""

    failures: int = 0
    fault: Exception = field(default_factory=lambda: Conflict("the world moved"))
    again_s: float | None = None
    calls: Counter[Ref] = field(default_factory=Counter)
    at_once: int = 0
    most_at_once: int = 0
    name: str = "recorder"

    def concerned(self, before: Known | None, after: Known | None) -> Iterable[Ref]:
        for item in (before, after):
            if item is not None:
                yield Ref.to(item)

    async def tend(self, ref: Ref) -> float | None:
        self.calls[ref] += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        if self.calls[ref] <= self.failures:
            raise self.fault
        return self.again_s


def run(tending: Tending[Known, Ref], seconds: float, *wanted: Ref) -> None:
    async def story() -> None:
        task = asyncio.create_task(tending.run())
        for ref in wanted:
            tending.want(ref)
        await asyncio.sleep(seconds)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(story())


def test_a_key_wanted_many_times_is_tended_once() -> None:
    loop = Recorder()
    run(Tending(loop), 0.01, A, A, A, B)
    assert loop.calls == {A: 1, B: 1}


def test_a_key_is_never_tended_twice_at_once() -> None:
    loop = Recorder()
    tending = Tending(loop, workers=4)

    async def story() -> None:
        task = asyncio.create_task(tending.run())
        for _ in range(50):
            tending.want(A)
            await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        assert tending.is_idle
        task.cancel()

    asyncio.run(story())
    assert loop.most_at_once == 1
    assert loop.calls[A] > 1


def test_a_change_during_a_call_is_not_lost() -> None:
    loop = Recorder()
    tending = Tending(loop)

    async def story() -> None:
        task = asyncio.create_task(tending.run())
        tending.want(A)
        while not loop.at_once:
            await asyncio.sleep(0)
        tending.changed(None, Node(metadata=ObjectMeta(name="a")))
        await asyncio.sleep(0.01)
        task.cancel()

    asyncio.run(story())
    assert loop.calls[A] == 2


def test_what_fails_comes_again() -> None:
    loop = Recorder(failures=2)
    run(Tending(loop), 0.08, A)
    assert loop.calls[A] == 3


def test_one_bug_stops_nobody_else(caplog: pytest.LogCaptureFixture) -> None:
    loop = Recorder(failures=1, fault=ValueError("a bug"))
    run(Tending(loop), 0.02, A, B)
    assert loop.calls == {A: 1, B: 1}
    assert "ValueError: a bug" in caplog.text


def test_what_is_forbidden_is_told_and_waits(caplog: pytest.LogCaptureFixture) -> None:
    loop = Recorder(failures=9, fault=Forbidden("quota is used up"))
    run(Tending(loop), 0.02, A)
    assert loop.calls[A] == 1
    assert "recorder: Node a: quota is used up" in caplog.text


def test_a_loop_may_ask_to_look_again() -> None:
    loop = Recorder(again_s=0.01)
    run(Tending(loop), 0.05, A)
    assert loop.calls[A] >= 2
