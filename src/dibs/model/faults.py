"""One fault of an input: what is wrong, where, and what to do about it.

`documents` finds those of the text, `codec` those of the shape; `client.dump` adds file, line and
column. The rules of the API have their own vocabulary, in `model.rules`. A fault is a value and is
never raised: an input may have many, and most of it stays usable.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class FaultKind(StrEnum):
    """`syntax` and `kind` leave nothing of the object; after all others it is still usable."""

    SYNTAX = "syntax"
    DUPLICATE_KEY = "duplicate-key"
    KIND = "kind"  # no kind, no apiVersion, or a kind of our group that does not exist
    VERSION = "version"  # a version that is gone or unknown, or the shape of another version
    UNKNOWN_FIELD = "unknown-field"
    TYPE = "type"
    QUANTITY = "quantity"
    DUPLICATE_OBJECT = "duplicate-object"
    BARE_WORD = "bare-word"  # y or n without quotes: kubectl reads true or false, dibs the text
    GIVEN_UP = "given-up"  # the rest of the file was not looked at, or its faults not listed


# What the API server would answer with a warning, and drop.
PASSED_OVER = (FaultKind.UNKNOWN_FIELD, FaultKind.DUPLICATE_KEY, FaultKind.BARE_WORD)

# To place a fault takes 0.2 ms, and nobody reads more of one file.
MAX_FAULTS = 1000


@dataclass(frozen=True, slots=True)
class Fault:
    """`path` is written as the user did, in the version of their file (`spec.devices[0].basic`).

    `value` is what stands there, a plain tree. `file`, `line` and `column` (from 1) are empty and
    0 until somebody knows them. `subject` names the object: "ResourceClaim default/train".
    """

    kind: FaultKind
    path: str
    message: str
    value: object = None
    remedy: str = ""
    subject: str = ""
    file: str = ""
    line: int = 0
    column: int = 0

    def at(self, file: str, line: int, column: int) -> Fault:
        return replace(self, file=file, line=line, column=column)

    @property
    def where(self) -> str:
        """`file:line:column`, as far as it is known."""
        return ":".join(str(part) for part in (self.file, self.line, self.column) if part)

    def __str__(self) -> str:
        places = [part for part in (self.where, self.subject, self.path) if part]
        then = f"; {self.remedy}" if self.remedy else ""
        return f"{': '.join([*places, self.message])}{then}"
