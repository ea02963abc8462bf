"""Watches beyond the laws: who is woken, who is too slow, and what a thousand of them cost."""

from __future__ import annotations

import asyncio

import pytest

from dibs.store import opening
from dibs.store.faults import TooOld, TooSlow
from dibs.store.records import Keep, Key
from dibs.store.store import Store


def pod(namespace: str, name: str = "x") -> Key:
    return Key("pods", namespace, name)


async def many(store: Store, count: int, namespace: str = "other") -> None:
    for number in range(count):
        await store.put(pod(namespace, f"p{number % 7}"), b"%d" % number)


def test_iteration_gives_each_event_once() -> None:
    async def work() -> None:
        store = opening.in_memory()
        await many(store, 5)
        watch = store.watch("pods", since=2)
        seen = []
        async for event in watch:
            seen.append(event.revision)
            if event.revision == 4:
                break
        async for event in watch:
            seen.append(event.revision)
            if event.revision == 6:
                break
            await store.put(pod("other"), b"6")
        assert seen == [3, 4, 5, 6]
        await store.close()

    asyncio.run(work())


def test_one_that_waits_misses_nothing_however_much_is_forgotten() -> None:
    async def work() -> None:
        store = opening.in_memory(Keep(10, 0.0))
        waiting = asyncio.create_task(store.watch("pods", "mine").take())
        await asyncio.sleep(0)
        await many(store, 200)
        await store.compact(store.revision)
        assert not waiting.done()
        entry = await store.put(pod("mine"), b"")
        [event] = await waiting
        assert event.after == entry
        await store.close()

    asyncio.run(work())


def test_one_that_is_too_slow_is_told_so() -> None:
    async def work() -> None:
        store = opening.in_memory(Keep(10, 0.0))
        watch = store.watch("pods", since=0)
        await many(store, 5)
        assert len(await watch.take(most=2)) == 2
        await many(store, 200)
        await store.compact(store.revision - 5)
        with pytest.raises(TooSlow, match="revision 2 is no longer kept, the oldest is 200"):
            await watch.take()
        with pytest.raises(TooOld):
            store.watch(since=2)
        assert len(await store.watch(since=200).take()) == 5
        await store.close()

    asyncio.run(work())


def test_time_runs_out_with_a_note_of_progress() -> None:
    async def work() -> None:
        store = opening.in_memory()
        watch = store.watch("claims")
        await many(store, 3)
        assert await watch.take(wait_s=0.001) == []
        assert watch.revision == 3
        waiting = asyncio.create_task(watch.take(wait_s=30))
        await asyncio.sleep(0)
        await many(store, 2)
        # While it waits it is up to date as well.
        assert watch.revision == 5
        waiting.cancel()
        await asyncio.wait([waiting])
        assert watch.revision == 5
        await store.close()

    asyncio.run(work())


def test_two_readers_of_one_watch_are_a_bug() -> None:
    async def work() -> None:
        store = opening.in_memory()
        watch = store.watch()
        first = asyncio.create_task(watch.take())
        await asyncio.sleep(0)
        with pytest.raises(AssertionError):
            await watch.take()
        await store.put(pod("a"), b"")
        assert len(await first) == 1
        await store.close()

    asyncio.run(work())


def test_only_those_concerned_are_woken() -> None:
    """A thousand watches of other namespaces cost a writer nothing."""

    async def work() -> None:
        store = opening.in_memory()
        idle = [
            asyncio.create_task(store.watch("pods", f"n{number}").take()) for number in range(1_000)
        ]
        await asyncio.sleep(0)
        woken = asyncio.create_task(store.watch("pods", "mine").take())
        await asyncio.sleep(0)
        loop = asyncio.get_running_loop()
        before = sum(task.done() for task in idle)
        await store.put(pod("mine"), b"")
        await woken
        assert before == sum(task.done() for task in idle) == 0
        assert len(asyncio.all_tasks(loop)) > 1_000
        await store.put(pod("n7"), b"")
        await asyncio.wait([idle[7]])
        assert sum(task.done() for task in idle) == 1
        await store.close()
        for answer in await asyncio.gather(*idle[:7], *idle[8:], return_exceptions=True):
            assert "closed" in str(answer)

    asyncio.run(work())
