"""How much of the past is kept, by number, age and size; no clock decides more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from dibs.store import opening
from dibs.store.records import Keep, Key
from dibs.store.store import Store


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


async def writes(store: Store, count: int, size: int = 1) -> None:
    for number in range(count):
        await store.put(Key("pods", "", f"p{number % 10}"), bytes(size))


def after(keep: Keep, work: Callable[[Store, Clock], object]) -> int:
    async def run() -> int:
        clock = Clock()
        store = opening.in_memory(keep, clock)
        await work(store, clock)  # type: ignore[misc]
        await store.close()
        return store.revision - store.oldest

    return asyncio.run(run())


def test_the_young_are_kept_whatever_their_number() -> None:
    async def work(store: Store, clock: Clock) -> None:
        await writes(store, 200)

    assert after(Keep(revisions=10, age_s=60), work) == 200


def test_the_old_are_kept_up_to_a_number() -> None:
    async def work(store: Store, clock: Clock) -> None:
        await writes(store, 200)
        clock.now += 61
        await writes(store, 1)

    assert after(Keep(revisions=10, age_s=60), work) == 11
    assert after(Keep(revisions=1000, age_s=60), work) == 201


def test_what_was_written_since_is_kept() -> None:
    async def work(store: Store, clock: Clock) -> None:
        for _ in range(10):
            await writes(store, 50)
            clock.now += 10

    # The last batch found revisions older than 60 s, and the three rounds before that were not.
    assert 300 <= after(Keep(revisions=10, age_s=60), work) <= 400


def test_large_values_are_not_kept_for_long() -> None:
    async def work(store: Store, clock: Clock) -> None:
        await writes(store, 200, size=100_000)

    # Ten values stand; of those replaced some ten fit.
    assert 8 <= after(Keep(old_bytes=1_000_000), work) <= 20


@pytest.mark.slow
def test_a_long_past_goes_in_steps() -> None:
    async def work(store: Store, clock: Clock) -> None:
        for _ in range(50):
            await asyncio.gather(*(writes(store, 10) for _ in range(10)))
        clock.now += 1000
        await writes(store, 1)

    assert after(Keep(revisions=100), work) == 5_001 - 2_000


def test_the_clock_goes_back(tmp_path: Path) -> None:
    """It steers only how long things are kept: order is by revision alone."""

    async def work() -> None:
        clock = Clock()
        store = await opening.in_folder(tmp_path, Keep(revisions=5, age_s=60), clock)
        await writes(store, 20)
        clock.now -= 900
        await writes(store, 20)
        watch = store.watch(since=0)
        assert [event.revision for event in await watch.take()] == list(range(1, 41))
        await store.close()
        clock.now -= 900
        store = await opening.in_folder(tmp_path, Keep(revisions=5, age_s=60), clock)
        entry = await store.put(Key("pods", "", "p0"), b"")
        assert entry.mod_revision == 41
        clock.now += 61
        await writes(store, 1)
        assert store.oldest == 41 - 5
        await store.close()

    asyncio.run(work())
