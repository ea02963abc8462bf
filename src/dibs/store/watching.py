"""Watches: each is a place in the kept history, not a buffer, so none can hold up a writer.

Whoever has read everything waits to be woken by the first event in its scope, and misses nothing
however much happens elsewhere. Whoever reads too slowly finds its place forgotten, and ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from dibs.store.faults import Closed, TooSlow
from dibs.store.records import Event
from dibs.store.state import State

# Resource and namespace; None is any.
Scope = tuple[str | None, str | None]


class Sleepers:
    """The watches that wait, by scope: an event costs those that it wakes, not all there are."""

    def __init__(self) -> None:
        self.closed = False
        self._waiting: dict[Scope, set[Watch]] = {}

    def add(self, watch: Watch) -> None:
        self._waiting.setdefault(watch.scope, set()).add(watch)

    def remove(self, watch: Watch) -> None:
        waiting = self._waiting.get(watch.scope)
        if waiting is not None:
            waiting.discard(watch)
            if not waiting:
                del self._waiting[watch.scope]

    def wake(self, events: Iterable[Event]) -> None:
        for event in events:
            if not self._waiting:
                return
            resource, namespace = event.key.resource, event.key.namespace
            for scope in (
                (resource, namespace),
                (resource, None),
                (None, namespace),
                (None, None),
            ):
                for watch in self._waiting.pop(scope, ()):
                    watch.wake(event.revision)

    def close(self) -> None:
        self.closed = True
        everyone = [watch for waiting in self._waiting.values() for watch in waiting]
        self._waiting.clear()
        for watch in everyone:
            watch.end()


class Watch:
    """The events of a scope after a revision, for one reader at a time. Dropping it is enough.

    `take` and iteration raise TooSlow once what comes next is no longer kept, and Closed with the
    store.
    """

    def __init__(self, state: State, sleepers: Sleepers, scope: Scope, since: int) -> None:
        self.scope = scope
        self._state = state
        self._sleepers = sleepers
        self._seen = since
        self._asleep: asyncio.Future[None] | None = None
        self._woken = False

    @property
    def revision(self) -> int:
        """All events of the scope up to this revision were handed out: what a bookmark says."""
        return self._state.revision if self._asleep and not self._woken else self._seen

    async def take(self, *, most: int = 1000, wait_s: float | None = None) -> Sequence[Event]:
        """Return the next events, at most that many; none if there is none for `wait_s` seconds."""
        assert most > 0, most
        assert self._asleep is None, "two readers of one watch"
        found = self._ready(most)
        if found:
            return found
        await self._sleep(wait_s)
        return self._ready(most)

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> Event:
        [event] = await self.take(most=1)
        return event

    def wake(self, revision: int) -> None:
        """Go on with the event of that revision: no earlier one since the last was in scope."""
        self._woken = True
        self._seen = revision - 1
        self.end()

    def end(self) -> None:
        """Stop waiting."""
        if self._asleep and not self._asleep.done():
            self._asleep.set_result(None)

    def _ready(self, most: int) -> Sequence[Event]:
        if self._sleepers.closed:
            raise Closed("the store is closed")
        state = self._state
        if self._seen < state.compacted:
            raise TooSlow(self._seen, state.compacted)
        resource, namespace = self.scope
        events, index = state.since(resource, self._seen)
        if namespace is None:
            found = events[index : index + most]
            index += len(found)
        else:
            found = []
            while index < len(events) and len(found) < most:
                if events[index].key.namespace == namespace:
                    found.append(events[index])
                index += 1
        self._seen = events[index - 1].revision if index < len(events) else state.revision
        return found

    async def _sleep(self, wait_s: float | None) -> None:
        loop = asyncio.get_running_loop()
        self._woken = False
        self._asleep = loop.create_future()
        self._sleepers.add(self)
        alarm = None if wait_s is None else loop.call_later(wait_s, self.end)
        try:
            await self._asleep
        finally:
            # Until it is removed here a watch is woken by what it wants, also after its time.
            self._sleepers.remove(self)
            if not self._woken:
                self._seen = self._state.revision
            self._asleep = None
            if alarm is not None:
                alarm.cancel()
