"""Constants in a selector that can't be read, as in `quantity("40GB")`: which, and what to write.

Such a call ends in an error that quotes a rule and not the value. That it is an error is `cel`'s;
this finds the literal behind it, for people who look for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dibs.cel import ast
from dibs.cel.ast import Call, Literal, Node
from dibs.values.quantity import NotAQuantity, Quantity
from dibs.values.version import NotAVersion, Semver


@dataclass(frozen=True, slots=True)
class Unreadable:
    """`call` as it is written, `at` the literal's offset, `error` what evaluation ends with."""

    call: str
    at: int
    error: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.call} can't be read; {self.remedy}"


def unreadable(root: Node) -> Iterator[Unreadable]:
    """Every constant quantity or version of an expression that can never be read."""
    for node in ast.nodes(root):
        match node:
            case Call(function="quantity", args=[Literal(value=str(text)) as literal]):
                try:
                    Quantity.parse(text)
                except NotAQuantity as fault:
                    yield _found(node, literal, text, str(fault), for_quantity(text))
            case Call(function="semver", args=[Literal(value=str(text)) as literal]):
                try:
                    Semver.parse(text)
                except NotAVersion as fault:
                    yield _found(node, literal, text, str(fault), for_version(text))


def _found(call: Call, literal: Literal, text: str, error: str, remedy: str) -> Unreadable:
    short = text if len(text) <= 40 else f"{text[:40]}…"
    return Unreadable(f'{call.function}("{short}")', literal.at, error, remedy)


_SIZE = re.compile(r"([0-9.]+) *([KMGTPE])(i?)B?", re.IGNORECASE)


def for_quantity(text: str) -> str:
    """`40GB` → write 40G (40×1000³) or 40Gi (40×1024³)."""
    size = _SIZE.fullmatch(text.strip())
    if not size:
        return "write a number with a unit of Kubernetes, as in 40Gi"
    number, unit, is_binary = size[1], size[2].upper(), bool(size[3])
    decimal = f"{number}{'k' if unit == 'K' else unit}"
    if is_binary:
        return f"write {number}{unit}i"
    power = "KMGTPE".index(unit) + 1
    return f"write {decimal} ({number}×1000^{power}) or {number}{unit}i ({number}×1024^{power})"


def for_version(text: str) -> str:
    """`v12.4` → write 12.4.0."""
    parts = text.strip().removeprefix("v").split(".")
    if len(parts) <= 3 and all(part.isascii() and part.isdigit() for part in parts):
        whole = [str(int(part)) for part in parts] + ["0"] * (3 - len(parts))
        return f"write {'.'.join(whole)}"
    return "write major.minor.patch, as in 12.4.0"
