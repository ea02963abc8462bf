"""What a mistyped name may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def names(wanted: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """The known names closest to the wanted one, best first."""
    return difflib.get_close_matches(wanted, list(known), n=limit, cutoff=0.5)


def hint(wanted: str, known: Iterable[str]) -> str:
    """`; did you mean a, b?`, or nothing when no name is near."""
    near = names(wanted, known)
    return f"; did you mean {', '.join(near)}?" if near else ""
