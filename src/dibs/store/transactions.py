"""What a transaction would write, on top of what stands and of those before it in its batch.

Pure: revisions come in, events go out, nothing is changed. A conflict leaves no trace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dibs.store.faults import Conflict
from dibs.store.records import Check, Delete, Entry, Event, Key, Put, Write

Stands = Callable[[Key], Entry | None]


def events(writes: Sequence[Write], stands: Stands, revision: int) -> tuple[Event, ...]:
    """Return the events, from the revision after `revision` on. Raises Conflict."""
    found: list[Event] = []
    for write in writes:
        before = stands(write.key)
        if not _is_met(write, before):
            raise Conflict(write.key, write.expected, before)
        match write:
            case Put(key, value):
                revision += 1
                created = before.create_revision if before else revision
                found.append(Event(revision, key, before, Entry(key, value, revision, created)))
            case Delete(key):
                revision += 1
                found.append(Event(revision, key, before, None))
            case Check():
                pass
    return tuple(found)


def _is_met(write: Write, before: Entry | None) -> bool:
    if write.expected is None:
        return isinstance(write, Put) or before is not None
    # Nothing can't be deleted, so Delete with 0 is never met.
    if isinstance(write, Delete) and before is None:
        return False
    return write.expected == (before.mod_revision if before else 0)
