"""Sets of devices as ints: bit n is the device at place n in the order of candidates.

Both ways of going over them stay linear in a pool of 100,000 devices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

Places = int

# So many bits are looked at as one small int.
_CHUNK = 512
_MASK = (1 << _CHUNK) - 1


def of(places: Iterable[int]) -> Places:
    """The set of these places."""
    bits = 0
    for place in places:
        bits |= 1 << place
    return bits


def union(sets: Iterable[Places]) -> Places:
    """The places that are in one of the sets."""
    bits = 0
    for each_ in sets:
        bits |= each_
    return bits


def where(flags: Iterable[object]) -> Places:
    """The places at which the flag is true."""
    text = "".join(["1" if flag else "0" for flag in flags])
    return int(text[::-1], 2) if text else 0


def each(places: Places, start: int = 0) -> Iterator[int]:
    """The places in order, from `start` on."""
    rest = places >> start
    while rest:
        chunk = rest & _MASK
        at = start - 1
        while chunk:
            step = (chunk & -chunk).bit_length()
            at += step
            chunk >>= step
            yield at
        rest >>= _CHUNK
        start += _CHUNK


def full(count: int) -> Places:
    """All places below `count`."""
    return (1 << count) - 1
