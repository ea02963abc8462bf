"""Worlds as Hypothesis strategies. Needs the extra: `pip install dibs[testing]`.

Every choice of a world is drawn by Hypothesis, so a failing world shrinks to a small one.
"""

from __future__ import annotations

from hypothesis import strategies

from dibs.testing.worlds import World, drawn
from dibs.testing.worlds.traits import Traits


def worlds(traits: Traits = frozenset()) -> strategies.SearchStrategy[World]:
    """Valid small worlds with these traits."""
    randoms = strategies.randoms(use_true_random=False)
    return randoms.map(lambda chance: drawn(chance, traits))
