"""`"…".format([…])` as cel-go's strings version 2 has it, with the habits of Go's text printer.

%f groups thousands and pads at most 255 digits, %e takes its precision for a width and writes
×10⁰³, infinity is ∞; what stands inside a list or map is written as a literal. `clauses` reads
a format string for the checker too, which judges a literal one when it is compiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Final

from dibs.cel import runtime
from dibs.cel.runtime import (
    DefaultMap,
    Duration,
    EvaluationError,
    Map,
    Timestamp,
    UInt,
    Value,
    texts,
    times,
)
from dibs.values.quoted import quoted

_DEFAULT_PRECISION: Final = 6
# No double has more digits behind the point; more would only be zeros, and are not shown.
_MOST_DIGITS: Final = 1100
# Go's printer refuses larger figures in a format.
_MOST_PRECISION: Final = 1_000_000
# Deeper than a list can be nested by an expression of the deepest allowed nesting.
_DEEPEST: Final = 300
_SUPERSCRIPT: Final = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_FLOAT_WORDS: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}

# What each letter may be given (CEL type names), and the words of the refusal.
ACCEPTED: Final[dict[str, tuple[frozenset[str], str]]] = {
    "s": (
        frozenset(
            (
                *("list", "map", "int", "uint", "double", "bool", "string", "bytes", "type"),
                *("null_type", "google.protobuf.Timestamp", "google.protobuf.Duration"),
            )
        ),
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
        "types, durations, and timestamps",
    ),
    "d": (frozenset(("int", "uint")), "decimal clause can only be used on integers"),
    "f": (frozenset(("double", "string")), "fixed-point clause can only be used on doubles"),
    "e": (frozenset(("double", "string")), "scientific clause can only be used on doubles"),
    "b": (
        frozenset(("int", "uint", "bool")),
        "only integers and bools can be formatted as binary",
    ),
    "x": (
        frozenset(("int", "uint", "string", "bytes")),
        "only integers, byte buffers, and strings can be formatted as hex",
    ),
    "o": (frozenset(("int", "uint")), "octal clause can only be used on integers"),
}
ACCEPTED["X"] = ACCEPTED["x"]


class BadFormat(Exception):
    """A format string that cannot be read; the message is cel-go's."""


def clauses(pattern: str) -> Iterator[tuple[str, str, int | None]]:
    """Yield (text before, letter, precision); the last has letter "". Raises BadFormat."""
    text: list[str] = []
    at = 0
    while (percent := pattern.find("%", at)) >= 0:
        text.append(pattern[at:percent])
        if pattern.startswith("%%", percent):
            text.append("%")
            at = percent + 2
            continue
        # The argument is asked for before the clause is read: an empty list is reported first.
        yield "".join(text), "?", None
        text.clear()
        letter, precision, at = _clause(pattern, percent + 1)
        yield "", letter, precision
    text.append(pattern[at:])
    yield "".join(text), "", None


def _clause(pattern: str, at: int) -> tuple[str, int | None, int]:
    if at >= len(pattern):
        raise BadFormat("unexpected end of string")
    precision = None
    if pattern[at] == ".":
        end = at + 1
        while end < len(pattern) and pattern[end] in "0123456789":
            end += 1
        if end >= len(pattern):
            raise BadFormat(
                "could not parse formatting clause: error while parsing precision: "
                "could not find end of precision specifier"
            )
        digits = pattern[at + 1 : end]
        if not digits or len(digits) > 18:
            raise BadFormat(
                "could not parse formatting clause: error while parsing precision: "
                "error while converting precision to integer"
            )
        precision, at = int(digits), end
    letter = pattern[at]
    if letter not in ACCEPTED:
        raise BadFormat(
            f'could not parse formatting clause: unrecognized formatting clause "{letter}"'
        )
    return letter, precision, at + 1


def formatted(pattern: str, args: tuple[Value, ...]) -> str:
    """Put the arguments into the pattern. More arguments than clauses are let be."""
    written: list[str] = []
    size, used = 0, 0
    try:
        for before, letter, precision in clauses(pattern):
            piece = before
            if letter == "?" and used >= len(args):
                raise EvaluationError(f"index {used} out of range")
            if letter not in ("", "?"):
                piece = written_as(letter, precision, args[used])
                used += 1
            written.append(piece)
            runtime.spend_on_text(len(piece))
            size = runtime.bounded_count(size + len(piece), runtime.MOST_CHARACTERS)
    except BadFormat as bad:
        raise EvaluationError(str(bad)) from None
    return "".join(written)


def written_as(letter: str, precision: int | None, value: Value) -> str:
    """One argument in the form of its clause."""
    accepted, refusal = ACCEPTED[letter]
    name = runtime.type_name(value)
    is_word = letter in "fe" and name == "string" and value not in _FLOAT_WORDS
    if name not in accepted or is_word:
        raise EvaluationError(f"error during formatting: {refusal}, was given {name}")
    return _WRITERS[letter](value, precision)


