"""Get and list: from the store's memory, at once, as entries that are not decoded yet.

What the answer looks like (JSON, a Table) is `server.answers`'; which objects it holds is decided
here. Only selectors need to look into objects.
"""

from __future__ import annotations

from dataclasses import dataclass

from dibs.api import failures, kinds, paging, selecting, storage
from dibs.api.calls import Call, ListOptions
from dibs.api.selecting import Selection
from dibs.api.storage import Reader
from dibs.store.faults import TooNew, TooOld
from dibs.store.records import Entry, Page
from dibs.store.store import Store

# Beyond what the store is made for. A list without a limit is cut here, with a `continue`: not all
# clients follow one that they didn't ask for.
MOST_ITEMS = 250_000


@dataclass(frozen=True, slots=True)
class Listed:
    """The entries of one page; `remaining` is None when selectors leave it unknown."""

    entries: tuple[Entry, ...]
    revision: int
    continue_token: str = ""
    remaining: int | None = None

    @property
    def metadata(self) -> dict[str, object]:
        found: dict[str, object] = {"resourceVersion": str(self.revision)}
        if self.continue_token:
            found["continue"] = self.continue_token
            if self.remaining is not None:
                found["remainingItemCount"] = self.remaining
        return found


def get(store: Store, call: Call, revision: str = "") -> Entry:
    """Raises Failure: 404, or 504 for a revision that has yet to come."""
    asked = paging.revision(revision)
    if asked > store.revision:
        raise failures.too_new(asked, store.revision)
    entry = store.get(storage.key_of(call.resource, call.namespace, call.name))
    if entry is None:
        raise failures.not_found(call.resource, call.name)
    return entry


def listed(store: Store, reader: Reader, call: Call, options: ListOptions) -> Listed:
    """Raises Failure: 400 for options, 410 for a revision that is forgotten."""
    selection = selecting.read(call.resource, options.label_selector, options.field_selector)
    start = paging.start(options, store.revision)
    limit = min(options.limit or MOST_ITEMS, MOST_ITEMS)
    try:
        if selection.is_all:
            return _page(_ask(store, call, limit, start.after, start.revision))
        return _selected(store, reader, call, selection, limit, start)
    except TooOld:
        if options.continue_token:
            raise paging.expired(options.continue_token) from None
        raise failures.expired(
            f"too old resource version: {start.revision} ({store.oldest})"
        ) from None
    except TooNew as fault:
        raise failures.too_new(fault.revision, fault.current) from None


def _ask(
    store: Store, call: Call, limit: int, after: tuple[str, str] | None, revision: int | None
) -> Page:
    name = kinds.kept_in(call.resource).qualified
    namespace = call.namespace or None
    return store.page(name, namespace, limit=limit, after=after, revision=revision)


def _page(page: Page) -> Listed:
    token = paging.token_of(page.revision, page.more) if page.more else ""
    return Listed(page.entries, page.revision, token, page.remaining)


def _selected(
    store: Store,
    reader: Reader,
    call: Call,
    selection: Selection,
    limit: int,
    start: paging.Start,
) -> Listed:
    page = _ask(store, call, 0, start.after, start.revision)
    found: list[Entry] = []
    for index, entry in enumerate(page.entries):
        if selection.name not in (None, entry.key.name):
            continue
        if not selection.takes(reader.tree(entry)):
            continue
        if len(found) == limit:
            token = paging.token_of(page.revision, page.entries[index - 1].key.place)
            return Listed(tuple(found), page.revision, token)
        found.append(entry)
    return Listed(tuple(found), page.revision)
