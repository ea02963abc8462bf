"""The socket: opened, bounded, served, closed.

    async with listening(plane, host="127.0.0.1", port=0, tls=None) as server: server.url

Without TLS only the loopback is served, for tests. Whoever is connected beyond the bound is turned
away at once; whoever sends no request within the idle time is, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import ssl
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

if sys.platform != "win32":
    import resource

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from dibs.api import expiry, failures
from dibs.api.plane import Plane
from dibs.api.server import answers
from dibs.api.server.handling import Handler
from dibs.api.server.handshakes import Beginning, Door
from dibs.api.server.limits import Limits
from dibs.api.server.published import Published
from dibs.values.mistake import Mistake

_BACKLOG = 1024
# What aiohttp complains of is the doing of clients; bugs of ours are told in `handling`.
_SILENT = logging.getLogger("dibs.api.http")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False
# Files of the store, of drivers, of Python.
_OTHER_FILES = 128
_FEWEST, _WINDOWS_SOCKETS = 32, 500
# A body that is too much goes on coming while it is refused: cut off at once, the client would
# see a broken connection instead of the answer.
_LINGERING_S = 1.0
# How long running requests get when the server ends.
_GRACE_S = 2.0


@dataclass(frozen=True, slots=True)
class Serving:
    """A server that serves. `url` is where."""

    url: str
    host: str
    port: int
    handler: Handler


class _Connection(RequestHandler):
    """One more than there may be is closed before it can say anything."""

    __slots__ = ("when_made",)

    when_made: Callable[[], None]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.when_made()
        server = self._manager
        if isinstance(server, _Server) and len(server.connections) > server.most:
            assert isinstance(transport, asyncio.Transport)
            transport.abort()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """What is no HTTP is answered as everything is, without what came being sent back."""
        plain = super().handle_error(request, status, exc, message)
        if status == 500:
            failure = failures.bug()
        else:
            failure = failures.Failure(status, "BadRequest", "this is no request that can be read")
        answer = answers.of_failure(failure)
        response = web.Response(
            status=plain.status, body=answer.body, headers=answers.headers(answer)
        )
        response.force_close()
        return response


class _Server(web.Server):
    def __init__(self, handler: Handler, bounds: Limits) -> None:
        super().__init__(handler, handler_cancellation=True)
        self.most = min(bounds.connections, _sockets())
        self._bounds = bounds

    def __call__(self, when_made: Callable[[], None] = lambda: None) -> RequestHandler:
        bounds = self._bounds
        connection = _Connection(
            self,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=bounds.idle_s,
            max_line_size=bounds.header_bytes,
            max_field_size=bounds.header_bytes,
            max_headers=bounds.headers,
            logger=_SILENT,
            lingering_time=_LINGERING_S,
        )
        connection.when_made = when_made
        return connection


@asynccontextmanager
async def listening(
    plane: Plane,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    tls: ssl.SSLContext | None = None,
    bounds: Limits | None = None,
) -> AsyncIterator[Serving]:
    """Serve until the block is left. Raises Mistake when the address can't be had."""
    if tls is None and not _is_loopback(host):
        raise Mistake("without TLS only the loopback is served", value=host)
    bounds = bounds or Limits()
    handler = Handler(plane, bounds, Published())
    server = _Server(handler, bounds)
    try:
        socket = await asyncio.get_running_loop().create_server(
            _welcome(server, bounds, tls), host, port, backlog=_BACKLOG
        )
    except OSError as fault:
        raise Mistake(
            f"can't listen on {host}:{port}: {(fault.strerror or str(fault)).lower()}",
            value=f"{host}:{port}",
            remedy="end whoever has the port, or choose another one with --listen",
        ) from None
    bound = socket.sockets[0].getsockname()[1]
    named = f"[{host}]" if ":" in host else host
    sweeping = asyncio.create_task(expiry.sweeping(plane), name="dibs-expiry")
    try:
        yield Serving(f"{'https' if tls else 'http'}://{named}:{bound}", host, bound, handler)
    finally:
        handler.published.is_ready = False
        sweeping.cancel()
        socket.close()
        await server.shutdown(_GRACE_S)


def _welcome(
    server: _Server, bounds: Limits, tls: ssl.SSLContext | None
) -> Callable[[], asyncio.Protocol]:
    if tls is None:
        return server
    door = Door(tls, bounds.handshakes, bounds.handshake_s)
    return lambda: Beginning(door, server)


def _sockets() -> int:
    """How many connections this process may have, after asking for as many as it can get."""
    if sys.platform == "win32":
        return _WINDOWS_SOCKETS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
    if soft == resource.RLIM_INFINITY:
        return sys.maxsize
    return max(_FEWEST, soft - _OTHER_FILES)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
