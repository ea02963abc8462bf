"""The store against a history that is simply remembered: both kinds of store, one suite.

The model keeps every write there ever was and replays it for each question. Compaction is the
store's own affair: the model only asks how far it went, and that it went far enough and no further.
"""

from __future__ import annotations

import asyncio
import itertools
import shutil
import sqlite3
import tempfile
from collections.abc import Coroutine, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from dibs.store import opening
from dibs.store.faults import Closed, Conflict, NotWritten, TooNew, TooOld, TooSlow
from dibs.store.records import Check, Delete, Event, Keep, Key, Put, Write
from dibs.store.store import Store
from dibs.store.watching import Watch
from dibs.testing import disk
from dibs.testing.disk import Call
from dibs.values.mistake import Mistake

pytestmark = pytest.mark.slow

# Durability is for the stories; here a disk in memory saves the waiting.
SHM = Path("/dev/shm")

RESOURCES = ("claims", "pods")
NAMESPACES = ("", "a", "a-b")
KEYS = [
    Key(resource, namespace, name)
    for resource, names in (("pods", "xy"), ("claims", "x"))
    for namespace in NAMESPACES
    for name in names
]

keys = st.sampled_from(KEYS)
values = st.binary(max_size=3)
# How the expected revision is found: none, nothing there, as it is, off by one. Most should pass.
expectations = st.sampled_from(
    ("whatever", "whatever", "current", "current", "current", "nothing", "older", "newer")
)
steps = st.tuples(st.sampled_from((Put, Put, Put, Delete, Check)), keys, values, expectations)
plans = st.lists(steps, max_size=4, unique_by=lambda step: step[1])
scopes = st.tuples(
    st.sampled_from((None, *RESOURCES, "unknown")), st.sampled_from((None, *NAMESPACES))
)

# Writes of one batch: four transactions of four.
MOST_WRITES = 16

Result = TypeVar("Result")


@dataclass
class Model:
    """(revision, key, value or None) of every write."""

    writes: list[tuple[int, Key, bytes | None]] = field(default_factory=list)

    @property
    def revision(self) -> int:
        return len(self.writes)

    def at(self, revision: int) -> dict[Key, tuple[bytes, int, int]]:
        """Value, mod_revision, create_revision."""
        stands: dict[Key, tuple[bytes, int, int]] = {}
        for number, key, value in self.writes[:revision]:
            if value is None:
                del stands[key]
            else:
                created = stands[key][2] if key in stands else number
                stands[key] = (value, number, created)
        return stands

    def commit(self, writes: Sequence[Write]) -> int | Key:
        """Return how many revisions it took, or the key that was in conflict."""
        stands = self.at(self.revision)
        new: list[tuple[int, Key, bytes | None]] = []
        for write in writes:
            there = stands[write.key][1] if write.key in stands else 0
            if write.expected is not None and write.expected != there:
                return write.key
            if isinstance(write, Delete) and not there:
                return write.key
            if isinstance(write, Check) and write.expected is None and not there:
                return write.key
            if not isinstance(write, Check):
                number = self.revision + len(new) + 1
                new.append((number, write.key, write.value if isinstance(write, Put) else None))
        self.writes += new
        return len(new)

    def events(self, scope: tuple[str | None, str | None], since: int) -> list[tuple[Any, ...]]:
        resource, namespace = scope
        return [
            (number, key, self.at(number - 1).get(key), self.at(number).get(key))
            for number, key, _ in self.writes[since:]
            if resource in (None, key.resource) and namespace in (None, key.namespace)
        ]


def plain(event: Event) -> tuple[object, ...]:
    before, after = (
        (entry.value, entry.mod_revision, entry.create_revision) if entry else None
        for entry in (event.before, event.after)
    )
    return (event.revision, event.key, before, after)


@dataclass
class Reader:
    watch: Watch
    scope: tuple[str | None, str | None]
    seen: int
    asleep: asyncio.Task[Sequence[Event]] | None = None


