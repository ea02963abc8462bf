"""Each call that changes a file fails once, and the power goes before each: nothing is lost.

A transaction that was acknowledged is there afterwards; one that was called not written is not; of
one that had no answer yet all is there, or nothing.
"""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from dibs.store import opening
from dibs.store.faults import Conflict, NotWritten
from dibs.store.records import Delete, Event, Key, Put, Write
from dibs.store.store import Store
from dibs.testing import disk
from dibs.testing.disk import Call, Judge
from dibs.values.mistake import Mistake

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not disk.is_reachable(), reason="SQLite is built into this Python"),
]

SHM = Path("/dev/shm")


def pod(name: str) -> Key:
    return Key("pods", "default", name)


# Two runs of the process; the second starts on what the first left.
RUNS: list[list[tuple[Write, ...]]] = [
    [
        (Put(pod("a"), b"a" * 500),),
        (Put(pod("b"), b"b" * 30_000), Put(pod("c"), b"c"), Delete(pod("a"))),
        (Put(pod("c"), b"d" * 9_000),),
    ],
    [
        (Put(pod("d"), b"d"), Put(pod("e"), b"e" * 20_000)),
        (Delete(pod("b")),),
        (Put(pod("a"), b"again"), Put(pod("d"), b"f" * 10)),
    ],
]


@dataclass
class Told:
    """What the writer knows: the transactions by their answer, and the one that has none yet."""

    acknowledged: list[tuple[Write, ...]] = field(default_factory=list)
    refused: list[tuple[Write, ...]] = field(default_factory=list)
    under_way: tuple[Write, ...] | None = None

    def known(self) -> Told:
        return Told(list(self.acknowledged), list(self.refused), self.under_way)


async def run(folder: Path, told: Told) -> None:
    """Every transaction once, over two openings, and at the end of each until the disk takes one.

    (What a disk refused may be found on it if it takes nothing more until the process ends.)
    """
    for transactions in RUNS:
        try:
            store = await opening.in_folder(folder)
        except Mistake:
            store = await opening.in_folder(folder)
        for writes in transactions:
            taken = await commit(store, writes, told)
        for _ in range(30):
            if taken:
                break
            taken = await commit(store, (Put(pod("last"), b"last"),), told)
        assert taken
        await store.close()


async def commit(store: Store, writes: tuple[Write, ...], told: Told) -> bool:
    told.under_way = writes
    try:
        await store.commit(*writes)
    except (NotWritten, Conflict):
        # A conflict: with what was refused before.
        told.refused.append(writes)
        return False
    else:
        told.acknowledged.append(writes)
        return True
    finally:
        told.under_way = None


async def history(folder: Path) -> list[Event]:
    store = await opening.in_folder(folder)
    events = list(await store.watch(since=0).take(wait_s=0)) if store.revision else []
    for event in events:
        latest = [each for each in events if each.key == event.key][-1]
        assert store.get(event.key) == latest.after
    await store.close()
    return events


def written(events: list[Event]) -> list[tuple[Key, bytes | None]]:
    return [(event.key, event.after.value if event.after else None) for event in events]


def wanted(transactions: list[tuple[Write, ...]]) -> list[tuple[Key, bytes | None]]:
    return [
        (write.key, write.value if isinstance(write, Put) else None)
        for writes in transactions
        for write in writes
    ]


@pytest.fixture
def place() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(dir=SHM if SHM.is_dir() else None))
    yield folder
    shutil.rmtree(folder)


def calls_of_a_run(folder: Path) -> list[Call]:
    with disk.installed(lambda call: sqlite3.SQLITE_OK) as seen:
        asyncio.run(run(folder, Told()))
    return seen.calls


def test_the_disk_sees_what_changes_files(place: Path) -> None:
    kinds = {(call.kind, call.path.name) for call in calls_of_a_run(place / "data")}
    for name in ("store.db", "store.db-wal"):
        assert ("write", name) in kinds
        assert ("sync", name) in kinds


