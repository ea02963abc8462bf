"""Where a store comes from: nowhere, or a folder. Everything wrong with the folder is said here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from dibs.store import folder as places
from dibs.store.journal import SqliteJournal
from dibs.store.records import Keep
from dibs.store.state import State
from dibs.store.store import Store


def in_memory(keep: Keep | None = None, clock: Callable[[], float] = time.monotonic) -> Store:
    """Open an empty store that is lost with the process. Needs a running event loop."""
    return Store(State(), None, keep or Keep(), clock)


async def in_folder(
    folder: Path, keep: Keep | None = None, clock: Callable[[], float] = time.monotonic
) -> Store:
    """Open the store in a folder, which is made if it isn't there. Close it, to let go of it.

    Raises Mistake for a folder that can't be used, that another process has, or with a file in it
    that is foreign, damaged or of a newer dibs; such a file stays as it is.
    """
    places.make(folder)
    journal, loaded = await asyncio.to_thread(SqliteJournal.open, folder)
    state = State.of(loaded.entries, loaded.compacted, loaded.events)
    return Store(state, journal, keep or Keep(), clock)
