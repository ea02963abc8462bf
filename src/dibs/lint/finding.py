"""What lint says: one fault of one place, with what to do about it, and how it is written.

A finding is a value; the rules make them, `check` orders them, the command line prints them.
Nothing here decides what is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """`error`: the API server or every node says no. `warning`: legal, and hardly what is meant.

    `file`, `line` and `column` (from 1, 0 when unknown) say where; `subject` is the object
    ("ResourceClaim default/train"), `path` its field in the version the user wrote. `excerpt` is
    the line of the expression and a caret under it, for faults inside CEL; otherwise empty.
    """

    severity: Severity
    code: str
    message: str
    remedy: str = ""
    file: str = ""
    line: int = 0
    column: int = 0
    subject: str = ""
    path: str = ""
    excerpt: tuple[str, ...] = ()


def text(finding: Finding) -> str:
    """Return `file:line:col: severity[code] message; remedy`, the excerpt indented below it."""
    where = ":".join(str(part) for part in (finding.file, finding.line, finding.column) if part)
    then = f"; {finding.remedy}" if finding.remedy else ""
    head = f"{where}: {finding.severity}[{finding.code}] {finding.message}{then}"
    return "\n".join((head, *(f"    {line}" for line in finding.excerpt)))


def row(finding: Finding) -> dict[str, object]:
    """Return the finding as a JSON object; keys are always all there, in this order."""
    return {
        "severity": finding.severity,
        "code": finding.code,
        "message": finding.message,
        "remedy": finding.remedy,
        "file": finding.file,
        "line": finding.line,
        "column": finding.column,
        "subject": finding.subject,
        "path": finding.path,
        "excerpt": list(finding.excerpt),
    }
