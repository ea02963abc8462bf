"""Where a spot inside a CEL expression stands in the file, and the caret under it.

A scalar in YAML may be plain, quoted, or a block. Rather than know all its forms, the spot is
worked out for the common ones and taken only if the file has the same text there.
"""

from __future__ import annotations

from functools import lru_cache

from dibs.client.dump import Origin
from dibs.model.documents import Position

# A longer line of an expression is not shown whole.
WIDTH = 120


def inside(origin: Origin, path: str, expression: str, offset: int) -> Position:
    """Return line and column of `expression[offset]`, of the whole value when it can't be told."""
    value = origin.value_position(path)
    lines = lines_of(origin.document.text)
    row, column = spot(expression, offset)
    words = expression.split("\n")[row]
    first = value.line - origin.document.line
    guesses = [(first, value.column - 1), (first, value.column)]
    # A block scalar begins below its `|` or `>`, wherever its text is indented to.
    below = first + 1 + row
    if below < len(lines) and (at := lines[below].find(words)) >= 0:
        guesses.append((below, at))
    for line, start in guesses:
        if line < len(lines) and words and lines[line].startswith(words, start):
            return Position(origin.document.line + line, start + column + 1)
    return value


@lru_cache(maxsize=4)
def lines_of(text: str) -> list[str]:
    """Return the lines of a document, which may be large and hold many expressions."""
    return text.split("\n")


def excerpt(expression: str, offset: int) -> tuple[str, str]:
    """Return the line of the expression and a caret under the spot; tabs become blanks.

    Of a long line only the surroundings of the spot are shown.
    """
    row, column = spot(expression, offset)
    line = expression.split("\n")[row].replace("\t", " ")
    if len(line) > WIDTH:
        start = max(0, min(column - WIDTH // 2, len(line) - WIDTH))
        before, after = ("…" if start else ""), ("…" if start + WIDTH < len(line) else "")
        line = f"{before}{line[start : start + WIDTH]}{after}"
        column += len(before) - start
    return line, " " * column + "^"


def spot(expression: str, offset: int) -> tuple[int, int]:
    """Turn an offset into row and column, both from 0."""
    before = expression[: max(0, min(offset, len(expression)))]
    return before.count("\n"), len(before) - (before.rfind("\n") + 1)
