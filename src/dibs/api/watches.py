"""Watch: what is there, then what happens, as one client's selectors see it.

An object that comes to fit a selector is added for that client, one that stops to fit is deleted.
A watch is a place in the store's kept history and holds nothing itself.
Source: API concepts, "Efficient detection of changes", "Streaming lists", "Watch bookmarks".
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass

from dibs.api import failures, kinds, paging, selecting, storage
from dibs.api.calls import Call, WatchOptions
from dibs.api.plane import Plane
from dibs.api.selecting import Selection
from dibs.store.faults import TooNew, TooOld
from dibs.store.records import Entry, Event
from dibs.store.watching import Watch

ADDED, MODIFIED, DELETED, BOOKMARK = "ADDED", "MODIFIED", "DELETED", "BOOKMARK"

# Between bookmarks, and how long a watch lasts that names no end. Source: kube-apiserver.
BOOKMARK_S = 60.0
LONGEST_S = 3600.0
_MOST_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Change:
    """`entry` is the object at the revision of the change, None in a bookmark.

    `ends_initial` marks the bookmark after the last of the objects that were there.
    """

    type: str
    revision: int
    entry: Entry | None = None
    ends_initial: bool = False


@dataclass(frozen=True, slots=True)
class Started:
    """A watch whose options are good. `initial` is None when the client has its own beginning."""

    selection: Selection
    watch: Watch
    initial: tuple[Entry, ...] | None
    revision: int
    options: WatchOptions


def start(plane: Plane, call: Call, options: WatchOptions) -> Started:
    """Raises Failure: 400 for options, 410 for a revision that is forgotten, 504 to come."""
    selection = selecting.read(call.resource, options.label_selector, options.field_selector)
    asked = paging.revision(options.revision)
    _agreeing(options)
    name, namespace = kinds.kept_in(call.resource).qualified, call.namespace or None
    wants_state = asked == 0 if options.initial_events is None else options.initial_events
    try:
        if wants_state or not asked:
            if asked > plane.store.revision:
                raise failures.too_new(asked, plane.store.revision)
            page = plane.store.page(name, namespace)
            watch = plane.store.watch(name, namespace, since=page.revision)
            initial = page.entries if wants_state else None
            return Started(selection, watch, initial, page.revision, options)
        watch = plane.store.watch(name, namespace, since=asked)
    except TooOld as fault:
        raise gone(fault) from None
    except TooNew as fault:
        raise failures.too_new(fault.revision, fault.current) from None
    return Started(selection, watch, None, asked, options)


def gone(fault: TooOld) -> failures.Failure:
    return failures.expired(f"too old resource version: {fault.revision} ({fault.oldest})")


def _agreeing(options: WatchOptions) -> None:
    if options.initial_events is None:
        if options.match:
            raise failures.bad_request(
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            )
        return
    if options.match != "NotOlderThan":
        raise failures.bad_request(
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        )
    if options.initial_events and not options.bookmarks:
        raise failures.bad_request("sendInitialEvents requires allowWatchBookmarks")


async def changes(plane: Plane, started: Started) -> AsyncGenerator[Sequence[Change], None]:
    """Yield what there is and what happens, in portions, until the time of the watch is over.

    Raises TooSlow and Closed of the store.
    """
    loop = asyncio.get_running_loop()
    options = started.options
    ends = loop.time() + min(options.timeout_s or LONGEST_S, LONGEST_S)
    if started.initial is not None:
        for portion in _there(plane, started):
            yield portion
    while (left := ends - loop.time()) > 0:
        events = await started.watch.take(most=_MOST_AT_ONCE, wait_s=min(left, BOOKMARK_S))
        found = [change for event in events if (change := _seen(plane, started.selection, event))]
        if found:
            yield found
        elif not events and options.bookmarks:
            yield (Change(BOOKMARK, started.watch.revision),)


def _there(plane: Plane, started: Started) -> Iterator[Sequence[Change]]:
    assert started.initial is not None
    for at in range(0, len(started.initial), _MOST_AT_ONCE):
        yield [
            Change(ADDED, entry.mod_revision, entry)
            for entry in started.initial[at : at + _MOST_AT_ONCE]
            if _takes(plane, started.selection, entry)
        ]
    if started.options.initial_events:
        yield (Change(BOOKMARK, started.revision, ends_initial=True),)


def _seen(plane: Plane, selection: Selection, event: Event) -> Change | None:
    """Return what an event is for somebody with this selection, None if it is none of theirs."""
    is_in = event.after is not None and _takes(plane, selection, event.after)
    was_in = event.before is not None and _takes(plane, selection, event.before)
    if is_in:
        return Change(MODIFIED if was_in else ADDED, event.revision, event.after)
    if was_in and event.before:
        before = event.before
        last = Entry(before.key, before.value, event.revision, before.create_revision)
        return Change(DELETED, event.revision, last)
    return None


def _takes(plane: Plane, selection: Selection, entry: Entry) -> bool:
    if selection.is_all:
        return True
    if selection.name not in (None, entry.key.name):
        return False
    return selection.takes(plane.reader.tree(entry))


def bytes_of(call: Call, change: Change) -> bytes:
    """Return the line of a change whose object is shown whole."""
    if change.entry is None:
        shown = storage.bookmark(call.resource, call.version, change.revision, change.ends_initial)
    else:
        shown = storage.served(call.resource, call.version, change.entry)
    return b'{"type":"%s","object":%s}\n' % (change.type.encode(), shown)
