"""The values of literal tokens: numbers in range, strings with their escapes undone.

Source: the CEL specification, "values" and "string and bytes values".
"""

from __future__ import annotations

import math
import re

from dibs.cel.runtime import LEAST_INT, MOST_INT, MOST_UINT, UInt

_ESCAPE = re.compile(r"\\(?:[xX]([0-9a-fA-F]{2})|u(.{4})|U(.{8})|([0-3][0-7]{2})|(.))", re.S)
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class BadLiteral(Exception):
    """The token has the form of a literal and no value; the text says what is wrong."""


def integer(text: str) -> int:
    """Read an int literal, sign included."""
    number = _whole(text.removeprefix("-"))
    if number is not None:
        number = -number if text.startswith("-") else number
        if LEAST_INT <= number <= MOST_INT:
            return number
    raise BadLiteral("invalid int literal")


def unsigned(text: str) -> UInt:
    number = _whole(text[:-1])
    if number is None or number > MOST_UINT:
        raise BadLiteral("invalid uint literal")
    return UInt(number)


def double(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise BadLiteral("invalid double literal")
    return number


def _whole(text: str) -> int | None:
    """None for what is far beyond 64 bits: Python would take long over very long digits."""
    if text.startswith("0x"):
        digits = text[2:].lstrip("0") or "0"
        return int(digits, 16) if len(digits) <= 16 else None
    digits = text.lstrip("0") or "0"
    return int(digits) if len(digits) <= 20 else None


def string(text: str) -> str:
    """Undo quotes and escapes of a string token."""
    body, is_raw = _unquoted(text)
    if is_raw or "\\" not in body:
        return body
    return _ESCAPE.sub(_character, body)


def byte_string(text: str) -> bytes:
    r"""As `string`, but `\x` and octal escapes are bytes and there is no `\u`."""
    body, is_raw = _unquoted(text[1:])
    if is_raw or "\\" not in body:
        return body.encode()
    parts, at = [], 0
    for escape in _ESCAPE.finditer(body):
        parts.append(body[at : escape.start()].encode())
        hexadecimal, short, long, octal, simple = escape.groups()
        if short or long:
            raise BadLiteral("unable to unescape string")
        if simple:
            parts.append(_SIMPLE.get(simple, simple).encode())
        else:
            parts.append(bytes([int(hexadecimal, 16) if hexadecimal else int(octal, 8)]))
        at = escape.end()
    parts.append(body[at:].encode())
    return b"".join(parts)


def _unquoted(text: str) -> tuple[str, bool]:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    is_raw = text[0] in "rR"
    if is_raw:
        text = text[1:]
    width = 3 if len(text) >= 6 and text[:3] in ('"""', "'''") else 1
    return text[width:-width], is_raw


def _character(escape: re.Match[str]) -> str:
    hexadecimal, short, long, octal, simple = escape.groups()
    if simple:
        return _SIMPLE.get(simple, simple)
    if octal:
        return chr(int(octal, 8))
    code = int(hexadecimal or short or long, 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise BadLiteral("invalid unicode code point")
    return chr(code)
