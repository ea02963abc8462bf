"""How much of the past may be forgotten now. Ages are of this process's steady clock alone.

What a file holds when it is opened counts as just written: a clock that was set back, or a long
stop, makes no watcher lose its place.
"""

from __future__ import annotations

from collections import deque

from dibs.store import state as past
from dibs.store.records import Event, Keep
from dibs.store.state import State

# Marks a second are fine enough for ages of minutes.
MARK_S = 1.0
# Forgetting is paid for by writes: so many events at most with one batch.
STEP = 2_000


class Past:
    """Which revision was reached when, and which may be forgotten by `Keep`."""

    def __init__(self, keep: Keep) -> None:
        self.keep = keep
        self._marks: deque[tuple[float, int]] = deque()

    def mark(self, now: float, revision: int) -> None:
        """Note the revision that is current now; those of one second count as its first."""
        if self._marks and now - self._marks[-1][0] < MARK_S:
            now, _ = self._marks.pop()
        self._marks.append((now, revision))

    def horizon(self, state: State, now: float) -> int:
        """Return the revision up to which the past may be forgotten with the next batch.

        By count and age not before a tenth of what is kept can go, so that it is done in bulk.
        """
        aged = self._aged(now)
        spare = min(state.revision - self.keep.revisions, aged) - state.compacted
        if spare < max(1, min(STEP, self.keep.revisions // 10)):
            spare = 0
        return state.compacted + min(STEP, max(spare, self._oversize(state)))

    def _aged(self, now: float) -> int:
        """Return the latest revision known to be old enough."""
        revision = 0
        while self._marks and self._marks[0][0] <= now - self.keep.age_s:
            revision = self._marks[0][1]
            if len(self._marks) == 1 or self._marks[1][0] > now - self.keep.age_s:
                break
            self._marks.popleft()
        return revision

    def _oversize(self, state: State) -> int:
        """Return how many events have to go for old values to fit."""
        over = state.old_bytes - self.keep.old_bytes
        count = 0
        while over > 0 and count < min(STEP, len(state.events)):
            over -= past.old_bytes(state.events[count])
            count += 1
        return count


def rows_gone(events: list[Event]) -> list[int]:
    """Return the revisions whose rows nobody needs once these events are forgotten."""
    gone = [event.before.mod_revision for event in events if event.before]
    return gone + [event.revision for event in events if event.after is None]