def failing_at(number: int, code: int) -> Judge:
    return lambda call: code if call.number == number else sqlite3.SQLITE_OK


@pytest.mark.parametrize("torn", [False, True])
def test_each_call_fails_once(place: Path, torn: bool) -> None:
    calls = calls_of_a_run(place / "none")
    refusals = 0
    for number, failing in enumerate(calls):
        for code in disk.FAILURES[failing.kind]:
            folder = place / f"{number}-{code}"
            told = Told()
            with disk.installed(failing_at(number, code), torn=torn):
                asyncio.run(run(folder, told))
            found = written(asyncio.run(history(folder)))
            assert found == wanted(told.acknowledged), (failing, code, told.refused)
            refusals += len(told.refused)
            shutil.rmtree(folder)
    assert refusals > len(calls) / 4


@pytest.mark.parametrize("length", [2, 5, 20])
def test_all_calls_fail_for_a_while(place: Path, length: int) -> None:
    """Also those with which the file is opened again after the first failure."""
    calls = calls_of_a_run(place / "none")
    opened = next(call.number for call in calls if call.path.name == "store.db-wal")
    for number in range(opened, len(calls)):
        folder = place / f"{number}"
        told = Told()

        def judge(call: Call, since: int = number) -> int:
            failing = since <= call.number < since + length
            return disk.FAILURES[call.kind][-1] if failing else sqlite3.SQLITE_OK

        with disk.installed(judge):
            asyncio.run(run(folder, told))
        found = written(asyncio.run(history(folder)))
        assert found == wanted(told.acknowledged), (calls[number], told.refused)
        shutil.rmtree(folder)


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_the_power_goes_before_each_call(place: Path, seed: int | None) -> None:
    """Without a seed it is the process that is killed: what it wrote stays, synced or not."""
    folder = place / "data"
    told = Told()
    lost = Random(seed) if seed is not None else None
    left: list[tuple[Path, Call, Told]] = []

    def copied(call: Call) -> int:
        copy = place / f"copy-{call.number}"
        seen.copy(folder, copy, lost)
        left.append((copy, call, told.known()))
        return sqlite3.SQLITE_OK

    with disk.installed(copied) as seen:
        asyncio.run(run(folder, told))
    assert len(left) > 40
    whole = 0
    for copy, call, known in left:
        found = written(asyncio.run(history(copy)))
        least = wanted(known.acknowledged)
        most = wanted([*known.acknowledged, known.under_way]) if known.under_way else least
        assert found in (least, most), call
        whole += found != least
    # Some that had no answer yet are there, some not.
    assert 0 < whole < len(left)


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_the_power_goes_while_the_log_is_copied(place: Path, seed: int | None) -> None:
    """SQLite copies its log into the file when it has a thousand pages, and begins it anew."""
    folder = place / "data"
    lost = Random(seed) if seed is not None else None
    left: list[tuple[Path, int]] = []
    acknowledged = 0
    latest = ""

    def copied(call: Call) -> int:
        nonlocal latest
        name, latest = latest, call.path.name
        is_turn = latest != name or call.kind == "sync"
        if "store.db" in (name, latest) and (is_turn or call.number % 200 == 0):
            copy = place / f"copy-{call.number}"
            seen.copy(folder, copy, lost)
            left.append((copy, acknowledged))
        return sqlite3.SQLITE_OK

    async def work() -> None:
        nonlocal acknowledged
        store = await opening.in_folder(folder)
        for number in range(40):
            await store.put(pod(f"p{number % 5}"), b"%d" % number * 200_000)
            acknowledged = store.revision
        await store.close()

    with disk.installed(copied) as seen:
        asyncio.run(work())
    within = [known for _, known in left if 0 < known < 40]
    assert len(within) > 5, "no copying amid the writes"
    for copy, known in left:
        events = asyncio.run(history(copy))
        assert len(events) in (known, known + 1)
        for number, event in enumerate(events):
            assert event.after
            assert event.after.value == b"%d" % number * 200_000
        shutil.rmtree(copy)
