"""Literals of an expression beside the kinds of attributes they are compared with."""

from __future__ import annotations

import re

from dibs.lint.reads import Comparison

STRICT = re.compile(r"\d+\.\d+\.\d+")


def fits(value: object, kinds: frozenset[str]) -> bool:
    """Whether the literal can be equal to, or ordered with, an attribute of one of these kinds."""
    match value:
        case bool():
            return "bool" in kinds
        case int() | float():
            return "int" in kinds
        case str():
            return "string" in kinds
    return True


def noun(value: object) -> str:
    match value:
        case bool():
            return "a bool"
        case int() | float():
            return "a number"
    return "a text"


def text(value: object) -> str:
    """Return the literal as one writes it in CEL."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{value}"'
    return str(value)


def remedy(read: str, comparison: Comparison, kind: str) -> str:
    """Say how an attribute of this kind is compared with that literal."""
    value = comparison.value
    bare = value if isinstance(value, str) else text(value)
    match kind:
        case "version":
            parsed = f'"{bare}"' if STRICT.match(bare) else f'"{bare}", true'
            return f"compare it with {read}.compareTo(semver({parsed})) {comparison.operator} 0"
        case "ints" | "bools" | "strings":
            return f"ask {text(value)} in {read}"
        case "versions":
            return f'ask {read}.exists(v, v == semver("{bare}"))'
        case "string":
            return f'write "{bare}"'
    return f"write {bare} without quotes"
