"""How the runs tell: tables, and on a terminal how far they are."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def shown(items: Iterable[Item], name: str, total: int) -> Iterator[Item]:
    """Pass the items on; after two seconds say on a terminal how far it is."""
    start = last = time.monotonic()
    for done, item in enumerate(items, 1):
        now = time.monotonic()
        if now - start > 2 and now - last > 0.2 and sys.stderr.isatty():
            last = now
            print(f"\r{name} {done}/{total}", end="", file=sys.stderr, flush=True)
        yield item
    if last > start:
        print("\r" + " " * 40 + "\r", end="", file=sys.stderr, flush=True)


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """The first column is text, the others numbers; None is nothing to be told."""
    texts = (["-" if cell is None else str(cell) for cell in row] for row in rows)
    cells = [list(heads), *texts]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    for name, *numbers in cells:
        right = (text.rjust(width) for text, width in zip(numbers, widths[1:], strict=True))
        print("  ".join([name.ljust(widths[0]), *right]))
