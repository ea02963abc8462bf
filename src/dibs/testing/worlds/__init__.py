"""Small worlds from a seed: nodes, pools, classes, claims, and what is held already.

A world is valid by the API, small enough for `testing.oracle`, and as awkward as real ones:
pools split in slices of odd names, older generations, pools announced larger than they are,
devices that lack an attribute, claims that hold devices which are gone. The same seed and traits
give the same world in every Python version we support.

`hardware` makes slices, `demand` makes classes, claims and holders. `testing.strategies` has the
same worlds for Hypothesis, which shrinks them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, fields, replace

from dibs.model.core import Node
from dibs.model.objects import DeviceClass, ResourceClaim, ResourceSlice
from dibs.supply.features import ALL, Features
from dibs.testing.question import Question
from dibs.testing.worlds import demand, hardware
from dibs.testing.worlds.traits import (
    BINDING,
    CAPACITY,
    COUNTERS,
    DERIVED,
    EVERY_TRAIT,
    FRACTIONS,
    GROUPS,
    LISTS,
    METERS,
    RECORDS,
    SKIPS,
    SWITCHES,
    UPSTREAM_TRAITS,
    Traits,
)

__all__ = [
    "BINDING",
    "CAPACITY",
    "COUNTERS",
    "DERIVED",
    "EVERY_TRAIT",
    "FRACTIONS",
    "GROUPS",
    "LISTS",
    "METERS",
    "RECORDS",
    "SKIPS",
    "SWITCHES",
    "UPSTREAM_TRAITS",
    "Traits",
    "World",
    "drawn",
    "world",
]


@dataclass(frozen=True, slots=True)
class World:
    """`claims` are of one Pod and unallocated; `held` are other claims, with allocations."""

    name: str
    nodes: tuple[Node, ...]
    slices: tuple[ResourceSlice, ...]
    classes: tuple[DeviceClass, ...]
    claims: tuple[ResourceClaim, ...]
    held: tuple[ResourceClaim, ...]
    features: Features

    def questions(self) -> tuple[Question, ...]:
        """One question of the conformance protocol a node."""
        return tuple(
            Question(
                id=f"{self.name}-{node.metadata.name}",
                node=node,
                slices=self.slices,
                classes=self.classes,
                claims=self.claims,
                allocated=self.held,
                features=self.features,
            )
            for node in self.nodes
        )


def world(seed: int, traits: Traits = frozenset()) -> World:
    """The world of this seed: 1-3 nodes, at most 6 devices, 3 claims, 3 requests a claim."""
    # A text seed is hashed by Random itself, so that neighbouring seeds have nothing in common.
    return drawn(random.Random(f"world {seed}"), traits, name=f"world-{seed}")


def drawn(chance: random.Random, traits: Traits, *, name: str = "world") -> World:
    """A world whose every choice is taken from `chance`."""
    nodes = hardware.nodes(chance, traits)
    slices = hardware.slices(chance, traits, nodes)
    return World(
        name=name,
        nodes=nodes,
        slices=slices,
        classes=demand.classes(chance),
        claims=demand.claims(chance, traits),
        held=demand.held(chance, traits, slices),
        features=_features(chance, traits),
    )


def _features(chance: random.Random, traits: Traits) -> Features:
    """All features; with the trait SWITCHES one of them is off in every second world."""
    if SWITCHES in traits and chance.random() < 0.5:
        off = chance.choice([each.name for each in fields(Features)])
        return replace(ALL, **{off: False})
    return ALL
