"""How much work an evaluation may make that its cost does not show.

Upstream charges some calls 1 whatever they do: two equal lists that share their parts can take
2^100 steps to compare, `distinct` of a dyn list is quadratic, a pattern of 10 characters can be a
program of 1000 instructions. Such calls `spend` what they do; `renew` begins an evaluation.
A fuse, not an answer: it blows only where upstream would run for minutes, so one meter for the
whole process will do, and a thread that renews another's does no harm.
"""

from __future__ import annotations

from typing import Final

from dibs.cel.runtime.errors import CostLimitExceeded

# A unit is about half a microsecond: an element looked at in Python, 64 elements copied, 16
# instructions of a regular expression. What the cost limit pays for is about a million.
MOST_EFFORT: Final = 2_000_000

_left = [MOST_EFFORT]


def renew() -> None:
    """Begin an evaluation."""
    _left[0] = MOST_EFFORT


def spend_on_text(length: int) -> None:
    """Count one fast pass over that many characters or bytes; nothing for what is usual."""
    if length > 1000:
        spend(length // 1000)


def spend(units: int) -> None:
    """Count work done or about to be done. Raises `CostLimitExceeded`, and begins anew."""
    _left[0] -= units
    if _left[0] < 0:
        renew()
        raise CostLimitExceeded
