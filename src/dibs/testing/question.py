"""One allocation question and its answer, as the conformance protocol has them, but typed.

A question is everything that a decision about one node depends on. `worlds` makes questions,
`oracle` answers them by brute force; the text form of the protocol is `tree` here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Literal

from dibs.model import codec
from dibs.model.core import Node
from dibs.model.kinds import Known
from dibs.model.objects import (
    AllocationResult,
    DeviceClass,
    ResourceClaim,
    ResourceSlice,
)
from dibs.supply.features import ALL, Features

Outcome = Literal["allocated", "refused", "error", "timeout"]


@dataclass(frozen=True, slots=True)
class Question:
    """The claims of one Pod, one node, and all that is published and held."""

    id: str
    node: Node
    slices: tuple[ResourceSlice, ...]
    classes: tuple[DeviceClass, ...]
    claims: tuple[ResourceClaim, ...]
    allocated: tuple[ResourceClaim, ...] = ()
    features: Features = ALL


@dataclass(frozen=True, slots=True)
class Answer:
    """`allocations` has one entry a claim, in order, when the outcome is `allocated`.

    Messages are for people: answers are equal that say the same in other words.
    """

    outcome: Outcome
    allocations: tuple[AllocationResult, ...] = ()
    message: str = field(default="", compare=False)


def tree(question: Question) -> dict[str, object]:
    """The question as one JSON object of the protocol."""
    return {
        "id": question.id,
        "features": {
            _camel(each.name): getattr(question.features, each.name) for each in fields(Features)
        },
        "node": codec.encode(question.node),
        "slices": _trees(question.slices),
        "classes": _trees(question.classes),
        "claims": _trees(question.claims),
        "allocated": _trees(question.allocated),
    }


def _trees(items: Iterable[Known]) -> list[dict[str, object]]:
    return [codec.encode(item) for item in items]


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(each.title() for each in rest)
