"""Times as the API writes them: whole seconds, UTC, and for events and leases microseconds."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache


def seconds(now: float) -> str:
    """`2026-01-31T12:00:00Z`"""
    return _whole(int(now))


# Of one second there are many writes.
@lru_cache(maxsize=8)
def _whole(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read(text: str) -> float:
    """Return seconds since 1970. Raises ValueError."""
    return datetime.fromisoformat(text).timestamp()
