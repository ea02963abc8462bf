"""Where a store comes from: nowhere, or a folder. Everything wrong with the folder is said here."""

from __future__ import annotations

import time
from collections.abc import Callable

from dibs.store.records import Keep
from dibs.store.state import State
from dibs.store.store import Store


def in_memory(keep: Keep | None = None, clock: Callable[[], float] = time.monotonic) -> Store:
    """Open an empty store that is lost with the process. Needs a running event loop."""
    return Store(State(), None, keep or Keep(), clock)
