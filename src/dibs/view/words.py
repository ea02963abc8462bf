"""Counted nouns and short lists, as every view writes them."""

from __future__ import annotations

from collections.abc import Sequence


def counted(number: int, noun: str) -> str:
    """`1 node`, `2 nodes`, `2 classes`."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun}{'es' if noun.endswith('s') else 's'}"


def listed(names: Sequence[str], limit: int = 3) -> str:
    """`a, b, c and 4 more`."""
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def spanned(names: Sequence[str], noun: str) -> str:
    """`node-1, node-2`, or `node-001 … node-499 (499 nodes)` when there are many."""
    if len(names) <= 3:
        return ", ".join(names)
    return f"{names[0]} … {names[-1]} ({counted(len(names), noun)})"
