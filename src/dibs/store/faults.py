"""What may come in the way of a call: the world moved, the past is gone, the disk says no.

None of them is the user's mistake: whoever calls the store turns them into an answer. A folder or
a file that can't be used at all is a `Mistake`, when it is opened.
"""

from __future__ import annotations

from dibs.store.records import Entry, Key


class Conflict(Exception):
    """Another revision stands than was expected; `current` is what does, None is nothing."""

    def __init__(self, key: Key, expected: int | None, current: Entry | None):
        stands = f"revision {current.mod_revision}" if current else "nothing"
        wanted = {None: "something", 0: "nothing"}.get(expected, f"revision {expected}")
        super().__init__(f"{key}: {stands} stands there, {wanted} was expected")
        self.key = key
        self.expected = expected
        self.current = current


class TooOld(Exception):
    """That revision is no longer kept; `oldest` is the first that is. Kubernetes answers 410."""

    def __init__(self, revision: int, oldest: int):
        super().__init__(f"revision {revision} is no longer kept, the oldest is {oldest}")
        self.revision = revision
        self.oldest = oldest


class TooSlow(TooOld):
    """A watch ends: what it has yet to hand out, after `revision`, is no longer kept."""


class TooNew(Exception):
    """That revision has not come yet: it is of another store, or made up."""

    def __init__(self, revision: int, current: int):
        super().__init__(f"revision {revision} has not come yet, the current one is {current}")
        self.revision = revision
        self.current = current


class NotWritten(Exception):
    """The disk did not take it. Nothing of the transaction is there, and the store goes on.

    Only if the process ends before the disk takes anything again may all of it be there after all.
    """


class Closed(Exception):
    """The store was closed before an answer was there; what was asked for may have been done."""
