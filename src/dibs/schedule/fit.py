"""The node for one Pod, or for one claim without Pod: the first, in order, where all of it fits.

A node is asked about devices only when the Pod may go there at all. All of its claims get their
devices on one node, or none does. Which devices is decided in `allocate`, who comes first in
`pods`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import assert_never

import msgspec

from dibs.allocate.outcome import Allocated, Failed
from dibs.model.core import Pod
from dibs.model.objects import AllocationResult
from dibs.schedule import claims as pod_claims
from dibs.schedule import natives, writes
from dibs.schedule.plan import (
    Broken,
    ClaimUse,
    Decision,
    Objection,
    Placed,
    Reasons,
    Subject,
    Waits,
)
from dibs.schedule.question import Question, Wish
from dibs.schedule.snapshot import Key, key_of
from dibs.schedule.state import State
from dibs.supply.records import Record

Drawn = tuple[Record, ...]


def place(state: State, subject: Subject, pod: Pod | None, uses: tuple[ClaimUse, ...]) -> Decision:
    """Find the first node (or the tightest one) where everything fits at once."""
    question = Question.of(state, pod, uses)
    unknown = [
        against
        for claim in question.open_claims
        for against in pod_claims.without_class(claim, state.snapshot.classes)
    ]
    if unknown:
        return Waits(subject, uses, tuple(unknown))
    if pod is not None and (against := natives.shared(pod, uses, state)):
        return Waits(subject, uses, (against,))
    if not state.nodes:
        return Waits(subject, uses, (no_nodes(state),))
    found = question.put()
    match outcome := found.outcome:
        case Allocated():
            node = outcome.node
            placed = settled(uses, question.wish(node), outcome, pod)
            drawn = natives.statuses(pod, placed, state) if pod is not None else ()
            passed = Reasons(lambda: question.before(node), question.answering(found))
            return Placed(subject, node, placed, passed, outcome, drawn, found.refused)
        case Failed():
            return Broken(subject, outcome.node, outcome, uses)
        case None:
            nodes_ = Reasons(lambda: state.nodes, question.answering(found))
            return Waits(subject, uses, (), nodes_, found.refused)
        case _:
            assert_never(outcome)


def no_nodes(state: State) -> Objection:
    if state.options.node:
        return Objection("nodes", f"there is no node {state.options.node}")
    return Objection(
        "nodes",
        "the input has no Node, and no ResourceSlice that names one",
        "add the output of: kubectl get nodes,resourceslices -o yaml",
    )


def settled(
    uses: Iterable[ClaimUse], wish: Wish | Objection, outcome: Allocated, pod: Pod | None
) -> tuple[ClaimUse, ...]:
    """The claims as they are written after the decision: allocated, protected, reserved."""
    assert isinstance(wish, Wish), "what was allocated was wished for"
    given = {
        key: (allocation, drawn)
        for key, allocation, drawn in zip(
            wish.keys, outcome.allocations, outcome.records, strict=True
        )
    }
    everything = tuple(uses)
    if wish.special is not None:
        special = ClaimUse("", wish.special.claim, is_new=True, mappings=wish.special.mappings)
        everything = (*everything, special)
    return tuple(settle(use, given, pod) for use in everything)


def settle(
    use: ClaimUse, given: Mapping[Key, tuple[AllocationResult, Drawn]], pod: Pod | None
) -> ClaimUse:
    claim, is_fresh = use.claim, False
    found = given.get(key_of(claim.metadata))
    if found is not None:
        allocation, drawn = found
        status = msgspec.structs.replace(claim.status, allocation=allocation)
        claim = writes.remembering(writes.protected(claim), drawn)
        claim = msgspec.structs.replace(claim, status=status)
        is_fresh = True
    if pod is not None:
        claim = writes.reserved(claim, pod, use.group)
    return replace(use, claim=claim, is_fresh=is_fresh)
