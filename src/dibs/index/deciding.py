"""The node for claims of one Pod: the first, in order, that the exact search gives a yes for.

Nodes that can't say yes are passed over unasked; the answer is the one that asking every node in
order would give. The reasons of those that were passed over are `schedule`'s to find, for who
wants them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from dibs.allocate import allocator
from dibs.allocate.allocator import Options
from dibs.allocate.outcome import Allocated, Failed, Refused, TimedOut
from dibs.allocate.selecting import Answers
from dibs.allocate.spare import Spare
from dibs.index import bits, places, wants, which
from dibs.index.bits import Set
from dibs.index.index import Index
from dibs.model.core import Node
from dibs.model.objects import DeviceClass, ResourceClaim

# Once a question has used up its steps on so many nodes it is given up for the others too.
PATIENCE = 4


@dataclass(frozen=True, slots=True)
class Part:
    """Claims that are wanted of the nodes `within`. `key` is equal for parts that want the same:
    who refused one would refuse the other. `spare` says what a Pod may draw from a node.
    """

    within: Set
    claims: Sequence[ResourceClaim]
    key: bytes
    spare: Callable[[Node], Spare | None] | None = None

    @classmethod
    def of(cls, index: Index, claims: Sequence[ResourceClaim]) -> Part:
        return cls(index.roster.all, claims, wants.key_of(claims))


@dataclass(frozen=True, slots=True)
class Barrier:
    """What nodes must pass before they are asked for devices. Who doesn't is remembered by `key`,
    as long as `Index.forgetting` isn't told that something of the node's own is free again."""

    key: bytes
    is_out: Callable[[Node], bool]


@dataclass(frozen=True, slots=True)
class Found:
    """`outcome` is the node's that said yes, or on which all failed; None when none did.

    `refused` are the nodes that were asked and said no, by the key of what they were asked for;
    `timed_out` those that used up their steps. Nodes in `unasked` might have said yes, but the
    question was given up before.
    """

    outcome: Allocated | Failed | None
    refused: Mapping[bytes, Set] = field(default_factory=dict)
    timed_out: Mapping[str, TimedOut] = field(default_factory=dict)
    unasked: frozenset[str] = frozenset()


def decide(
    index: Index,
    claims: Sequence[ResourceClaim],
    classes: Mapping[str, DeviceClass],
    options: Options | None = None,
    answers: Answers | None = None,
) -> Found:
    """The node for claims that may go anywhere."""
    return among(index, (Part.of(index, claims),), classes, options, answers)


def among(
    index: Index,
    parts: Sequence[Part],
    classes: Mapping[str, DeviceClass],
    options: Options | None = None,
    answers: Answers | None = None,
    barrier: Barrier | None = None,
) -> Found:
    """The node for parts, of which each node has at most one."""
    options = options or Options(explain=False)
    answers = answers if answers is not None else Answers()
    hopes = [_hopes(index, part, classes, options, answers) for part in parts]
    left = bits.union(hopes)
    if barrier is not None:
        left &= ~index.noes.get(barrier.key, bits.NONE)
    refused: dict[bytes, Set] = {}
    timed_out: dict[str, TimedOut] = {}
    while left and len(timed_out) < PATIENCE:
        number = which.first(left, options.order, index.standing)
        node = index.roster.nodes[number]
        part = parts[next(place for place, hope in enumerate(hopes) if hope >> number & 1)]
        if barrier is not None and barrier.is_out(node):
            refused[barrier.key] = refused.get(barrier.key, bits.NONE) | 1 << number
            left ^= 1 << number
            continue
        outcome = _ask(index, number, part, classes, options, answers)
        alike = 1 << number
        match outcome:
            case Allocated() | Failed():
                return Found(outcome, refused, timed_out)
            case Refused():
                # What a node refuses for want of its own resources, its twin may have.
                if part.spare is None:
                    alike = index.layout.twins(number) & part.within
                refused[part.key] = refused.get(part.key, bits.NONE) | alike
            case TimedOut():
                timed_out[node.metadata.name] = outcome
            case _:
                assert_never(outcome)
        left &= ~alike
    return Found(None, refused, timed_out, frozenset(index.roster.named(left)))


def _hopes(
    index: Index,
    part: Part,
    classes: Mapping[str, DeviceClass],
    options: Options,
    answers: Answers,
) -> Set:
    """The nodes of a part that may say yes, or on which it may fail."""
    features = index.ledger.features
    want = index.learned.want(
        part.key, classes, lambda: wants.of(part.claims, classes, features, answers)
    )
    if want is None:
        return part.within
    found = which.feasible(
        want, index.layout, index.standing, index.learned, is_strict=options.strict
    )
    return found & part.within & ~index.noes.get(part.key, bits.NONE)


def _ask(
    index: Index,
    number: int,
    part: Part,
    classes: Mapping[str, DeviceClass],
    options: Options,
    answers: Answers,
) -> Allocated | Refused | Failed | TimedOut:
    node = index.roster.nodes[number]
    return allocator.allocate(
        node,
        part.claims,
        index.supply,
        index.ledger,
        classes,
        options,
        answers,
        part.spare(node) if part.spare is not None else None,
        places.on(index, number),
    )
