"""How well a cache did: a value that its owner gives and `-v` shows, and a dictionary with a bound.

A cache has an owner, a key, a bound and a test for staleness; `Kept` is the dictionary of such an
owner. What is remembered, and when it is stale, is the owner's to say.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, NamedTuple, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Stats(NamedTuple):
    """`kept` entries of at most `bound` are there now; `dropped` ones had to make room."""

    name: str
    hits: int
    misses: int
    kept: int
    bound: int
    dropped: int = 0

    @property
    def rate(self) -> float:
        """The share of questions that were answered from memory: from 0 to 1."""
        return self.hits / (self.hits + self.misses) if self.hits or self.misses else 0.0

    def __str__(self) -> str:
        text = f"{self.name}: {self.hits} of {self.hits + self.misses} known ({self.rate:.0%})"
        dropped = f", {self.dropped} dropped" if self.dropped else ""
        return f"{text}, {self.kept} of at most {self.bound} kept{dropped}"


class Kept(Generic[Key, Value]):
    """A dictionary of at most `bound` entries: a new one takes the place of the oldest.

    Counts what was known and what wasn't. No value may be None: that says "not known".
    """

    __slots__ = ("bound", "dropped", "hits", "misses", "name", "of")

    def __init__(self, name: str, bound: int) -> None:
        self.name = name
        self.bound = bound
        self.of: dict[Key, Value] = {}
        self.hits = self.misses = self.dropped = 0

    def get(self, key: Key) -> Value | None:
        """What is known under the key, None when nothing is."""
        found = self.of.get(key)
        if found is None:
            self.misses += 1
        else:
            self.hits += 1
        return found

    def put(self, key: Key, value: Value) -> Value:
        """Remember the value, and return it."""
        of = self.of
        if len(of) >= self.bound and key not in of:
            del of[next(iter(of))]
            self.dropped += 1
        of[key] = value
        return value

    @property
    def stats(self) -> Stats:
        return Stats(self.name, self.hits, self.misses, len(self.of), self.bound, self.dropped)
