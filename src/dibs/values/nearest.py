"""What a mistyped name may have meant: the known names that are closest to it.

Names only; whether to offer them as a remedy, and in which words, is up to who found the fault.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def names(wanted: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """At most `limit` known names, best first; none when nothing is near."""
    return difflib.get_close_matches(wanted, sorted(known), n=limit, cutoff=0.5)


def question(wanted: str, known: Iterable[str]) -> str:
    """`did you mean a, b?`, or "" when no name is near."""
    near = names(wanted, known)
    return f"did you mean {', '.join(near)}?" if near else ""