def _string(value: Value, _: int | None = None) -> str:
    if value is None:
        return "null"
    if type(value) is runtime.TypeValue:
        return value.name
    if type(value) in (tuple, Map, DefaultMap):
        return _Literals().written(value, 0)
    return runtime.to_text(value)


def _fixed(value: float | str, precision: int | None) -> str:
    number = _FLOAT_WORDS[value] if isinstance(value, str) else value
    if not math.isfinite(number):
        return _not_finite(number)
    asked = _bounded(_DEFAULT_PRECISION if precision is None else precision)
    text = f"{number:,.{min(asked, _MOST_DIGITS)}f}"
    # The printer holds the least number of digits in one byte.
    least = asked % 256
    whole, point, fraction = text.partition(".")
    fraction = fraction.rstrip("0").ljust(least, "0") if point else ""
    return f"{whole}.{fraction}" if fraction else whole


def _scientific(value: float | str, precision: int | None) -> str:
    number = _FLOAT_WORDS[value] if isinstance(value, str) else value
    width = _bounded(_DEFAULT_PRECISION if precision is None else precision)
    if not math.isfinite(number):
        return _not_finite(number).rjust(width)
    digits, _, exponent = f"{number:.{_DEFAULT_PRECISION}e}".partition("e")
    power = f"{'-' if exponent[0] == '-' else ''}{exponent[1:]}"
    return f"{digits}×10{power.translate(_SUPERSCRIPT)}".rjust(width)


def _bounded(figure: int) -> int:
    return runtime.bounded_count(figure, _MOST_PRECISION)


def _not_finite(number: float) -> str:
    if math.isnan(number):
        return "NaN"
    return "∞" if number > 0 else "-∞"


def _decimal(value: int, _: int | None) -> str:
    return str(int(value))


def _binary(value: int, _: int | None) -> str:
    return f"{int(value):b}"


def _octal(value: int, _: int | None) -> str:
    return f"{int(value):o}"


def _hexadecimal(value: Value, _: int | None) -> str:
    if isinstance(value, str):
        return texts.encoded(value).hex()
    return value.hex() if isinstance(value, bytes) else f"{int(value):x}"


def _upper_hexadecimal(value: Value, precision: int | None) -> str:
    return _hexadecimal(value, precision).upper()


_WRITERS: Final[dict[str, Callable[[Value, int | None], str]]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "x": _hexadecimal,
    "X": _upper_hexadecimal,
    "o": _octal,
}


class _Literals:
    """Writes nested values as literals and counts the characters: sharing makes them many."""

    def __init__(self) -> None:
        self.size = 0

    def written(self, value: Value, depth: int) -> str:
        if depth > _DEEPEST:
            raise EvaluationError("error during formatting: the value is nested too deeply")
        text = self._literal(value, depth)
        if type(value) not in (tuple, Map, DefaultMap):
            self._count(len(text) + 2)
        return text

    def _count(self, characters: int) -> None:
        self.size += characters
        runtime.bounded_count(self.size, runtime.MOST_CHARACTERS)
        runtime.spend(4)

    def _literal(self, value: Value, depth: int) -> str:
        match value:
            case None:
                return "null"
            case bool():
                return "true" if value else "false"
            case UInt() | int():
                return str(int(value))
            case float():
                return _double_literal(value)
            case str():
                return quoted(value)
            case bytes():
                return f"b{quoted(texts.decoded(value))}"
            case Timestamp():
                return f'timestamp("{times.timestamp_text(value)}")'
            case Duration():
                return f'duration("{times.duration_text(value)}")'
            case runtime.TypeValue():
                return value.name
            case tuple():
                self._count(2)
                return f"[{', '.join(self.written(item, depth + 1) for item in value)}]"
            case Map():
                return self._map(value, depth)
        name = runtime.type_name(value)
        raise EvaluationError(f"error during formatting: no formatting function for {name}")

    def _map(self, value: Map, depth: int) -> str:
        self._count(2)
        pairs = []
        for key, item in zip(runtime.keys_of(value), value.values(), strict=True):
            if type(key) not in (str, bool, int, UInt):
                name = runtime.type_name(key)
                text = f"no formatting function for map key of type {name}"
                raise EvaluationError(f"error during formatting: {text}")
            pairs.append((self.written(key, depth), self.written(item, depth + 1)))
        return f"{{{', '.join(f'{key}:{item}' for key, item in sorted(pairs))}}}"


def _double_literal(number: float) -> str:
    if math.isfinite(number):
        return f"{number:.6f}"
    return '"NaN"' if math.isnan(number) else f'"{"+" if number > 0 else "-"}Inf"'
