"""The words of an explanation: what was seen, what is wanted, which does not go together.

Signs for comparisons, verbs for methods, names for paths; `explain` finds the parts to speak of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["true", "false", "error"]


@dataclass(frozen=True, slots=True)
class Seen:
    """An operand as written, and the value it had."""

    text: str
    value: str


SIGNS = {"_==_": "=", "_!=_": "≠", "_<_": "<", "_<=_": "≤", "_>_": ">", "_>=_": "≥"}
MIRRORED = {
    "_==_": "_==_",
    "_!=_": "_!=_",
    "_<_": "_>_",
    "_<=_": "_>=_",
    "_>_": "_<_",
    "_>=_": "_<=_",
}
COMPARED = {
    ("_>=_", 0): "≥",
    ("_>_", 0): ">",
    ("_<=_", 0): "≤",
    ("_<_", 0): "<",
    ("_==_", 0): "=",
    ("_!=_", 0): "≠",
    ("_==_", 1): ">",
    ("_==_", -1): "<",
    ("_>=_", 1): ">",
    ("_<=_", -1): "<",
}
# What is wanted, and what is the case.
VERBS = {
    "isGreaterThan": (">", "which is >"),
    "isLessThan": ("<", "which is <"),
    "startsWith": ("one that starts with", "which starts with"),
    "endsWith": ("one that ends with", "which ends with"),
    "contains": ("one that contains", "which contains"),
    "matches": ("one that matches", "which matches"),
    "includes": ("it to include", "which includes"),
}


def joined(verdict: Verdict, phrases: Sequence[str]) -> str:
    """The arms of an `||` that are all false, or of an `&&` that are all true."""
    return ("; and " if verdict == "false" else " and ").join(phrases)


def told(seen: Seen) -> str:
    """As in "memory is 40Gi"."""
    return f"{name_of(seen)} is {seen.value}"


def says(operands: tuple[Seen, ...], sign: str, verdict: Verdict) -> str:
    """A comparison in words; what is equal as wanted needs no second mention."""
    left, right = operands
    is_path = _isname_of(right.text) and right.value not in ("true", "false", "null")
    other = f"{name_of(right)}, which is {right.value}" if is_path else right.value
    text = told(left)
    if verdict == "true":
        verb = {"=": "", "≠": f", not {other}"}.get(sign, f", which is {sign} {other}")
        return text + verb
    verb = {"=": other, "≠": f"anything but {other}"}.get(sign, f"{sign} {other}")
    return f"{text}, selector wants {verb}"


def misfit(function: str, operands: tuple[Seen, ...]) -> str:
    """Values of types that an operator or function does not take."""
    first = told(operands[0])
    if function in SIGNS and len(operands) == 2:
        return f"{first}, which does not compare with {operands[1].value}"
    taker = _OPERATORS.get(function, function.strip("_"))
    return f"{first}, which {taker} does not take"


_OPERATORS = {"@in": "in", "_[_]": "an index", "!_": "!", "-_": "-"}


def name_of(seen: Seen) -> str:
    """What to call an operand: the last name of a path, else as it is written."""
    text = seen.text.rstrip("]\"' ")
    for mark in (".", '"', "'"):
        head, found, tail = text.rpartition(mark)
        if found and tail.replace("_", "").isalnum() and _isname_of(head):
            return tail
    return seen.text


def _isname_of(text: str) -> bool:
    """True for a path of names and constant keys."""
    return "(" not in text and " " not in text and text[:1].isalpha()
