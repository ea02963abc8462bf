"""Everything that dibs prints passes here: answers on stdout, remarks on stderr.

It decides the form when nobody says (a table for a terminal, JSON for a pipe) and keeps control
characters of foreign objects off the terminal. What is printed is made in `view`.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import sys
from collections.abc import Iterable

from dibs.values.mistake import Mistake
from dibs.values.stats import Stats

# All C0 and C1 controls but newline and tab, and what turns the direction of text: a device
# attribute may hold an escape sequence.
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def wants_color() -> bool:
    """NO_COLOR set to anything but nothing turns colour off: https://no-color.org."""
    return is_terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def say(text: str) -> None:
    """Write an answer for eyes to stdout. Raises Mistake when stdout can't take it (disk full)."""
    say_plain(printable(text))


def say_json(record: object) -> None:
    """Write one JSON document, indented."""
    # Not json: it indents in Python, and the reasons of 4,000 devices take it 0.2 s.
    import msgspec  # not above: `dibs --help` has no use for it

    say_plain(msgspec.json.format(msgspec.json.encode(record), indent=2).decode())


def say_json_line(record: object) -> None:
    """Write one line of JSON lines."""
    say_plain(json.dumps(record, ensure_ascii=False))


def say_plain(text: str) -> None:
    """Write what a program reads: JSON and YAML escape control characters themselves."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.write(text)
        if text and not text.endswith("\n"):
            sys.stdout.write("\n")
    except OSError as fault:
        raise_unless_closed(fault)


def remark_on(stats: Iterable[Stats]) -> None:
    """How well caches did, on stderr; those that were never asked say nothing."""
    for each in stats:
        if each.hits or each.misses:
            remark(str(each))


def flush() -> None:
    """Hand everything to the operating system while faults can still be reported."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError as fault:
        raise_unless_closed(fault)


def raise_unless_closed(fault: OSError) -> None:
    if fault.errno in (errno.EPIPE, errno.ESHUTDOWN):
        raise fault
    raise Mistake(
        f"standard output can't be written: {fault.strerror}",
        path="stdout",
        remedy="free some space or write elsewhere",
    ) from fault


def remark(text: str) -> None:
    """Write something beside the answer to stderr, after what has been answered so far: both may
    go to one file."""
    # What can't be written is told at the end, when all is handed over.
    with contextlib.suppress(Mistake, OSError):
        flush()
    if sys.stderr is not None:
        sys.stderr.write(printable(text) + "\n")


def complain(text: str) -> None:
    """Say on stderr what is wrong, under dibs' name as in every pipeline."""
    remark(f"dibs: {text}")


def printable(text: str) -> str:
    return CONTROLS.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
