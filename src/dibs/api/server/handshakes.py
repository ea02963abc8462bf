"""Connections before they are any: TLS is begun here, with a bound on how many are beginning.

asyncio begins TLS by itself, but keeps 256 KiB for each connection and bounds none that has not
ended its handshake: a few thousand sockets that say nothing would take all memory.
"""

from __future__ import annotations

import asyncio
import ssl
from asyncio.sslproto import SSLProtocol
from collections.abc import Callable
from dataclasses import dataclass, field

# Makes what a connection speaks, which calls when its connection is made: TLS is agreed upon.
Make = Callable[[Callable[[], None]], asyncio.Protocol]


@dataclass(slots=True)
class Door:
    """Where TLS is begun; owned by one server. `most` connections may be beginning: with one more
    the oldest is dropped, since who means it is done in a moment."""

    tls: ssl.SSLContext
    most: int
    patience_s: int
    _beginning: dict[asyncio.Transport, None] = field(default_factory=dict)

    def begin(self, transport: asyncio.Transport, make: Make) -> None:
        """Speak TLS on a new connection."""
        if len(self._beginning) >= self.most:
            oldest = next(iter(self._beginning))
            self.is_over(oldest)
            oldest.abort()
        self._beginning[transport] = None
        within = make(lambda: self.is_over(transport))
        spoken = _Spoken(self, transport, within)
        transport.set_protocol(spoken)
        spoken.connection_made(transport)

    def is_over(self, transport: asyncio.Transport) -> None:
        self._beginning.pop(transport, None)


class _Spoken(SSLProtocol):
    """One record of TLS and a little more is all that is read at a time."""

    max_size = 20 * 1024

    def __init__(self, door: Door, transport: asyncio.Transport, within: asyncio.Protocol) -> None:
        super().__init__(
            asyncio.get_running_loop(),
            within,
            door.tls,
            None,  # type: ignore[arg-type]  # nobody waits for it
            server_side=True,
            ssl_handshake_timeout=door.patience_s,
        )
        self._door = door
        self._below = transport

    def connection_lost(self, exc: BaseException | None) -> None:
        self._door.is_over(self._below)
        super().connection_lost(exc)


class Beginning(asyncio.Protocol):
    """What a new connection is told to, until TLS takes over."""

    def __init__(self, door: Door, make: Make) -> None:
        self._door = door
        self._make = make

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._door.begin(transport, self._make)
