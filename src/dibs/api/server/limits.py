"""How much one client, and all of them, may ask for. What is above is refused or dropped.

Source: kube-apiserver, where it has the bound (3 MiB a body, 400 requests at a time).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from dibs.api import failures


@dataclass(frozen=True, slots=True)
class Limits:
    """`body_s` is for a body to come in, `write_s` for 64 KiB of an answer to be taken;
    `handshakes` are connections that have not shown by TLS who they are; with one more, the oldest
    goes. `coming_bytes` is what all bodies that are coming in may have come to.

    All watches together are written to about `writes_per_s` times a second; what happens between
    is told together, so that many watches of much don't take the server from everybody else.
    """

    body_bytes: int = 3 * 2**20
    body_s: float = 20.0
    depth: int = 100
    header_bytes: int = 16 * 1024
    headers: int = 100
    requests: int = 400
    requests_of_one: int = 200
    coming_bytes: int = 256 * 2**20
    watches: int = 10_000
    watches_of_one: int = 1_000
    connections: int = 12_000
    handshakes: int = 500
    idle_s: float = 90.0
    handshake_s: int = 10
    write_s: float = 20.0
    writes_per_s: int = 5_000


@dataclass(slots=True)
class Load:
    """What is going on now; owned by one server."""

    limits: Limits
    requests: Counter[str] = field(default_factory=Counter)
    coming_bytes: int = 0
    watches: Counter[str] = field(default_factory=Counter)

    @property
    def pause_s(self) -> float:
        """How long each watch waits after it was written to."""
        return self.watches.total() / self.limits.writes_per_s

    @contextmanager
    def request(self, caller: str) -> Iterator[None]:
        """Raises Failure (429) when the caller, or all of them, have too many at a time."""
        bounds = self.limits
        with _one_more(
            self.requests, caller, "requests", bounds.requests_of_one, bounds.requests, 1
        ):
            yield

    @contextmanager
    def watch(self, caller: str) -> Iterator[None]:
        """Raises Failure (429) when the caller, or all of them, have too many open."""
        bounds = self.limits
        with _one_more(self.watches, caller, "watches", bounds.watches_of_one, bounds.watches, 10):
            yield

    def has_come(self, size: int) -> None:
        """Raises Failure (429) when what comes in is too much for our memory."""
        if self.coming_bytes + size > self.limits.coming_bytes:
            raise failures.too_many("too much is being sent at a time; try again later")
        self.coming_bytes += size


@contextmanager
def _one_more(
    going: Counter[str], caller: str, what: str, of_one: int, of_all: int, retry_s: int
) -> Iterator[None]:
    if going[caller] >= of_one:
        raise failures.too_many(f"{caller} has {going[caller]} {what} open, the limit", retry_s)
    if going.total() >= of_all:
        raise failures.too_many(f"{going.total()} {what} are open, the limit", retry_s)
    going[caller] += 1
    try:
        yield
    finally:
        going[caller] -= 1
        if not going[caller]:
            del going[caller]


def patience(limits: Limits, size: int) -> asyncio.Timeout:
    """Return the time in which a client must have taken `size` bytes; TimeoutError otherwise."""
    return asyncio.timeout(limits.write_s * (1 + size // 65536))
