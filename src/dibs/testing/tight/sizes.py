"""How large a tight question is: for whom it must still be decidable."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Size:
    """Bounds, both ends included. `most_count` is of devices in one request."""

    name: str
    devices: tuple[int, int]
    claims: int
    requests: int
    most_count: int


# Brute force can follow most of these, a solver of constraints all of both.
SMALL = Size("small", devices=(4, 10), claims=3, requests=6, most_count=3)
MEDIUM = Size("medium", devices=(14, 40), claims=4, requests=10, most_count=6)
