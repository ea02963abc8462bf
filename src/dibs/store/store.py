"""The store: reads from memory, at once; writes one batch after the other, durable before seen.

While one batch is on its way to the disk the next one gathers: group commit. A batch that the disk
refuses is tried again transaction by transaction, so that one that is too large harms no other.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

from dibs.store import keeping, transactions
from dibs.store.faults import Closed, Conflict, NotWritten
from dibs.store.keeping import Past
from dibs.store.records import Delete, Entry, Event, Keep, Key, Page, Place, Put, Write
from dibs.store.state import State
from dibs.store.watching import Sleepers, Watch

# What one batch takes at most: it bounds how long a writer waits, and how much is tried again.
MOST_TRANSACTIONS = 256
MOST_BYTES = 8 * 2**20


class Journal(Protocol):
    """Where batches are made durable; called from one thread, one call at a time."""

    def append(self, events: Sequence[Event], gone: Sequence[int], compacted: int) -> None:
        """Write these events, drop the rows of revisions `gone`: all or nothing.

        Returns once it is durable. Raises NotWritten, and then nothing of it is there.
        """

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """A transaction that waits for its answer."""

    writes: tuple[Write, ...]
    answer: asyncio.Future[tuple[Event, ...]]


@dataclass(slots=True)
class _Batch:
    """What a few transactions would write, and what each will be told once it is written."""

    revision: int
    events: list[Event] = field(default_factory=list)
    stands: dict[Key, Entry | None] = field(default_factory=dict)
    answers: list[tuple[_Asked, tuple[Event, ...] | Conflict]] = field(default_factory=list)

    def add(self, asked: _Asked, state: State) -> None:
        def stands(key: Key) -> Entry | None:
            return self.stands[key] if key in self.stands else state.get(key)

        try:
            events = transactions.events(asked.writes, stands, self.revision)
        except Conflict as conflict:
            self.answers.append((asked, conflict))
            return
        self.answers.append((asked, events))
        self.events += events
        self.stands.update((event.key, event.after) for event in events)
        self.revision += len(events)


class Store:
    """Made by `opening`; see the package for what may be counted on.

    Without a journal all is lost with the process. `clock` gives seconds that only go forward.
    """

    def __init__(
        self, state: State, journal: Journal | None, keep: Keep, clock: Callable[[], float]
    ) -> None:
        self._state = state
        self._journal = journal
        self._clock = clock
        self._past = Past(keep)
        self._past.mark(clock(), state.revision)
        self._asked_horizon = state.compacted
        self._sleepers = Sleepers()
        self._queue: deque[_Asked] = deque()
        self._under_way: Sequence[_Asked] = ()
        self._wanted = asyncio.Event()
        self._closing = False
        self._thread = ThreadPoolExecutor(1, "dibs-store") if journal else None
        self._writer = asyncio.get_running_loop().create_task(self._write(), name="dibs-store")
        self._writer.add_done_callback(lambda _: self._ended())

    # --- reading ---------------------------------------------------------------------------------

    @property
    def revision(self) -> int:
        """The current revision; 0 before the first write."""
        return self._state.revision

    @property
    def oldest(self) -> int:
        """The oldest revision that can still be listed, or watched from."""
        return self._state.compacted

    def get(self, key: Key) -> Entry | None:
        return self._state.get(key)

    def page(
        self,
        resource: str,
        namespace: str | None = None,
        *,
        limit: int = 0,
        after: Place | None = None,
        revision: int | None = None,
    ) -> Page:
        """Return entries by namespace and name; all namespaces without one, all without a limit.

        Raises TooOld or TooNew when `revision` isn't kept, or hasn't come.
        """
        return self._state.page(resource, namespace, limit, after, revision)

    def count(self, resource: str, namespace: str | None = None) -> int:
        return self._state.count(resource, namespace)

    def watch(
        self, resource: str | None = None, namespace: str | None = None, *, since: int | None = None
    ) -> Watch:
        """Watch what comes after revision `since`, by default from now on. None is any.

        Raises TooOld or TooNew, at once.
        """
        if since is None:
            since = self._state.revision
        self._state.check(since)
        return Watch(self._state, self._sleepers, (resource, namespace), since)

    # --- writing ---------------------------------------------------------------------------------

    async def put(self, key: Key, value: bytes, expected: int | None = None) -> Entry:
        """Write one value. Raises as `commit`."""
        [event] = await self.commit(Put(key, value, expected))
        assert event.after is not None
        return event.after

    async def delete(self, key: Key, expected: int | None = None) -> Entry:
        """Remove one entry, and return it. Raises as `commit`; Conflict if there is none."""
        [event] = await self.commit(Delete(key, expected))
        assert event.before is not None
        return event.before

    async def commit(self, *writes: Write) -> tuple[Event, ...]:
        """Write all of these or none, each key once; return once durable, one event a write.

        Raises Conflict, NotWritten, Closed. Whoever is cancelled meanwhile doesn't know.
        """
        assert len({write.key for write in writes}) == len(writes), "a key is written twice"
        assert all(_is_text(write.key) for write in writes), writes
        if self._closing:
            raise Closed("the store is closed")
        asked = _Asked(writes, asyncio.get_running_loop().create_future())
        self._queue.append(asked)
        self._wanted.set()
        return await asked.answer

    async def compact(self, revision: int) -> None:
        """Forget the past up to `revision`, whatever Keep says. Raises TooNew and as `commit`."""
        if revision > self._state.revision:
            self._state.check(revision)
        self._asked_horizon = max(self._asked_horizon, revision)
        while self._state.compacted < revision:
            await self.commit()

    async def close(self) -> None:
        """Write what was asked for, then end watches and let go of the file."""
        self._closing = True
        self._wanted.set()
        await asyncio.wait([self._writer])
        if self._thread and self._journal:
            thread, self._thread = self._thread, None
            await asyncio.get_running_loop().run_in_executor(thread, self._journal.close)
            thread.shutdown()
        self._writer.result()

    async def ended(self) -> None:
        """Wait until the store takes no more writes. Raises the bug, if one ended it."""
        await asyncio.wait([self._writer])
        self._writer.result()

    # --- the writer ------------------------------------------------------------------------------

    async def _write(self) -> None:
        while True:
            await self._wanted.wait()
            chosen = self._next()
            if not chosen:
                if self._closing:
                    return
                self._wanted.clear()
                continue
            self._under_way = chosen
            await self._settle(chosen)

    def _next(self) -> list[_Asked]:
        chosen: list[_Asked] = []
        size = 0
        while self._queue and len(chosen) < MOST_TRANSACTIONS and size < MOST_BYTES:
            asked = self._queue.popleft()
            # Nobody waits for it any more, and nobody has seen it: let it be.
            if not asked.answer.done():
                chosen.append(asked)
                size += sum(len(each.value) for each in asked.writes if isinstance(each, Put))
        return chosen

    async def _settle(self, chosen: Sequence[_Asked]) -> None:
        refusal = await self._try(chosen)
        if refusal is None:
            return
        if len(chosen) == 1:
            _tell(chosen[0], refusal)
            return
        for asked in chosen:
            if alone := await self._try([asked]):
                _tell(asked, alone)

    async def _try(self, chosen: Sequence[_Asked]) -> NotWritten | None:
        """Write these and answer them; or return why the disk took none."""
        state = self._state
        batch = _Batch(state.revision)
        for asked in chosen:
            batch.add(asked, state)
        horizon = self._horizon()
        forgotten = state.events[: horizon - state.compacted]
        if batch.events or forgotten:
            gone = keeping.rows_gone(forgotten)
            try:
                await self._append(batch.events, gone, horizon)
            except NotWritten as refusal:
                return refusal
        state.forget(horizon)
        for event in batch.events:
            state.apply(event)
        self._past.mark(self._clock(), state.revision)
        for asked, answer in batch.answers:
            _tell(asked, answer)
        self._sleepers.wake(batch.events)
        return None

    def _horizon(self) -> int:
        wanted = min(self._asked_horizon, self._state.compacted + keeping.STEP)
        return max(wanted, self._past.horizon(self._state, self._clock()))

    async def _append(self, events: list[Event], gone: list[int], horizon: int) -> None:
        if self._journal and self._thread:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._thread, self._journal.append, events, gone, horizon)

    def _ended(self) -> None:
        """The writer is done, or fell over a bug that `close` will raise: nobody may wait on."""
        self._closing = True
        self._sleepers.close()
        for asked in (*self._under_way, *self._queue):
            _tell(asked, Closed("the store is closed"))
        self._queue.clear()


def _is_text(key: Key) -> bool:
    """Can it be written and sorted? Names are checked by whoever accepts them; this is no check."""
    return "\0" not in key.namespace and str(key).isprintable()


def _tell(asked: _Asked, answer: tuple[Event, ...] | Conflict | NotWritten | Closed) -> None:
    if asked.answer.done():
        return
    if isinstance(answer, tuple):
        asked.answer.set_result(answer)
    else:
        asked.answer.set_exception(answer)
