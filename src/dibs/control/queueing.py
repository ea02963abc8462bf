"""Which Pod is decided on next: by priority, then by age; one that failed waits before it is again.

A Pod is ready, resting (it failed a moment ago and something has happened since), parked until
something happens that may help it, or taken by whoever decides. Time comes in as an argument, so
a story can be told again.
Source: kube-scheduler's queue: active, backoff (1 s doubling to 10 s), unschedulable (5 minutes).
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from typing import Literal

from dibs.schedule.snapshot import Key

FIRST_REST_S = 1.0
LONGEST_REST_S = 10.0
# What nothing has happened for is looked at again anyway: an event may have been misjudged.
LONGEST_PARKED_S = 300.0

Place = Literal["ready", "resting", "parked", "taken"]


@dataclass(frozen=True, slots=True, order=True)
class Rank:
    """The order in which Pods are decided on: higher priority first, then the older."""

    below: int
    created: str
    key: Key

    @classmethod
    def of(cls, key: Key, priority: int, created: str) -> Rank:
        return cls(-priority, created, key)


@dataclass(slots=True)
class _Entry:
    """`failures` and `failed_at` are of the failures in a row; `is_woken` is for a Pod that is
    taken: something has happened since."""

    rank: Rank
    place: Place
    failures: int = 0
    failed_at: float = 0.0
    is_woken: bool = False

    @property
    def rested_at(self) -> float:
        if not self.failures:
            return 0.0
        rest_s = min(FIRST_REST_S * 2.0 ** min(self.failures - 1, 30), LONGEST_REST_S)
        # Rests end on the full second, so that those which end together go by rank.
        return float(math.ceil(self.failed_at + rest_s))


@dataclass(slots=True)
class Queue:
    """Belongs to the scheduler's loop.

    The heaps may hold entries that have moved on; `_entries` says what is true.
    """

    _entries: dict[Key, _Entry] = field(default_factory=dict)
    _ready: list[Rank] = field(default_factory=list)
    _resting: list[tuple[float, Rank]] = field(default_factory=list)
    # When each was parked, the longest first.
    _parked: dict[Key, float] = field(default_factory=dict)
    _taken: dict[Key, None] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: Key) -> bool:
        return key in self._entries

    def add(self, rank: Rank) -> None:
        """A new Pod, or one that has changed itself: it is ready at once."""
        entry = self._entries.get(rank.key)
        if entry is None:
            entry = self._entries[rank.key] = _Entry(rank, "parked")
        if entry.place == "taken":
            entry.rank, entry.is_woken = rank, True
        elif entry.place != "ready" or entry.rank != rank:
            entry.rank = rank
            self._make_ready(entry)

    def drop(self, key: Key) -> None:
        """A Pod that needs no decision any more."""
        self._entries.pop(key, None)
        self._parked.pop(key, None)
        self._taken.pop(key, None)

    def wake(self, key: Key, now: float) -> None:
        """Something has happened that may help this Pod."""
        entry = self._entries.get(key)
        if entry is None:
            return
        if entry.place == "taken":
            entry.is_woken = True
        elif entry.place == "parked":
            if entry.rested_at <= now:
                self._make_ready(entry)
            else:
                self._parked.pop(key, None)
                entry.place = "resting"
                heapq.heappush(self._resting, (entry.rested_at, entry.rank))

    def is_waiting(self, key: Key) -> bool:
        return key in self._parked or key in self._taken

    def waiting(self) -> tuple[Key, ...]:
        """Those that an event may help: who is parked, and who is decided on without it."""
        return (*self._parked, *self._taken)

    def take(self, now: float) -> Key | None:
        """The Pod to decide on now, which is then `fail`ed, `drop`ped or `put_back`."""
        self._rouse(now)
        while self._ready:
            rank = heapq.heappop(self._ready)
            entry = self._entries.get(rank.key)
            if entry is not None and entry.place == "ready" and entry.rank == rank:
                entry.place, entry.is_woken = "taken", False
                self._taken[rank.key] = None
                return rank.key
        return None

    def fail(self, key: Key, now: float) -> None:
        """It couldn't be placed: it is parked or, if something happened meanwhile, rests."""
        entry = self._entries.get(key)
        if entry is None:
            return
        entry.failures += 1
        entry.failed_at = now
        entry.place = "parked"
        self._taken.pop(key, None)
        self._parked[key] = now
        if entry.is_woken:
            self.wake(key, now)

    def rest(self, key: Key, now: float) -> None:
        """It could be placed, and that couldn't be written: it is tried again after a rest."""
        entry = self._entries.get(key)
        if entry is not None:
            entry.is_woken = True
            self.fail(key, now)

    def next_due(self) -> float | None:
        """When the next Pod becomes ready by itself; None if none does."""
        due = [self._resting[0][0]] if self._resting else []
        if self._parked:
            due.append(next(iter(self._parked.values())) + LONGEST_PARKED_S)
        return min(due, default=None)

    def _rouse(self, now: float) -> None:
        while self._resting and self._resting[0][0] <= now:
            _, rank = heapq.heappop(self._resting)
            entry = self._entries.get(rank.key)
            if entry is not None and entry.place == "resting":
                self._make_ready(entry)
        while self._parked:
            key, since = next(iter(self._parked.items()))
            if since + LONGEST_PARKED_S > now:
                return
            self._make_ready(self._entries[key])

    def _make_ready(self, entry: _Entry) -> None:
        self._parked.pop(entry.rank.key, None)
        entry.place = "ready"
        heapq.heappush(self._ready, entry.rank)
