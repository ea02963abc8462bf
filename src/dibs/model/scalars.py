"""What a bare word of YAML means: text, number, true or false, nothing.

Kubernetes reads YAML as Go's yaml.v2 does: YAML 1.1 with changes. `on` and `yes` are true;
017 and 0o17 are octal; 1_000, 0x10, .5 and 1e3 are numbers; 1:30 and 2026-03-10 stay text. The
result is what the same document is after kubectl has turned it into JSON, so a float without a
fraction is an int (1e3 is 1000). One difference is meant: a bare y or n is true or false there and
text here, as in most other readers, and `documents` warns of it; people name nodes and keys so.
Source: sigs.k8s.io/yaml, resolution of scalars and conversion to JSON.
"""

from __future__ import annotations

import base64
import binascii
import re
from functools import lru_cache

Scalar = str | int | float | bool | None


class Unresolvable(ValueError):
    """The scalar cannot be what its tag says, or has no JSON form (.nan, .inf)."""


_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("no", "No", "NO", "off", "Off", "OFF"), False),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
# Text here, true or false to kubectl.
DOUBTFUL = frozenset("yYnN")
_ENDLESS = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_INT = re.compile(
    r"[-+]?(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<bin>[01]+)|0[oO]?(?P<oct>[0-7]+)|(?:0|[1-9][0-9]*))",
    re.ASCII,
)
# Beyond this JSON has an exponent, and no integer field of the API reaches it.
_LARGEST_WHOLE = 1e21
_LONGEST_INT = 1000

_TAG = "tag:yaml.org,2002:"


def tagged(text: str, tag: str) -> Scalar:
    """Read a scalar that carries a tag; unknown tags make it text. Raises Unresolvable."""
    name = tag.removeprefix(_TAG)
    if name == "binary":
        try:
            return base64.b64decode(text, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError) as fault:
            raise Unresolvable(f"!!binary value is no base64 of a text: {fault}") from None
    if name not in ("null", "bool", "int", "float"):
        return text
    value = plain(text)
    if name == "float" and type(value) is int:
        return value
    if name != ("null" if value is None else type(value).__name__):
        raise Unresolvable(f'"{text}" cannot be read as !!{name}')
    return value


@lru_cache(maxsize=4096)
def plain(text: str) -> Scalar:
    """Read a scalar without quotes and tag. Raises Unresolvable."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    if _ENDLESS.fullmatch(text):
        raise Unresolvable(f'"{text}" is no number that JSON can hold')
    number = _number(text if text[0] == "." else text.replace("_", ""))
    return text if number is None else number


def _number(text: str) -> int | float | None:
    if whole := _INT.fullmatch(text):
        if len(text) > _LONGEST_INT:
            raise Unresolvable(f"a number of {len(text)} digits is too long")
        sign = -1 if text[0] == "-" else 1
        for base, digits in ((16, whole["hex"]), (2, whole["bin"]), (8, whole["oct"])):
            if digits is not None:
                return sign * int(digits, base)
        return int(text)
    if not _FLOAT.fullmatch(text):
        return None
    number = float(text)
    if number in (float("inf"), float("-inf")):
        return None
    return int(number) if number.is_integer() and abs(number) < _LARGEST_WHOLE else number


def key(text: str) -> str:
    """Return the text that a bare mapping key becomes: `on:` is "true", `0x10:` is "16"."""
    value = plain(text)
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        raise Unresolvable("a key is empty")
    return value if isinstance(value, str) else f"{value}"


def is_text(text: str) -> bool:
    """Whether every reader takes the text, written without quotes, as text again."""
    try:
        return isinstance(plain(text), str) and text not in DOUBTFUL
    except Unresolvable:
        return False