class StoreMachine(RuleBasedStateMachine):
    """What is asked of a store in memory; the one below is asked the same, and is reopened."""

    may_refuse = False
    keep = st.sampled_from(
        (Keep(), Keep(3, 0.0), Keep(0, 0.0), Keep(3, 1e9, old_bytes=2000), Keep(30, 0.0))
    )

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.model = Model()
        self.readers: list[Reader] = []
        self.idle: Reader | None = None
        self.oldest = 0
        # How far it was told to forget.
        self.told = 0
        # A second between any two looks at the clock.
        self.clock = itertools.count(0.0, 1.0).__next__

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return self.loop.run_until_complete(work)

    async def opened(self) -> Store:
        return opening.in_memory(self.kept, self.clock)

    @initialize(keep=keep)
    def open(self, keep: Keep) -> None:
        self.kept = keep
        self.store = self.run(self.opened())

    def write(self, step: tuple[type[Write], Key, bytes, str]) -> Write:
        kind, key, value, expectation = step
        entry = self.store.get(key)
        there = entry.mod_revision if entry else 0
        expected = {
            "whatever": None,
            "nothing": 0,
            "current": there,
            "older": max(0, there - 1),
            "newer": there + 1,
        }[expectation]
        return Put(key, value, expected) if kind is Put else kind(key, expected)

    # --- writing ---------------------------------------------------------------------------------

    @rule(plan=st.lists(plans, min_size=1, max_size=4))
    def commit(self, plan: list[list[tuple[type[Write], Key, bytes, str]]]) -> None:
        """Several at once are one batch; they are decided in the order in which they came."""
        asked = [[self.write(step) for step in steps] for steps in plan]

        async def all_at_once() -> list[tuple[Event, ...] | BaseException]:
            commits = (self.store.commit(*writes) for writes in asked)
            return await asyncio.gather(*commits, return_exceptions=True)

        for writes, answer in zip(asked, self.run(all_at_once()), strict=True):
            before = self.model.revision
            if isinstance(answer, NotWritten) and self.may_refuse:
                continue
            wanted = self.model.commit(writes)
            if isinstance(wanted, Key):
                assert isinstance(answer, Conflict), (writes, answer)
                stands = self.model.at(before).get(wanted)
                assert answer.key == wanted
                assert (answer.current.mod_revision if answer.current else None) == (
                    stands[1] if stands else None
                )
            else:
                assert isinstance(answer, tuple), (writes, answer)
                assert [plain(event) for event in answer] == self.model.events((None, None), before)

    @rule(key=keys, value=values, times=st.integers(1, 4))
    def write_again(self, key: Key, value: bytes, times: int) -> None:
        for _ in range(times):
            self.commit([[(Put, key, value, "current")]])

    @rule(share=st.floats(0, 1))
    def compact(self, share: float) -> None:
        revision = round(self.model.revision * share)
        self.told = max(self.told, revision)
        try:
            self.run(self.store.compact(revision))
        except NotWritten:
            assert self.may_refuse
        else:
            assert self.store.oldest >= revision

    # --- reading ---------------------------------------------------------------------------------

    @rule(key=keys)
    def get(self, key: Key) -> None:
        entry = self.store.get(key)
        wanted = self.model.at(self.model.revision).get(key)
        assert wanted == (
            (entry.value, entry.mod_revision, entry.create_revision) if entry else None
        )

    @rule(
        resource=st.sampled_from((*RESOURCES, "unknown")),
        namespace=st.sampled_from((None, *NAMESPACES)),
        limit=st.integers(0, 5),
        back=st.integers(0, 12),
    )
    def page(self, resource: str, namespace: str | None, limit: int, back: int) -> None:
        revision = self.model.revision - back
        if revision < self.store.oldest:
            with pytest.raises(TooOld) as told:
                self.store.page(resource, revision=revision)
            assert told.value.oldest == self.store.oldest
            return
        wanted = [
            (key.place, *stands)
            for key, stands in sorted(self.model.at(revision).items())
            if key.resource == resource and namespace in (None, key.namespace)
        ]
        if not back:
            assert self.store.count(resource, namespace) == len(wanted)
        found: list[tuple[object, ...]] = []
        after = None
        while True:
            page = self.store.page(resource, namespace, limit=limit, after=after, revision=revision)
            assert page.revision == revision
            found += [
                (e.key.place, e.value, e.mod_revision, e.create_revision) for e in page.entries
            ]
            assert page.remaining == len(wanted) - len(found)
            after = page.more
            if after is None:
                break
            assert len(page.entries) == limit
        assert found == wanted

    @rule(ahead=st.integers(1, 3))
    def ask_of_the_future(self, ahead: int) -> None:
        revision = self.store.revision + ahead
        with pytest.raises(TooNew):
            self.store.page("pods", revision=revision)
        with pytest.raises(TooNew):
            self.store.watch(since=revision)

    # --- watching --------------------------------------------------------------------------------

    @rule(scope=scopes, back=st.integers(0, 12))
    def watch(self, scope: tuple[str | None, str | None], back: int) -> None:
        since = self.model.revision - back
        if since < self.store.oldest:
            with pytest.raises(TooOld):
                self.store.watch(*scope, since=since)
        else:
            self.readers.append(Reader(self.store.watch(*scope, since=since), scope, since))

    @rule(which=st.integers(0), most=st.integers(1, 5))
    def take(self, which: int, most: int) -> None:
        awake = [reader for reader in self.readers if not reader.asleep]
        if awake:
            self.read(awake[which % len(awake)], most)

    def read(self, reader: Reader, most: int) -> bool:
        """Is the reader up to date now?"""
        due = self.model.events(reader.scope, reader.seen)
        try:
            found = self.run(reader.watch.take(most=most, wait_s=0))
        except TooSlow:
            # What it has seen is forgotten indeed.
            assert reader.watch.revision < self.store.oldest
            self.readers.remove(reader)
            return False
        assert [plain(event) for event in found] == due[:most]
        reader.seen = found[-1].revision if found else reader.seen
        # Who has all that was asked for doesn't know yet what comes after it.
        is_done = len(due) < most
        least = self.model.revision if is_done else reader.seen
        most_seen = due[most][0] - 1 if len(due) > most else self.model.revision
        assert least <= reader.watch.revision <= most_seen
        return is_done

    @rule(scope=scopes)
    def fall_asleep(self, scope: tuple[str | None, str | None]) -> None:
        """A reader that has seen everything waits until there is something for it."""
        since = self.model.revision
        reader = Reader(self.store.watch(*scope, since=since), scope, since)
        self.readers.append(reader)
        reader.asleep = self.loop.create_task(reader.watch.take())
        self.run(asyncio.sleep(0))
        assert not reader.asleep.done()

    @rule(which=st.integers(0))
    def fall_asleep_again(self, which: int) -> None:
        awake = [reader for reader in self.readers if not reader.asleep]
        if awake:
            reader = awake[which % len(awake)]
            if self.read(reader, most=1000):
                reader.seen = self.model.revision
                reader.asleep = self.loop.create_task(reader.watch.take())
                self.run(asyncio.sleep(0))
                assert not reader.asleep.done()

    @invariant()
    def sleepers_are_woken_by_what_they_want(self) -> None:
        for reader in [reader for reader in self.readers if reader.asleep]:
            assert reader.asleep is not None
            due = self.model.events(reader.scope, reader.seen)
            for _ in range(3):
                self.run(asyncio.sleep(0))
            assert reader.asleep.done() == bool(due)
            if not due:
                assert reader.watch.revision == self.model.revision
                continue
            if isinstance(reader.asleep.exception(), TooSlow):
                self.readers.remove(reader)
                continue
            found = [plain(event) for event in reader.asleep.result()]
            assert found == due[: len(found)]
            assert found
            reader.seen = found[-1][0]  # type: ignore[assignment]
            reader.asleep = None

    @rule(which=st.integers(0))
    def wake_up_for_nothing(self, which: int) -> None:
        """A reader whose client goes away while it waits, and that is read from again."""
        asleep = [reader for reader in self.readers if reader.asleep]
        if asleep:
            reader = asleep[which % len(asleep)]
            assert reader.asleep is not None
            reader.asleep.cancel()
            self.run(asyncio.sleep(0))
            reader.asleep = None

    # --- the past --------------------------------------------------------------------------------

    @invariant()
    def the_kept_past_reads_back(self) -> None:
        """A list at some kept revision, and a watch that was at the brink of it a step ago."""
        if not hasattr(self, "store"):
            return
        store, model = self.store, self.model
        if self.idle is not None:
            reader, self.idle = self.idle, None
            if reader.seen < store.oldest:
                with pytest.raises(TooSlow):
                    self.run(reader.watch.take(wait_s=0))
            else:
                found = self.run(reader.watch.take(wait_s=0))
                assert [plain(event) for event in found] == model.events((None, None), reader.seen)
        self.idle = Reader(store.watch(since=store.oldest), (None, None), store.oldest)
        revision = store.oldest + 7919 * model.revision % (model.revision - store.oldest + 1)
        wanted = {
            key: stands for key, stands in model.at(revision).items() if key.resource == "pods"
        }
        assert wanted == {
            entry.key: (entry.value, entry.mod_revision, entry.create_revision)
            for entry in store.page("pods", revision=revision).entries
        }

    @invariant()
    def keeps_enough_and_not_too_much(self) -> None:
        if not hasattr(self, "store"):
            return
        store = self.store
        assert store.revision == self.model.revision
        assert self.oldest <= store.oldest <= store.revision
        self.oldest = store.oldest
        if self.kept.old_bytes == Keep().old_bytes:
            assert store.oldest <= max(self.told, store.revision - self.kept.revisions)
        if not self.kept.age_s:
            # What the latest batch wrote comes on top, and a tenth waits for company.
            spare = MOST_WRITES + max(1, self.kept.revisions // 10)
            assert store.revision - store.oldest <= self.kept.revisions + spare

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.run(self.store.close())
            for reader in self.readers:
                with pytest.raises(Closed):
                    self.run(reader.asleep or reader.watch.take())  # type: ignore[arg-type]
        self.loop.close()


class SqliteMachine(StoreMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=SHM if SHM.is_dir() else None))

    async def opened(self) -> Store:
        return await opening.in_folder(self.folder / "data", self.kept, self.clock)

    @rule()
    def reopen(self) -> None:
        """What is kept is kept; watches end, and those that come again go on where they were."""
        self.run(self.store.close())
        self.idle = None
        for reader in self.readers:
            with pytest.raises(Closed):
                self.run(reader.asleep or reader.watch.take())  # type: ignore[arg-type]
            reader.asleep = None
        self.store = self.run(self.opened())
        # What was to be forgotten when the disk failed may be forgotten now.
        assert self.store.oldest == self.oldest or self.may_refuse
        assert self.store.oldest >= self.oldest
        self.told = max(self.told, self.store.oldest)
        self.oldest = self.store.oldest
        self.readers = [reader for reader in self.readers if reader.seen >= self.oldest]
        for reader in self.readers:
            reader.watch = self.store.watch(*reader.scope, since=reader.seen)

    def teardown(self) -> None:
        super().teardown()
        shutil.rmtree(self.folder)


