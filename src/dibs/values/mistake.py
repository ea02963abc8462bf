"""The one exception for input that is wrong: it names path, value and remedy.

A refusal ("no device fits") is a value and never raised; a bug is an assertion. What is left is
the user's mistake, raised anywhere and caught once, at the rim, where it becomes exit code 2.
"""

from __future__ import annotations


class Mistake(Exception):
    """`path` is a file, a file:line:column, or a field path; `remedy` says what to do next."""

    def __init__(self, message: str, *, path: str = "", value: object = None, remedy: str = ""):
        super().__init__(message)
        self.message = message
        self.path = path
        self.value = value
        self.remedy = remedy

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        then = f"; {self.remedy}" if self.remedy else ""
        return f"{where}{self.message}{then}"
