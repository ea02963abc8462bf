"""A watch on its way to one client: lines of JSON, as they come, for as long as they are taken.

A client that doesn't take them is dropped; one that falls behind the kept history is told that
its revision is gone, and lists anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import aclosing, contextmanager

import msgspec
from aiohttp import web

from dibs.api import failures, storage, tables, watches
from dibs.api.calls import Call, Tree
from dibs.api.cells import Moment
from dibs.api.failures import Failure
from dibs.api.plane import Plane
from dibs.api.server import answers, limits
from dibs.api.server.answers import Wish
from dibs.api.server.limits import Limits, Load
from dibs.api.watches import BOOKMARK, DELETED, Change, Started
from dibs.store.faults import Closed, TooOld

# aiohttp waits for the client above 64 KiB; a sleep that is shorter than this isn't worth it.
_NO_WAIT_BYTES = 48 * 1024
_SHORTEST_S = 0.002

_encode = msgspec.json.Encoder().encode


async def send(
    request: web.BaseRequest, plane: Plane, call: Call, started: Started, wish: Wish, load: Load
) -> web.StreamResponse:
    """Write changes until the watch is over. Raises TimeoutError when nobody takes them."""
    head = [("Content-Type", wish.accepted.type), ("Cache-Control", "no-cache"), answers.SERVER]
    response = web.StreamResponse(headers=dict(head))
    response.enable_chunked_encoding()
    await response.prepare(request)
    with _whole_or_broken(request):
        writing = _Writing(request, response, load.limits)
        await _send(started, Lines(plane, call, wish), writing, load)
        async with limits.patience(load.limits, 0):
            await response.write_eof()
    return response


@contextmanager
def _whole_or_broken(request: web.BaseRequest) -> Iterator[None]:
    """What is half written can't be ended well: the client must see that it is broken."""
    is_whole = False
    try:
        yield
        is_whole = True
    finally:
        if not is_whole and request.transport:
            request.transport.abort()


async def _send(started: Started, lines: Lines, writing: _Writing, load: Load) -> None:
    try:
        async with aclosing(watches.changes(lines.plane, started)) as portions:
            async for portion in portions:
                await writing.write(lines.of(portion))
                if (pause := load.pause_s) > _SHORTEST_S:
                    # What happens meanwhile goes out in one piece.
                    await asyncio.sleep(pause)
    except TooOld as fault:
        await writing.write(failed(watches.gone(fault)))
    except Closed:
        pass


class _Writing:
    """Only what has to wait for the client has a time in which it must be taken."""

    def __init__(
        self, request: web.BaseRequest, response: web.StreamResponse, bounds: Limits
    ) -> None:
        self._request, self._response, self._bounds = request, response, bounds

    async def write(self, data: bytes) -> None:
        if not data:
            return
        transport = self._request.transport
        waiting = transport.get_write_buffer_size() if transport else 0
        if waiting + len(data) < _NO_WAIT_BYTES:
            await self._response.write(data)
            return
        async with limits.patience(self._bounds, len(data)):
            await self._response.write(data)


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
        return tables.table(self.call, [], Moment(0), "None", metadata, with_columns=is_first)
