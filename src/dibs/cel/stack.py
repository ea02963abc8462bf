"""Room on Python's stack for trees as deep as the parser permits.

Python refuses more than 1000 nested calls by default; a legal expression of 250 nested macros
needs a few thousand when it is checked or evaluated. The limit is only ever raised: Python
functions calling Python functions take no C stack, so there is nothing to guard with it here.
"""

from __future__ import annotations

import sys

_DEFAULT = 1000
# What the caller may already have used up.
_RESERVE = 600


def allow(frames: int) -> None:
    """Make sure that `frames` nested calls are possible from here."""
    needed = frames + _RESERVE
    if needed > _DEFAULT and sys.getrecursionlimit() < needed + _DEFAULT:
        sys.setrecursionlimit(needed + _DEFAULT)
