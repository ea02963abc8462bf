"""Sizes and prices as ranges: 64-bit, sticking at the top instead of overflowing.

A factor rounds up through a double, as upstream's does: 0.1 of "unknown" is the double next to
2^64 / 10, not the integer.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

MOST: Final = 2**64 - 1
_TWO_TO_64: Final = 2.0**64

# What one step of each kind costs (spec: the cost of a selector).
CHARACTER: Final = 0.1
PATTERN: Final = 0.25
LIST: Final = 10
MAP: Final = 30
MESSAGE: Final = 40


class Size(NamedTuple):
    """The least and the most characters, bytes, elements or entries a value may have."""

    low: int
    high: int

    def plus(self, other: Size) -> Size:
        return Size(add(self.low, other.low), add(self.high, other.high))

    def times(self, other: Size) -> Size:
        return Size(multiply(self.low, other.low), multiply(self.high, other.high))

    def union(self, other: Size) -> Size:
        return Size(min(self.low, other.low), max(self.high, other.high))


UNKNOWN: Final = Size(0, MOST)
ONE: Final = Size(1, 1)


def exactly(size: int) -> Size:
    return Size(size, size)


def add(*parts: int) -> int:
    return min(sum(parts), MOST)


def multiply(one: int, other: int) -> int:
    return min(one * other, MOST)


def scaled(size: int, factor: float) -> int:
    """`⌈size × factor⌉`."""
    product = math.ceil(float(size) * factor)
    return MOST if product >= _TWO_TO_64 else product
