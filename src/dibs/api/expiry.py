"""Events don't last: an hour after they were last told of, they go.

Only the API server knows when that is due for everybody's; upstream has etcd do it.
Source: kube-apiserver, --event-ttl.
"""

from __future__ import annotations

import asyncio
import contextlib

from dibs.api import failures, stamps
from dibs.api.calls import Tree
from dibs.api.plane import Plane
from dibs.store.faults import Conflict
from dibs.store.records import Delete, Entry

LASTS_S = 3600.0
# Between sweeps; and how many go at a time, so that others' writes come in between.
SWEEP_S = 60.0
_AT_ONCE = 500


async def sweeping(plane: Plane) -> None:
    """Sweep for as long as the server runs."""
    while True:
        await asyncio.sleep(SWEEP_S)
        # A full disk is told to whoever writes; we try again.
        with contextlib.suppress(failures.Failure):
            await sweep(plane)


async def sweep(plane: Plane) -> None:
    """Delete the events that are over. Raises Failure when the store can't."""
    oldest = plane.world.now() - LASTS_S
    over = [
        entry
        for entry in plane.store.page("events").entries
        if _told(plane.reader.tree(entry)) < oldest
    ]
    for start in range(0, len(over), _AT_ONCE):
        await asyncio.gather(*(_delete(plane, entry) for entry in over[start : start + _AT_ONCE]))


async def _delete(plane: Plane, entry: Entry) -> None:
    # Who has written to it meanwhile has told of it again.
    with contextlib.suppress(Conflict):
        await plane.commit(Delete(entry.key, entry.mod_revision))


def _told(event: Tree) -> float:
    """When it was last told of, in seconds since 1970."""
    series = event.get("series") or {}
    times = (
        series.get("lastObservedTime"),
        event.get("lastTimestamp"),
        event.get("eventTime"),
        event["metadata"].get("creationTimestamp"),
    )
    found = [_second(each) for each in times if each]
    return max(found, default=0.0)


def _second(stamp: str) -> float:
    try:
        return stamps.read(stamp)
    except ValueError:
        return 0.0
