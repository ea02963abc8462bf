"""A watch on its way to one client: lines of JSON, as they come, for as long as they are taken.

A client that doesn't take them is dropped; one that falls behind the kept history is told that
its revision is gone, and lists anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing

import msgspec
from aiohttp import web

from dibs.api import failures, storage, tables, watches
from dibs.api.calls import Call, Tree
from dibs.api.failures import Failure
from dibs.api.plane import Plane
from dibs.api.server import answers, limits
from dibs.api.server.answers import Wish
from dibs.api.server.limits import Limits
from dibs.api.watches import BOOKMARK, DELETED, Change, Started
from dibs.store.faults import Closed, TooOld

_encode = msgspec.json.Encoder().encode


async def send(
    request: web.BaseRequest, plane: Plane, call: Call, started: Started, wish: Wish, bounds: Limits
) -> web.StreamResponse:
    """Write changes until the watch is over. Raises TimeoutError when nobody takes them."""
    response = web.StreamResponse(headers={"Content-Type": f"{wish.accepted.type}"})
    response.enable_chunked_encoding()
    await response.prepare(request)
    lines = Lines(plane, call, wish)
    try:
        async with aclosing(watches.changes(plane, started)) as portions:
            async for portion in portions:
                await _write(response, lines.of(portion), bounds)
    except TooOld as fault:
        await _write(response, failed(watches.gone(fault)), bounds)
    except Closed:
        pass
    async with limits.patience(bounds, 0):
        await response.write_eof()
    return response


async def _write(response: web.StreamResponse, data: bytes, bounds: Limits) -> None:
    if data:
        async with limits.patience(bounds, len(data)):
            await response.write(data)


def failed(failure: Failure) -> bytes:
    """Return the line that ends a watch with a Status."""
    return _encode({"type": "ERROR", "object": failures.status(failure)}) + b"\n"


class Lines:
    """Changes as one client sees them. A Table names its columns once."""

    def __init__(self, plane: Plane, call: Call, wish: Wish) -> None:
        self.plane, self.call, self.wish = plane, call, wish
        self._is_first = True

    def of(self, portion: Sequence[Change]) -> bytes:
        if self.wish.accepted.form == "object":
            return b"".join(watches.bytes_of(self.call, change) for change in portion)
        return b"".join(self._line(change) for change in portion)

    def _line(self, change: Change) -> bytes:
        return _encode({"type": change.type, "object": self._object(change)}) + b"\n"

    def _object(self, change: Change) -> Tree:
        metadata: dict[str, object] = {"resourceVersion": str(change.revision)}
        is_first, self._is_first = self._is_first, False
        if change.type == BOOKMARK or change.entry is None:
            return self._bookmark(change, metadata, is_first)
        # What left a selection has the revision of what it became: it isn't looked up by that.
        is_last = change.type == DELETED
        entry = change.entry
        tree = storage.tree_of(entry) if is_last else self.plane.reader.tree(entry)
        return answers.shown(
            self.plane, self.call, [tree], self.wish, metadata, with_columns=is_first
        )

    def _bookmark(self, change: Change, metadata: dict[str, object], is_first: bool) -> Tree:
        if change.ends_initial:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        if self.wish.accepted.form == "partial":
            return tables.partial({"metadata": metadata})
        return tables.table(self.call, [], 0, "None", metadata, with_columns=is_first)
