"""The node for one Pod, or for one claim without Pod: the first, in order, where all of it fits.

A node is asked about devices only when the Pod may go there at all. All of its claims get their
devices on one node, or none does. Which devices is decided in `allocate`, who comes first in
`pods`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, assert_never

import msgspec

from dibs.allocate import allocator
from dibs.allocate.outcome import Allocated, DeviceNo, Failed, Refused, TimedOut
from dibs.model.core import Node, Pod
from dibs.model.objects import AllocationResult, ResourceClaim
from dibs.schedule import claims as pod_claims
from dibs.schedule import extended, footprint, nodes, writes
from dibs.schedule.extended import Special
from dibs.schedule.plan import (
    Broken,
    ClaimUse,
    Decision,
    NodeAnswer,
    Objection,
    Placed,
    Subject,
    Waits,
)
from dibs.schedule.snapshot import Key, key_of
from dibs.schedule.state import Remembered, State


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
    if not state.nodes:
        return Waits(subject, uses, (no_nodes(state),))
    answers: dict[str, NodeAnswer] = {}
    wishes: dict[str, Wish | None] = {}
    for name in node_order(state):
        outcome, wish = question.put(name)
        match outcome:
            case Allocated():
                assert wish is not None
                placed = settled(uses, wish, outcome, pod)
                return Placed(subject, name, placed, answers, outcome)
            case Failed():
                return Broken(subject, name, outcome, uses)
            case Refused() | TimedOut() | Objection():
                answers[name], wishes[name] = outcome, wish
            case _:
                assert_never(outcome)
    fresh = {name: question.again(name, answers[name], wishes[name]) for name in sorted(answers)}
    return Waits(subject, uses, (), fresh)


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted of one node: claims that have no devices yet, and of them the last may be
    the special one (KEP-5004). `text` is equal for wishes that want the same.
    """

    claims: tuple[ResourceClaim, ...]
    special: Special | None
    text: str

    @classmethod
    def of(cls, claims: tuple[ResourceClaim, ...], special: Special | None = None) -> Wish:
        everything = (*claims, special.claim) if special is not None else claims
        return cls(everything, special, repr([claim.spec.devices for claim in everything]))

    @property
    def keys(self) -> tuple[Key, ...]:
        return tuple(key_of(claim.metadata) for claim in self.claims)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of every node: the same Pod, the same claims.

    `pinned` are its claims that have their devices, `named` the extended resources that it asks
    for, each with its number: who serves those differs from node to node.
    """

    state: State
    pod: Pod | None
    open_claims: tuple[ResourceClaim, ...]
    pinned: tuple[ResourceClaim, ...]
    named: Mapping[str, int]
    plain: Wish

    @classmethod
    def of(cls, state: State, pod: Pod | None, uses: Iterable[ClaimUse]) -> Question:
        # Two entries of a Pod may name the same claim: it is asked for once.
        claims = {key_of(use.claim.metadata): use.claim for use in uses}.values()
        open_claims = tuple(claim for claim in claims if claim.status.allocation is None)
        return cls(
            state,
            pod,
            open_claims,
            tuple(claim for claim in claims if claim.status.allocation is not None),
            extended.wanted(pod) if pod else {},
            Wish.of(open_claims),
        )

    def wish(self, node: Node) -> Wish | Objection:
        if not self.named or self.pod is None:
            return self.plain
        special = extended.for_node(self.pod, self.named, node, self.state.snapshot)
        if isinstance(special, Objection):
            return special
        return Wish.of(self.open_claims, special) if special is not None else self.plain

    def put(self, name: str) -> Answer:
        """Ask one node, as things stand, and remember a no."""
        node = self.state.nodes[name]
        wish = self.wish(node)
        if isinstance(wish, Wish) and (known := self.state.noes.get((name, wish.text))):
            return Answer(known.refused, wish)
        if against := self.objection(node):
            return Answer(against)
        if isinstance(wish, Objection):
            return Answer(wish)
        outcome = ask(self.state, node, wish.claims)
        if isinstance(outcome, Refused):
            noes = self.state.noes
            noes[name, wish.text] = Remembered(self.state.ledger, wish.keys, outcome)
        return Answer(outcome, wish)

    def objection(self, node: Node) -> Objection | None:
        """Why the Pod may not go there, whatever devices there are."""
        used = self.state.used.get(node.metadata.name, footprint.NOTHING)
        return (
            (nodes.objection(self.pod, node) if self.pod else None)
            or nodes.pinned_elsewhere(self.pinned, node)
            or extended.objection(self.named, node, used, self.state.snapshot.served)
        )

    def again(self, name: str, answer: NodeAnswer, wish: Wish | None) -> NodeAnswer:
        """The same answer with today's reasons: a remembered no names yesterday's holders."""
        if not isinstance(answer, Refused):
            return answer
        if against := self.objection(self.state.nodes[name]):
            return against
        assert wish is not None, "a refusal is of a wish"
        known = self.state.noes[name, wish.text]
        if known.ledger is self.state.ledger:
            return renamed(known, wish.keys)
        del self.state.noes[name, wish.text]
        fresh = self.put(name).outcome
        assert isinstance(fresh, Refused | TimedOut), "a refusal stands while more is taken"
        return fresh


class Answer(NamedTuple):
    """`wish` is what was asked for; None when the node is out before that."""

    outcome: NodeAnswer | Allocated | Failed
    wish: Wish | None = None


def renamed(known: Remembered, keys: tuple[Key, ...]) -> Refused:
    """A remembered no, told of the claims that ask now."""
    if known.claims == keys:
        return known.refused
    names = {str(old): str(new) for old, new in zip(known.claims, keys, strict=True)}
    # Whole names only: default/x is no part of default/x-2.
    pattern = re.compile(rf"(?<![\w./-])({'|'.join(map(re.escape, names))})(?![\w.-])")

    def text(old: str) -> str:
        if not any(name in old for name in names):
            return old
        return pattern.sub(lambda found: names[found[1]], old)

    def reason(no: DeviceNo) -> DeviceNo:
        told = text(no.reason.text)
        return no if told == no.reason.text else replace(no, reason=replace(no.reason, text=told))

    asks = tuple(
        replace(ask, claim=names[ask.claim], note=text(ask.note), noes=tuple(map(reason, ask.noes)))
        for ask in known.refused.asks
    )
    return replace(known.refused, asks=asks, note=text(known.refused.note))


def node_order(state: State) -> list[str]:
    """The names of the nodes as they are asked."""
    if state.options.order == "first-fit":
        return list(state.nodes)
    return sorted(state.nodes, key=lambda name: (free_devices(state, state.nodes[name]), name))


def free_devices(state: State, node: Node) -> int:
    return sum(
        state.ledger.held(candidate.id).is_free
        for pool in state.supply.pools(node)
        for candidate in pool.candidates
    )


def ask(
    state: State, node: Node, open_claims: Sequence[ResourceClaim]
) -> Allocated | Refused | Failed | TimedOut:
    """Put the question of the devices to one node, as things stand."""
    return allocator.allocate(
        node,
        open_claims,
        state.supply,
        state.ledger,
        state.snapshot.classes,
        allocator.Options(order=state.options.order),
        state.answers,
    )


def no_nodes(state: State) -> Objection:
    if state.options.node:
        return Objection("nodes", f"there is no node {state.options.node}")
    return Objection(
        "nodes",
        "the input has no Node, and no ResourceSlice that names one",
        "add the output of: kubectl get nodes,resourceslices -o yaml",
    )


def settled(
    uses: Iterable[ClaimUse], wish: Wish, outcome: Allocated, pod: Pod | None
) -> tuple[ClaimUse, ...]:
    """The claims as they are written after the decision: allocated, protected, reserved."""
    given = dict(zip(wish.keys, outcome.allocations, strict=True))
    everything = tuple(uses)
    if wish.special is not None:
        special = ClaimUse("", wish.special.claim, is_new=True, mappings=wish.special.mappings)
        everything = (*everything, special)
    return tuple(settle(use, given, pod) for use in everything)


def settle(use: ClaimUse, given: Mapping[Key, AllocationResult], pod: Pod | None) -> ClaimUse:
    claim, is_fresh = use.claim, False
    allocation = given.get(key_of(claim.metadata))
    if allocation is not None:
        status = msgspec.structs.replace(claim.status, allocation=allocation)
        claim = msgspec.structs.replace(writes.protected(claim), status=status)
        is_fresh = True
    if pod is not None:
        claim = writes.reserved(claim, pod, use.group)
    return replace(use, claim=claim, is_fresh=is_fresh)
