"""How well a cache did: a value that its owner gives and `-v` shows, and a dictionary with a bound.

A cache has an owner, a key, a bound and a test for staleness; `Kept` is the dictionary of such an
owner. What is remembered, and when it is stale, is the owner's to say.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Stats(NamedTuple):
    """Entries of a weight of `kept`, of at most `bound`, are there; `dropped` ones made room."""

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


def _one(_: object) -> int:
    return 1


class Kept(Generic[Key, Value]):
    """A dictionary that weighs at most `bound`: for a new entry the oldest ones go.

    An entry weighs 1, or what `weigh` says of its value. Counts what was known and what wasn't. No
    value may be None: that says "not known".
    """

    __slots__ = ("bound", "dropped", "hits", "misses", "name", "of", "weigh", "weight")

    def __init__(self, name: str, bound: int, weigh: Callable[[Value], int] = _one) -> None:
        self.name = name
        self.bound = bound
        self.weigh = weigh
        self.of: dict[Key, Value] = {}
        self.weight = self.hits = self.misses = self.dropped = 0

    def get(self, key: Key) -> Value | None:
        """What is known under the key, None when nothing is."""
        found = self.of.get(key)
        if found is None:
            self.misses += 1
        else:
            self.hits += 1
        return found

    def put(self, key: Key, value: Value) -> Value:
        """Remember the value, and return it. One that is too heavy alone is kept till the next."""
        of, weigh = self.of, self.weigh
        if key in of:
            self.weight -= weigh(of.pop(key))
        self.weight += weigh(value)
        while of and self.weight > self.bound:
            self.weight -= weigh(of.pop(next(iter(of))))
            self.dropped += 1
        of[key] = value
        return value

    @property
    def stats(self) -> Stats:
        return Stats(self.name, self.hits, self.misses, self.weight, self.bound, self.dropped)
