"""Regular expressions, in RE2: linear time whatever the pattern, so hostile ones are harmless.

`find` and `findAll` are Kubernetes'; `matches` is CEL's own and declared in `standard`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import re2

from dibs.cel import runtime
from dibs.cel.declare import Library, member
from dibs.cel.runtime import EvaluationError
from dibs.cel.types import INT, STRING, list_of

# A selector has at most 10 240 bytes; a pattern put together at run time may be no longer.
_LONGEST_PATTERN = 10_240
# RE2 in C++ has one escape that Go's has not.
_ANY_BYTE = re.compile(r"(?<!\\)(?:\\\\)*\\C")


def compiled(pattern: str) -> Any:
    """The pattern ready to search with. Raises EvaluationError when it is none."""
    try:
        return _compiled(pattern)
    except re2.error as error:
        reason = error.args[0]
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise EvaluationError(f"error parsing regexp: {text}") from None
    except UnicodeEncodeError:
        raise EvaluationError("error parsing regexp: invalid UTF-8") from None


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> Any:
    if len(pattern) > _LONGEST_PATTERN:
        raise re2.error("expression too large")
    if _ANY_BYTE.search(pattern):
        raise re2.error(r"invalid escape sequence: `\C`")
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


def matches(text: str, pattern: str) -> bool:
    """Whether the pattern is found anywhere in the text."""
    return search(compiled(pattern), text) is not None


def find(text: str, pattern: str) -> str:
    """The first match, "" where there is none."""
    found = search(compiled(pattern), text)
    return found[0] if found else ""


def find_all(text: str, pattern: str, most: int = -1) -> tuple[str, ...]:
    """The matches from left to right, at most `most` of them; negative means all."""
    expression = compiled(pattern)
    found: list[str] = []
    ended = -1
    for match in expression.finditer(_searchable(text)):
        if len(found) == most:
            break
        # Go ignores an empty match right behind the one before; RE2's wrapper does not.
        if match.start() == match.end() == ended:
            continue
        found.append(match[0])
        ended = match.end()
        runtime.bounded_count(len(found))
    return tuple(found)


def search(expression: Any, text: str) -> Any:
    """A match object or None."""
    return expression.search(_searchable(text))


def _searchable(text: str) -> str:
    """Text with lone surrogates, which only broken input has, does not encode: mark them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


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
