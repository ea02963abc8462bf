"""Worlds and objects as Hypothesis strategies. Needs the extra: `pip install dibs[testing]`.

Each is made from a tape of bytes that Hypothesis draws at once: a hundred times faster than
a draw a choice, and it still shrinks, because a byte of 0 stands for the plainest choice.
"""

from __future__ import annotations

import random

from hypothesis import strategies

from dibs.model.kinds import KINDS, Known
from dibs.testing import anything, tight
from dibs.testing.question import Question
from dibs.testing.tight import SMALL, Size
from dibs.testing.worlds import World, drawn
from dibs.testing.worlds.traits import Traits

# Longer than all but the largest need; beyond its end every choice is the plainest.
_TAPE = 400


def worlds(traits: Traits = frozenset()) -> strategies.SearchStrategy[World]:
    """Valid small worlds with these traits."""
    tapes = strategies.binary(min_size=_TAPE, max_size=_TAPE)
    return tapes.map(lambda tape: drawn(_Tape(tape), traits))


def tight_questions(size: Size = SMALL) -> strategies.SearchStrategy[Question]:
    """Questions in which devices are scarce; about half of them can't be satisfied."""
    tapes = strategies.binary(min_size=_TAPE, max_size=_TAPE)
    return tapes.map(lambda tape: tight.drawn(_Tape(tape), size))


def objects() -> strategies.SearchStrategy[Known]:
    """Objects of every kind with any fields set, valid by the API or not."""
    tapes = strategies.binary(min_size=_TAPE, max_size=_TAPE)
    structs = strategies.sampled_from([kind.struct for kind in KINDS])
    return strategies.builds(
        lambda tape, struct: anything.drawn(_Tape(tape), struct), tapes, structs
    )


class _Tape(random.Random):
    """Chance read from a tape: one byte a choice, so at most 256 things to choose from."""

    def __init__(self, tape: bytes) -> None:
        super().__init__(0)
        self._rest = iter(tape)

    def random(self) -> float:
        """Near 1 for a byte of 0: `random() < p` says no to what is special."""
        return 1 - (next(self._rest, 0) + 1) / 257

    def _randbelow(self, n: int) -> int:
        """All of `choice`, `randint`, `sample` and `shuffle` rest on this one."""
        return next(self._rest, 0) * n // 256
