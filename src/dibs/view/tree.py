"""A tree of lines, and how it is written: the form of `why`.

A line has a text and a tone; which colour a tone is, and whether there is any, is decided where
it is printed. Built by `why`; nothing here knows what the lines are about.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Tone = Literal["plain", "good", "bad", "faint", "next"]


@dataclass(frozen=True, slots=True)
class Tree:
    """`label` is set in a column of its own, beside its siblings': the node's name, a count."""

    text: str
    children: tuple[Tree, ...] = ()
    label: str = ""
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Line:
    text: str
    tone: Tone


def lines(tree: Tree, indent: int = 0) -> Iterator[Line]:
    """Yield every line, children indented below their parent and labels aligned."""
    yield from written(tree, indent, 0)


def written(tree: Tree, indent: int, label_width: int) -> Iterator[Line]:
    head = " " * indent
    start = indent
    if tree.label:
        # Numbers to the right, names to the left, as in any table.
        cell = tree.label.rjust(label_width) if tree.label.isdigit() else tree.label
        head += cell.ljust(label_width) + "  "
        start = len(head)
    first, *rest = tree.text.split("\n")
    yield Line((head + first).rstrip(), tree.tone)
    for more in rest:
        yield Line((" " * start + more).rstrip(), tree.tone)
    width = max((len(child.label) for child in tree.children), default=0)
    for child in tree.children:
        yield from written(child, start + 2, width)


def text(tree: Tree) -> str:
    return "\n".join(line.text for line in lines(tree))
