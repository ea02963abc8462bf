"""Regular expressions, in RE2: linear time whatever the pattern, so hostile ones are harmless.

`find` and `findAll` are Kubernetes'; `matches` is CEL's own and declared in `standard`. Linear
still means text times pattern, and a short pattern can be a long program: work is counted.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import re2

from dibs.cel import runtime
from dibs.cel.declare import Library, member
from dibs.cel.runtime import EvaluationError
from dibs.cel.runtime.texts import encoded
from dibs.cel.types import INT, STRING, list_of

# A selector has at most 10 240 bytes; a pattern put together at run time may be no longer.
_LONGEST_PATTERN = 10_240
# RE2 in C++ has one escape that Go's has not.
_ANY_BYTE = re.compile(r"(?<!\\)(?:\\\\)*\\C")


def compiled(pattern: str) -> tuple[Any, int]:
    """The pattern ready to search bytes with, and its size. Raises EvaluationError."""
    try:
        return _compiled(pattern)
    except re2.error as error:
        reason = error.args[0]
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise EvaluationError(f"error parsing regexp: {text}") from None


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> tuple[Any, int]:
    if len(pattern) > _LONGEST_PATTERN:
        raise re2.error("expression too large")
    if _ANY_BYTE.search(pattern):
        raise re2.error(r"invalid escape sequence: `\C`")
    runtime.spend(100 + len(pattern))
    options = re2.Options()
    options.log_errors = False
    # Nobody asks for groups, and without them more searches are done by a plain automaton.
    options.never_capture = True
    # Bytes, since RE2's wrapper would count characters again after each search in a str.
    expression = re2.compile(encoded(pattern), options)
    runtime.spend(2 * expression.programsize)
    return expression, expression.programsize


def _search(text: str, pattern: str) -> Any:
    expression, size = compiled(pattern)
    data = encoded(text)
    runtime.spend(len(data) * size // 16)
    return expression.search(data)


def matches(text: str, pattern: str) -> bool:
    """Whether the pattern is found anywhere in the text."""
    return _search(text, pattern) is not None


def find(text: str, pattern: str) -> str:
    """The first match, "" where there is none."""
    found = _search(text, pattern)
    return _decoded(found[0]) if found else ""


def find_all(text: str, pattern: str, most: int = -1) -> tuple[str, ...]:
    """The matches from left to right, at most `most` of them; negative means all."""
    expression, size = compiled(pattern)
    data = encoded(text)
    found: list[str] = []
    ended = -1
    for match in expression.finditer(data):
        if len(found) == most:
            break
        # Each search may have looked at all that is left.
        runtime.spend((len(data) - match.start()) * size // 16)
        is_within_character = match.start() < len(data) and data[match.start()] & 0xC0 == 0x80
        # Go ignores an empty match right behind the one before; RE2's wrapper does not.
        if match.start() == match.end() and (match.start() == ended or is_within_character):
            continue
        found.append(_decoded(match[0]))
        ended = match.end()
    return tuple(found)


def _decoded(data: bytes) -> str:
    # Only a lone surrogate, which broken input may hold, does not decode.
    return data.decode("utf-8", "replace")


LIBRARY = Library(
    "kubernetes.regex",
    (
        *member("find", ("string_find_string", (STRING, STRING), STRING, find)),
        *member(
            "findAll",
            ("string_find_all_string", (STRING, STRING), list_of(STRING), find_all),
            ("string_find_all_string_int", (STRING, STRING, INT), list_of(STRING), find_all),
        ),
    ),
)