class FailingDiskMachine(SqliteMachine):
    """The disk fails now and then, for a call or a few: what it refuses is told, and not there."""

    may_refuse = True

    def __init__(self) -> None:
        super().__init__()
        self.disk = ExitStack()
        self.good, self.bad = 0, 0
        self.disk.enter_context(disk.installed(self.judge, torn=True))

    def judge(self, call: Call) -> int:
        if self.good:
            self.good -= 1
        elif self.bad:
            self.bad -= 1
            return disk.FAILURES[call.kind][-1]
        return sqlite3.SQLITE_OK

    @rule(good=st.integers(0, 6), bad=st.integers(1, 6))
    def fail(self, good: int, bad: int) -> None:
        self.good, self.bad = good, bad

    @rule(good=st.integers(0, 6), bad=st.integers(1, 6))
    def fail_while_opening(self, good: int, bad: int) -> None:
        self.reopen_when(good, bad)

    @rule()
    def reopen(self) -> None:
        self.reopen_when(0, 0)

    def reopen_when(self, good: int, bad: int) -> None:
        # A disk that takes nothing until the end may keep what it refused: not this one.
        self.good = self.bad = 0
        self.run(self.store.close())
        self.good, self.bad = good, bad
        try:
            store = self.run(self.opened())
        except Mistake:
            self.good = self.bad = 0
        else:
            self.run(store.close())
        super().reopen()

    def teardown(self) -> None:
        self.good = self.bad = 0
        super().teardown()
        self.disk.close()


TestStoreInMemory = StoreMachine.TestCase
TestStoreInSqlite = SqliteMachine.TestCase
TestStoreOnFailingDisk = pytest.mark.skipif(not disk.is_reachable(), reason="no such SQLite")(
    FailingDiskMachine.TestCase
)
TestStoreInMemory.settings = settings(stateful_step_count=40)
TestStoreInSqlite.settings = settings(stateful_step_count=40)
TestStoreOnFailingDisk.settings = settings(stateful_step_count=40)
