"""JSON texts to trees, with care: duplicate keys, places, clear faults; and a quick way beside it.

The quick way is msgspec's decoder; it cannot see duplicate keys, so keys are counted before and
after. Streams hold several values one after another, on lines of their own or not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from dibs.model.yaml_reader import MAX_REPEATS, Place, Reading, Repeat, Steps, Unreadable

_BLANK = re.compile(r"[ \t\r\n]*")
_COLON = re.compile(r'"[ \t\r\n]*:')


def quick(content: bytes) -> object:
    """Return the one value in `content`, or raise ValueError: read it with `values` instead."""
    try:
        tree: object = msgspec.json.decode(content)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if may_repeat_keys(content, tree):
        raise ValueError("some key may stand twice")
    return tree


def may_repeat_keys(content: bytes, tree: object) -> bool:
    """Whether a mapping in `content`, which was decoded to `tree`, may have one key twice.

    A dropped key leaves fewer colons after quotes. Strings count alike on both sides, unless the
    quote is written as an escape, or blanks stand before the colon.
    """
    if b"u0022" in content:
        return True
    there = content.count(b'":')
    return there != msgspec.json.encode(tree).count(b'":') or b'" :' in content


class Value(NamedTuple):
    """One value of a stream, from `start` to `end` in the text."""

    tree: object
    start: int
    end: int


def values(text: str) -> Iterator[Value]:
    """Yield the values of a stream one by one. Raises Unreadable at the first that is broken."""
    decoder = json.JSONDecoder(parse_constant=_no_constant, parse_float=_number)
    at = _skip(text, 0)
    while at < len(text):
        try:
            tree, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as fault:
            raise Unreadable(_worded(fault), fault.lineno, fault.colno, _remedy(fault)) from None
        except RecursionError:
            raise _unreadable(text, at, "nested too deeply") from None
        except ValueError as fault:
            raise _unreadable(text, at, str(fault)) from None
        yield Value(_mended(tree) if _SURROGATE.search(text, at, end) else tree, at, end)
        at = _skip(text, end)


def _skip(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    assert blank
    return blank.end()


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def _mended(tree: object) -> object:
    """Halves of surrogate pairs, written as escapes, become U+FFFD as in Go; they are no text."""
    match tree:
        case str():
            return tree.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case list():
            return [_mended(item) for item in tree]
        case dict():
            return {_mended(key): _mended(item) for key, item in tree.items()}
        case _:
            return tree


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON value")


def _number(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"the number {text[:40]} is too large")
    return number


def _worded(fault: json.JSONDecodeError) -> str:
    return fault.msg[:1].lower() + fault.msg[1:].removesuffix(" at")


def _remedy(fault: json.JSONDecodeError) -> str:
    if "delimiter" in fault.msg:
        return "a comma, colon or closing bracket is missing here or just before"
    if "double quotes" in fault.msg:
        return "write names in double quotes, and no comma after the last entry"
    if "control character" in fault.msg:
        return "write line breaks and tabs inside strings as \\n and \\t"
    return ""


def _unreadable(text: str, at: int, message: str) -> Unreadable:
    line = text.count("\n", 0, at) + 1
    return Unreadable(message, line, at - text.rfind("\n", 0, at))


def root(text: str) -> Place:
    """Return where the value in `text` begins."""
    at = _skip(text, 0)
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return Place(line, column, line, column)


def survey(text: str) -> Reading:
    """Find every entry's place and every repeated key of one value, known to be valid.

    The tree is not built again.
    """
    return _Survey(text).run()


# The standard library's reader of one string: text and position after the quote → value and end.
_string: Callable[[str, int], tuple[str, int]] = vars(json.decoder)["scanstring"]


class _Frame:
    __slots__ = ("first_lines", "index", "is_list", "steps")

    def __init__(self, steps: Steps, is_list: bool):
        self.steps, self.is_list = steps, is_list
        self.index = 0
        self.first_lines: dict[str, int] = {}


_TOKEN = re.compile(r'[ \t\r\n]*(?:([\[{\]},:])|(")|([^\s\[\]{},:"]+))')


class _Survey:
    """Walks the tokens with a stack of its own: depth is bounded by whoever decoded before."""

    def __init__(self, text: str):
        self.text = text
        self.reading = Reading()
        self.stack: list[_Frame] = []
        # The key that waits for its value, and where it stands.
        self.key: tuple[str, int, int] | None = None
        self.line, self.line_start = 1, 0

    def run(self) -> Reading:
        at = 0
        while token := _TOKEN.match(self.text, at):
            start = token.end() - len(token.group().lstrip(" \t\r\n"))
            self.advance(at, start)
            at = token.end()
            mark, quote, _ = token.groups()
            if quote:
                string, at = _string(self.text, at)
                self.string(string, start)
            elif mark in ("{", "["):
                steps = self.value(start)
                self.stack.append(_Frame(steps, mark == "["))
            elif mark in ("}", "]"):
                self.stack.pop()
            elif mark is None:
                self.value(start)
        return self.reading

    def advance(self, at: int, to: int) -> None:
        # Only blanks hold line breaks: inside strings they are escapes.
        breaks = self.text.count("\n", at, to)
        if breaks:
            self.line += breaks
            self.line_start = self.text.rfind("\n", at, to) + 1

    def string(self, string: str, start: int) -> None:
        frame = self.stack[-1] if self.stack else None
        if frame is None or frame.is_list or self.key is not None:
            self.value(start)
            return
        column = start - self.line_start + 1
        self.key = (string, self.line, column)
        if string in frame.first_lines and len(self.reading.repeats) < MAX_REPEATS:
            first = frame.first_lines[string]
            repeat = Repeat((*frame.steps, string), self.line, column, first)
            self.reading.repeats.append(repeat)
        frame.first_lines.setdefault(string, self.line)

    def value(self, start: int) -> Steps:
        column = start - self.line_start + 1
        if not self.stack:
            steps: Steps = ()
            place = Place(self.line, column, self.line, column)
        elif self.stack[-1].is_list:
            frame = self.stack[-1]
            steps = (*frame.steps, frame.index)
            frame.index += 1
            place = Place(self.line, column, self.line, column)
        else:
            assert self.key is not None
            steps = (*self.stack[-1].steps, self.key[0])
            place = Place(self.key[1], self.key[2], self.line, column)
            self.key = None
        self.reading.places[steps] = place
        return steps
