"""What is wrong with an expression, and where: the faults a compilation ends with.

Lines and columns count from 1, columns in code points, as upstream prints them. A fault of the
expression as a whole (too deep, too long) stands at line -1, column 0 and has no snippet.
"""

from __future__ import annotations

import bisect
import unicodedata
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of the source, in code points: `start` inclusive, `end` exclusive."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. `is_syntax` tells grammar from meaning."""

    message: str
    line: int = -1
    column: int = 0
    span: Span | None = None
    is_syntax: bool = False


class CompileError(Exception):
    """The expression cannot be used; `faults` says all that is wrong, in order of position.

    `str()` has upstream's form: one block a fault, with the line and a caret under the spot. What
    upstream tells without a place (`instead`, the text before the fault's) has neither.
    """

    def __init__(self, faults: tuple[Fault, ...], expression: str, instead: str | None = None):
        super().__init__(faults[0].message)
        self.faults = faults
        self.expression = expression
        self.instead = instead

    def __str__(self) -> str:
        if self.instead is not None:
            return self.instead + self.faults[0].message
        lines = self.expression.split("\n")
        shown = "\n".join(displayed(fault, lines) for fault in self.faults)
        return f"compilation failed: {shown}"


class Source:
    """The text of an expression, and where its lines begin."""

    __slots__ = ("starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0]
        at = text.find("\n")
        while at >= 0:
            self.starts.append(at + 1)
            at = text.find("\n", at + 1)

    def place(self, offset: int) -> tuple[int, int]:
        """Turn an offset into (line, column), both from 1."""
        line = bisect.bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def fault(
        self, message: str, offset: int, span: Span | None = None, *, is_syntax: bool = False
    ) -> Fault:
        line, column = self.place(offset)
        return Fault(message, line, column, span or Span(offset, offset + 1), is_syntax)


def displayed(fault: Fault, lines: list[str]) -> str:
    """The fault as upstream shows it: position, text, source line, caret."""
    head = f"ERROR: <input>:{fault.line}:{fault.column}: {fault.message}"
    if not 0 < fault.line <= len(lines):
        return head
    line = lines[fault.line - 1].replace("\t", " ")
    before = line[: fault.column - 1]
    at = line[fault.column - 1 : fault.column]
    # A wide character needs a wide mark beneath it to keep the caret in its column.
    dots = "".join("．" if _is_wide(char) else "." for char in before)
    dots += "." * (fault.column - 1 - len(before))
    return f"{head}\n | {line}\n | {dots}{'＾' if at and _is_wide(at) else '^'}"


def _is_wide(char: str) -> bool:
    return ord(char) > 127 and unicodedata.east_asian_width(char) in ("W", "F")
