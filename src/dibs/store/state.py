"""What stands at the current revision, and the kept past: the events that led there.

Pure bookkeeping in memory: no waiting, no files. An older revision is read by undoing the events
since. Old values live in their events alone, so forgetting an event frees them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from operator import attrgetter

from dibs.store.faults import TooNew, TooOld
from dibs.store.records import Entry, Event, Key, Page, Place

# An event without its values: the object, its key, its places in two lists.
EVENT_BYTES = 400

_by_revision = attrgetter("revision")


class Section:
    """One resource: its entries, their places in order, and its kept events."""

    def __init__(self) -> None:
        self.entries: dict[Place, Entry] = {}
        self.places: list[Place] = []
        self.events: list[Event] = []

    def put(self, entry: Entry) -> None:
        place = entry.key.place
        if place not in self.entries:
            insort(self.places, place)
        self.entries[place] = entry

    def take_away(self, place: Place) -> None:
        del self.entries[place]
        del self.places[bisect_left(self.places, place)]

    def span(self, namespace: str | None, after: Place | None) -> tuple[int, int]:
        """Return where the places of a namespace begin and end, those up to `after` left out."""
        start, end = 0, len(self.places)
        if namespace is not None:
            start = bisect_left(self.places, (namespace, ""))
            end = bisect_left(self.places, (namespace + "\0", ""))
        if after is not None:
            start = max(start, bisect_right(self.places, after))
        return start, max(start, end)


class State:
    """Raises TooOld and TooNew where a revision is asked for that isn't kept."""

    def __init__(self) -> None:
        self.revision = 0
        # The latest revision whose event is forgotten: the oldest one that can still be read.
        self.compacted = 0
        self.old_bytes = 0
        self.events: list[Event] = []
        self._sections: dict[str, Section] = {}

    @classmethod
    def of(cls, entries: Iterable[Entry], compacted: int, events: Iterable[Event]) -> State:
        """Build from what stood at `compacted`, and all events since."""
        state = cls()
        state.revision = state.compacted = compacted
        for entry in entries:
            section = state._section(entry.key.resource)
            section.entries[entry.key.place] = entry
        for section in state._sections.values():
            section.places = sorted(section.entries)
        for event in events:
            state.apply(event)
        return state

    def get(self, key: Key) -> Entry | None:
        section = self._sections.get(key.resource)
        return section.entries.get(key.place) if section else None

    def count(self, resource: str, namespace: str | None) -> int:
        section = self._sections.get(resource, _EMPTY)
        start, end = section.span(namespace, None)
        return end - start

    def page(
        self,
        resource: str,
        namespace: str | None,
        limit: int,
        after: Place | None,
        revision: int | None,
    ) -> Page:
        at = self.revision if revision is None else revision
        self.check(at)
        section = self._sections.get(resource, _EMPTY)
        start, end = section.span(namespace, after)
        undone = _undone(section, namespace, after, at)
        places: Sequence[Place] = section.places
        if undone:
            same = [place for place in places[start:end] if place not in undone]
            revived = [place for place, entry in undone.items() if entry]
            places = sorted(same + revived)
            start, end = 0, len(places)
        stop = min(end, start + limit) if limit else end
        chosen = places[start:stop]
        entries = section.entries
        found = tuple(undone.get(place) or entries[place] for place in chosen)
        more = chosen[-1] if stop < end else None
        return Page(found, at, end - stop, more)

    def since(self, resource: str | None, revision: int) -> tuple[list[Event], int]:
        """Return kept events (not to be changed), and the index of the first after `revision`."""
        events = self.events if resource is None else self._sections.get(resource, _EMPTY).events
        return events, bisect_right(events, revision, key=_by_revision)

    def check(self, revision: int) -> None:
        if revision < self.compacted:
            raise TooOld(revision, self.compacted)
        if revision > self.revision:
            raise TooNew(revision, self.revision)

    def apply(self, event: Event) -> None:
        assert event.revision == self.revision + 1, (event, self.revision)
        section = self._section(event.key.resource)
        if event.after is not None:
            section.put(event.after)
        else:
            section.take_away(event.key.place)
        section.events.append(event)
        self.events.append(event)
        self.old_bytes += old_bytes(event)
        self.revision = event.revision

    def forget(self, revision: int) -> None:
        """Forget the events up to `revision`; what stands stays."""
        index = bisect_right(self.events, revision, key=_by_revision)
        if not index:
            return
        gone = self.events[:index]
        for resource in {event.key.resource for event in gone}:
            events = self._sections[resource].events
            del events[: bisect_right(events, revision, key=_by_revision)]
        del self.events[:index]
        self.old_bytes -= sum(map(old_bytes, gone))
        self.compacted = gone[-1].revision

    def _section(self, resource: str) -> Section:
        section = self._sections.get(resource)
        if section is None:
            section = self._sections[resource] = Section()
        return section


def old_bytes(event: Event) -> int:
    """Return the memory that only this event holds."""
    return EVENT_BYTES + (len(event.before.value) if event.before else 0)


def _undone(
    section: Section, namespace: str | None, after: Place | None, revision: int
) -> dict[Place, Entry | None]:
    """Return what stood otherwise at `revision`: the first event since says what was before it."""
    events = section.events
    stood: dict[Place, Entry | None] = {}
    for event in events[bisect_right(events, revision, key=_by_revision) :]:
        place = event.key.place
        if namespace in (None, place[0]) and (after is None or place > after):
            stood.setdefault(place, event.before)
    return stood


_EMPTY = Section()
