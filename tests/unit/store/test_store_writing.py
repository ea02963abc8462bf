"""Batches: what one transaction meets must not touch another, nor a store that comes to its end."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from dibs.store import opening
from dibs.store.faults import Closed, Conflict, NotWritten, TooNew
from dibs.store.journal import SqliteJournal
from dibs.store.records import Check, Delete, Event, Keep, Key, Put
from dibs.store.state import State
from dibs.store.store import MOST_TRANSACTIONS, Store

A, B, C = (Key("pods", "default", name) for name in "abc")


@dataclass
class Notebook:
    """A journal that notes its batches, and refuses those in which somebody writes `poison`."""

    poison: bytes = b"poison"
    batches: list[list[int]] = field(default_factory=list)

    def append(self, events: Sequence[Event], gone: Sequence[int], compacted: int) -> None:
        assert not any(event.after and event.after.value == b"bug" for event in events)
        if any(event.after and event.after.value == self.poison for event in events):
            raise NotWritten("no")
        self.batches.append([event.revision for event in events])

    def close(self) -> None:
        self.batches.append([])


def store_on(notebook: Notebook) -> Store:
    return Store(State(), notebook, Keep(), lambda: 0.0)


async def answers(store: Store, *puts: Put) -> list[object]:
    told = await asyncio.gather(*(store.commit(put) for put in puts), return_exceptions=True)
    return [each[0].revision if isinstance(each, tuple) else type(each) for each in told]


def test_what_comes_together_is_written_together() -> None:
    async def work() -> None:
        notebook = Notebook()
        store = store_on(notebook)
        assert await answers(store, Put(A, b"1"), Put(B, b"2"), Put(C, b"3")) == [1, 2, 3]
        await store.close()
        assert notebook.batches == [[1, 2, 3], []]

    asyncio.run(work())


def test_a_batch_is_bounded() -> None:
    async def work() -> None:
        notebook = Notebook()
        store = store_on(notebook)
        await answers(store, *(Put(A, b"") for _ in range(MOST_TRANSACTIONS + 1)))
        large = bytes(5 * 2**20)
        await answers(store, *(Put(A, large) for _ in range(3)))
        await store.close()
        assert [len(batch) for batch in notebook.batches] == [MOST_TRANSACTIONS, 1, 2, 1, 0]

    asyncio.run(work())


def test_one_that_is_refused_harms_no_other() -> None:
    async def work() -> None:
        notebook = Notebook()
        store = store_on(notebook)
        watch = store.watch()
        told = await answers(
            store,
            Put(A, b"1", 0),
            Put(B, b"poison", 0),
            # In conflict with the refused one, if that were there.
            Put(B, b"2", 0),
            Put(A, b"3", 0),
        )
        assert told == [1, NotWritten, 2, Conflict]
        assert [event.revision for event in await watch.take()] == [1, 2]
        assert await answers(store, Put(C, b"poison")) == [NotWritten]
        assert await answers(store, Put(C, b"4")) == [3]
        await store.close()

    asyncio.run(work())


def test_nothing_is_seen_before_it_is_durable() -> None:
    async def work() -> None:
        store = store_on(Notebook())
        watch = store.watch()
        writing = asyncio.create_task(store.put(A, b"1"))
        await asyncio.sleep(0)
        assert (store.revision, store.get(A)) == (0, None)
        entry = await writing
        assert store.get(A) == entry
        assert (await watch.take())[0].after == entry
        await store.close()

    asyncio.run(work())


def test_a_transaction_is_all_or_nothing() -> None:
    async def work() -> None:
        store = opening.in_memory()
        first = await store.put(A, b"1")
        with pytest.raises(Conflict) as told:
            await store.commit(Put(B, b"2"), Delete(A, first.mod_revision + 1), Put(C, b"3"))
        assert (told.value.key, told.value.current) == (A, first)
        assert "revision 1 stands there, revision 2 was expected" in str(told.value)
        assert store.count("pods") == 1
        assert await store.commit(Check(A, 1), Check(B, 0)) == ()
        assert await store.commit() == ()
        changed, gone = await store.commit(Put(B, b"2"), Delete(A, 1))
        assert (changed.before, gone.before, gone.after) == (None, first, None)
        for missing in (Delete(A), Check(A), Delete(A, 0), Check(B, 0)):
            with pytest.raises(Conflict):
                await store.commit(missing)
        assert store.revision == 3
        await store.close()

    asyncio.run(work())


def test_one_that_is_given_up_in_time_is_not_written() -> None:
    async def work() -> None:
        store = store_on(Notebook())
        under_way = asyncio.create_task(store.put(A, b"1"))
        await asyncio.sleep(0.01)
        early = asyncio.create_task(store.put(B, b"2"))
        late = asyncio.create_task(store.put(C, b"3"))
        await asyncio.sleep(0)
        early.cancel()
        await asyncio.gather(under_way, early, late, return_exceptions=True)
        assert early.cancelled()
        assert store.get(B) is None
        assert late.result().mod_revision == 2
        await store.close()

    asyncio.run(work())


def test_closing_writes_what_was_asked_for() -> None:
    async def work() -> None:
        notebook = Notebook()
        store = store_on(notebook)
        asked = asyncio.create_task(store.put(A, b"1"))
        waiting = asyncio.create_task(store.watch("claims").take())
        await asyncio.sleep(0)
        watch = store.watch("claims")
        await store.close()
        assert (await asked).mod_revision == 1
        assert notebook.batches == [[1], []]
        with pytest.raises(Closed):
            await store.put(B, b"2")
        with pytest.raises(Closed):
            await watch.take()
        with pytest.raises(Closed):
            await waiting
        # What is there can still be read.
        assert store.get(A)
        await store.close()

    asyncio.run(work())


def test_a_bug_leaves_nobody_waiting() -> None:
    async def work() -> None:
        store = store_on(Notebook())
        watching = asyncio.create_task(store.watch().take())
        with pytest.raises(Closed):
            await store.put(A, b"bug")
        with pytest.raises(Closed):
            await store.put(A, b"1")
        with pytest.raises(Closed):
            await watching
        with pytest.raises(AssertionError):
            await store.ended()
        with pytest.raises(AssertionError):
            await store.close()

    asyncio.run(work())


def test_keys_that_are_no_names_are_a_bug_of_the_caller() -> None:
    async def work() -> None:
        store = opening.in_memory()
        for name in ("\ud800", "a\0b", "a\nb"):
            with pytest.raises(AssertionError):
                await store.put(Key("pods", "default", name), b"")
        with pytest.raises(AssertionError):
            await store.commit(Put(A, b""), Delete(A))
        with pytest.raises(TooNew):
            await store.compact(1)
        await store.put(A, b"")
        await store.close()

    asyncio.run(work())


def test_a_value_too_large_for_sqlite(tmp_path: Path) -> None:
    """It leaves a transaction open, in which nothing else may be written."""

    async def work() -> None:
        journal, _ = SqliteJournal.open(tmp_path)
        store = Store(State(), journal, Keep(), lambda: 0.0)
        assert journal._connection
        journal._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 5_000)
        assert await answers(store, Put(A, bytes(6_000))) == [NotWritten]
        # The limit went with the connection: it was opened anew.
        assert await answers(store, Put(A, bytes(6_000))) == [1]
        await store.close()

    asyncio.run(work())
