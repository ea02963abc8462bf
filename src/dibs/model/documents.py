"""Text to plain trees: YAML with several documents, JSON, streams of JSON; and back to places.

A tree is made of dict, list, str, int, float, bool and None, as Kubernetes would read the text.
Where something stands is worked out only when a fault asks. What the trees mean is `codec`'s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from dibs.model.faults import Fault

Tree = object


class Position(NamedTuple):
    """Both from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file. `line` is where its text begins; `faults` are its duplicate keys."""

    tree: Tree
    text: str
    line: int = 1
    is_json: bool = False
    faults: tuple[Fault, ...] = ()

    def position(self, path: str) -> Position:
        """Return where the entry at `path` begins: its key, or the list item.

        Paths are written as in Kubernetes: `spec.devices[0].attributes[dra.net/mtu].int`. A path
        that isn't there gives the nearest enclosing entry that is, "" the document.
        """
        raise NotImplementedError

    def value_position(self, path: str) -> Position:
        """Return where the value at `path` begins, for faults inside of it."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Parsed:
    """Every document that could be read, and a syntax fault for each that could not."""

    documents: tuple[Document, ...]
    faults: tuple[Fault, ...]


def parse(content: bytes | str) -> Parsed:
    """Read all documents of one text, YAML or JSON by its first characters.

    Raises Mistake for what is no text at all (binary, broken encoding, NUL).
    """
    raise NotImplementedError
