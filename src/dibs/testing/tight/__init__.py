"""Questions about one node where devices are scarce: half have no answer, few show it at a glance.

`worlds` is broad and loose: most of its claims fit at once, or fail at once. Here what is asked
for comes close to what there is, by devices, by counters, by capacity and by values of
attributes, so that an allocator has to choose, and to prove that there is no choice. Nothing in
them is an error: selectors don't fail, and counts stay below the limit of a claim but for the
alternatives that are meant to exceed it.

`hardware` publishes and holds, `demand` asks. The same seed and size give the same question.
"""

from __future__ import annotations

import random

from dibs.testing.question import Question
from dibs.testing.tight import demand, hardware
from dibs.testing.tight.sizes import MEDIUM, SMALL, Size

__all__ = ["MEDIUM", "SMALL", "Size", "drawn", "question"]


def question(seed: int, size: Size = SMALL) -> Question:
    """The question of this seed."""
    return drawn(random.Random(f"tight {size.name} {seed}"), size, name=f"{size.name}-{seed}")


def drawn(chance: random.Random, size: Size, *, name: str = "tight") -> Question:
    """A question whose every choice is taken from `chance`."""
    stock = hardware.stock(chance, size)
    return Question(
        id=name,
        node=hardware.NODE,
        slices=stock.slices,
        classes=demand.CLASSES,
        claims=demand.claims(chance, size, stock),
        allocated=stock.held,
    )
