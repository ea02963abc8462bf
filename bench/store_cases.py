"""The store: what a durable write takes, alone and in company, and what a list and a watch take."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from bench import clock
from bench.case import Bench, Case, Ours, Task
from bench.clock import Took
from dibs.store import opening
from dibs.store.records import Keep, Key
from dibs.store.store import Store

# A slice of eight devices, as JSON.
VALUE = b"x" * 3_000
WRITERS, EACH = 64, 16
LISTED = 10_000

Result = TypeVar("Result")


def alone(bench: Bench) -> Ours:
    """One writer after the other: what the disk takes."""
    return Ours(_written(bench.folder / "alone", bench, writers=1, each=64))


def in_company(bench: Bench) -> Ours:
    return Ours(_written(bench.folder / "company", bench, writers=WRITERS, each=EACH))


def _written(folder: Path, bench: Bench, writers: int, each: int) -> Took:
    numbers = itertools.count()

    async def write(store: Store) -> None:
        for _ in range(each):
            await store.put(Key("resourceslices", "", f"slice-{next(numbers):07}"), VALUE, 0)

    async def together(store: Store) -> None:
        await asyncio.gather(*(write(store) for _ in range(writers)))

    with asyncio.Runner() as runner:
        store = runner.run(opening.in_folder(folder, Keep(revisions=1000, age_s=0)))
        took = clock.sampled(lambda: runner.run(together(store)), bench.runs)
        runner.run(store.close())
    return _one_of(took, writers * each)


def _one_of(took: Took, count: int) -> Took:
    assert took.cpu_s is not None
    return Took(took.clock_s / count, took.cpu_s / count, took.n)


def whole_list(bench: Bench) -> Task:
    store, _ = _run(_full())
    return lambda: store.page("resourceslices")


def paged_list(bench: Bench) -> Task:
    """At a revision that a few hundred writes have passed since."""
    store, revision = _run(_full())

    def task() -> None:
        after, count = None, 0
        while True:
            page = store.page("resourceslices", limit=500, after=after, revision=revision)
            count += len(page.entries)
            after = page.more
            if after is None:
                break
        assert count == LISTED

    return task


def opened(bench: Bench) -> Ours:
    folder = bench.folder / "opened"

    async def fill() -> None:
        store = await opening.in_folder(folder)
        await asyncio.gather(*(_write(store, f"slice-{part}-", LISTED // 10) for part in range(10)))
        await store.close()

    async def task() -> None:
        store = await opening.in_folder(folder)
        assert store.count("resourceslices") == LISTED
        await store.close()

    _run(fill())
    return Ours(clock.sampled(lambda: _run(task()), bench.runs))


def watched(watches: int) -> Callable[[Bench], Ours]:
    """Events to that many watches of one resource, from the write to the last that has it."""

    def measure(bench: Bench) -> Ours:
        async def read(store: Store, watch_of: int) -> None:
            watch = store.watch("resourceslices", since=watch_of)
            seen = 0
            while seen < EACH:
                seen += len(await watch.take())

        async def task() -> None:
            store = opening.in_memory()
            readers = [asyncio.create_task(read(store, 0)) for _ in range(watches)]
            await asyncio.sleep(0)
            await _write(store, "slice-", EACH)
            await asyncio.gather(*readers)
            await store.close()

        took = clock.sampled(lambda: _run(task()), bench.runs)
        return Ours(_one_of(took, watches * EACH))

    return measure


async def _full() -> tuple[Store, int]:
    """Closed it can still be read, and nothing moves in it; the revision is of the full list."""
    store = opening.in_memory()
    await _write(store, "slice-", LISTED)
    revision = store.revision
    await _write(store, "slice-", 300)
    await store.close()
    return store, revision


async def _write(store: Store, prefix: str, count: int) -> None:
    for number in range(count):
        await store.put(Key("resourceslices", "", f"{prefix}{number:05}"), VALUE)


def _run(work: Coroutine[Any, Any, Result]) -> Result:
    with asyncio.Runner() as runner:
        return runner.run(work)


CASES = (
    Case(
        "store-write-alone",
        "store",
        "µs",
        "one durable write of 3 kB, one writer: what the disk takes to sync",
        measure=alone,
    ),
    Case(
        "store-write-in-company",
        "store",
        "µs",
        f"the same, of {WRITERS} writers at once: a sync is shared",
        measure=in_company,
    ),
    Case(
        "store-list",
        "store",
        "ms",
        "10,000 entries in one page",
        prepare=whole_list,
        goal=50,
    ),
    Case(
        "store-list-paged",
        "store",
        "ms",
        "the same in pages of 500, at a revision since which 300 of them have changed",
        prepare=paged_list,
        goal=50,
    ),
    Case(
        "store-open",
        "store",
        "ms",
        "opening and closing a file with 10,000 entries of 3 kB, checked and read whole",
        measure=opened,
    ),
    Case(
        "store-watch-500",
        "store",
        "µs",
        "handing one event to one of 500 watches that wait for it",
        measure=watched(500),
    ),
)
