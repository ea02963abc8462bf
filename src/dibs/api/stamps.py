"""Times as the API writes them: whole seconds, UTC, and for events and leases microseconds."""

from __future__ import annotations

from datetime import UTC, datetime


def seconds(now: float) -> str:
    """`2026-01-31T12:00:00Z`"""
    return datetime.fromtimestamp(int(now), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read(text: str) -> float:
    """Return seconds since 1970. Raises ValueError."""
    return datetime.fromisoformat(text).timestamp()
