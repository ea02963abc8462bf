"""The string functions of cel-go's extension, version 2, except `format` (see `formatting`).

Positions count code points. What a result may grow to is bounded before it is built.
"""

from __future__ import annotations

from dibs.cel import runtime
from dibs.cel.declare import Library, function, member
from dibs.cel.libraries import formatting
from dibs.cel.runtime import EvaluationError, Value
from dibs.cel.types import DYN, INT, STRING, list_of

# What Unicode calls white space. Python's strip() would also take the separators 0x1c to 0x1f.
_BLANKS = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_UPPER, _LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
_TO_LOWER, _TO_UPPER = str.maketrans(_UPPER, _LOWER), str.maketrans(_LOWER, _UPPER)
_ESCAPES = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        '"': '\\"',
    }
)


def _outside(position: int) -> EvaluationError:
    return EvaluationError(f"index out of range: {position}")


def char_at(text: str, position: int) -> str:
    """One character; "" just behind the last."""
    if not 0 <= position <= len(text):
        raise _outside(position)
    return text[position : position + 1]


def index_of(text: str, wanted: str, start: int = 0) -> int:
    """Where `wanted` begins at or after `start`, or -1. Nothing is found at `start` itself."""
    if not wanted:
        return start
    if start < 0:
        raise _outside(start)
    return text.find(wanted, start)


def last_index_of(text: str, wanted: str, start: int | None = None) -> int:
    """Where the last `wanted` that begins at or before `start` begins, or -1."""
    if not wanted:
        return len(text) if start is None else start
    if start is None:
        return _find_back(text, wanted)
    if start < 0:
        raise _outside(start)
    # A start behind the end finds nothing, not even what a smaller start would.
    return _find_back(text[: start + len(wanted)], wanted) if start < len(text) else -1


def _find_back(text: str, wanted: str) -> int:
    # Python's rfind takes the product of both lengths; its find, the sum.
    if len(text) * len(wanted) < 100_000:
        return text.rfind(wanted)
    found = text[::-1].find(wanted[::-1])
    return len(text) - found - len(wanted) if found >= 0 else -1


def join(items: tuple[Value, ...], separator: str = "") -> str:
    total = len(separator) * len(items)
    runtime.spend(len(items) // 2)
    for item in items:
        if type(item) is not str:
            raise runtime.no_overload("join")
        total = runtime.bounded_count(total + len(item), runtime.MOST_CHARACTERS)
    return separator.join(items)


def lower_ascii(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(_TO_LOWER)


def upper_ascii(text: str) -> str:
    return text.upper() if text.isascii() else text.translate(_TO_UPPER)


def replace(text: str, old: str, new: str, most: int = -1) -> str:
    """Replace the first `most` occurrences, all when negative. "" occurs around every character."""
    if most == 0 or old == new:
        return text
    growth = len(new) - len(old)
    if growth > 0:
        found = text.count(old)
        found = found if most < 0 else min(found, most)
        runtime.bounded_count(len(text) + growth * found, runtime.MOST_CHARACTERS)
    return text.replace(old, new, min(most, len(text) + 1))


def split(text: str, separator: str, most: int = -1) -> tuple[str, ...]:
    """Cut into at most `most` parts, as many as there are when negative."""
    if most == 0:
        return ()
    found = text.count(separator) + 1 if separator else len(text)
    runtime.bounded_count(found if most < 0 else min(found, most))
    if separator:
        return tuple(text.split(separator, most - 1 if 0 < most < found else -1))
    if most < 0 or most >= len(text):
        return tuple(text)
    return (*text[: most - 1], text[most - 1 :])


def substring(text: str, start: int, end: int | None = None) -> str:
    if end is not None and start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    if not 0 <= start <= len(text):
        raise _outside(start)
    if end is not None and not end <= len(text):
        raise _outside(end)
    return text[start:end]


def trim(text: str) -> str:
    return text.strip(_BLANKS)


def quote(text: str) -> str:
    """The text as a CEL literal."""
    runtime.spend_on_text(10 * len(text))
    return f'"{text.translate(_ESCAPES)}"'


_STRINGS = list_of(STRING)

LIBRARY = Library(
    "strings",
    (
        *member("charAt", ("string_char_at_int", (STRING, INT), STRING, char_at)),
        *member(
            "indexOf",
            ("string_index_of_string", (STRING, STRING), INT, index_of),
            ("string_index_of_string_int", (STRING, STRING, INT), INT, index_of),
        ),
        *member(
            "lastIndexOf",
            ("string_last_index_of_string", (STRING, STRING), INT, last_index_of),
            ("string_last_index_of_string_int", (STRING, STRING, INT), INT, last_index_of),
        ),
        *member(
            "join",
            ("list_join", (_STRINGS,), STRING, join),
            ("list_join_string", (_STRINGS, STRING), STRING, join),
        ),
        *member("lowerAscii", ("string_lower_ascii", (STRING,), STRING, lower_ascii)),
        *member("upperAscii", ("string_upper_ascii", (STRING,), STRING, upper_ascii)),
        *member(
            "replace",
            ("string_replace_string_string", (STRING, STRING, STRING), STRING, replace),
            ("string_replace_string_string_int", (STRING, STRING, STRING, INT), STRING, replace),
        ),
        *member(
            "split",
            ("string_split_string", (STRING, STRING), _STRINGS, split),
            ("string_split_string_int", (STRING, STRING, INT), _STRINGS, split),
        ),
        *member(
            "substring",
            ("string_substring_int", (STRING, INT), STRING, substring),
            ("string_substring_int_int", (STRING, INT, INT), STRING, substring),
        ),
        *member("trim", ("string_trim", (STRING,), STRING, trim)),
        *member("format", ("string_format", (STRING, list_of(DYN)), STRING, formatting.formatted)),
        *function("strings.quote", ("strings_quote", (STRING,), STRING, quote)),
    ),
)
