"""The node for one Pod, or for one claim without Pod: the first, in order, where all of it fits.

A node is asked about devices only when the Pod may go there at all. All of its claims get their
devices on one node, or none does. Which devices is decided in `allocate`, who comes first in
`pods`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

import msgspec

from dibs.allocate import allocator
from dibs.allocate.outcome import Allocated, DeviceNo, Failed, Refused, TimedOut
from dibs.allocate.spare import Spare
from dibs.model.core import Node, Pod
from dibs.model.objects import AllocationResult, ResourceClaim
from dibs.schedule import claims as pod_claims
from dibs.schedule import extended, footprint, natives, nodes, writes
from dibs.schedule.extended import Special
from dibs.schedule.footprint import Amounts
from dibs.schedule.natives import Needs
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
    answers: dict[str, NodeAnswer] = {}
    for name in node_order(state):
        match outcome := question.remembered(name) or question.put(name):
            case Allocated():
                placed = settled(uses, question.wish(name), outcome, pod)
                drawn = natives.statuses(pod, placed, state) if pod is not None else ()
                return Placed(subject, name, placed, answers, outcome, drawn)
            case Failed():
                return Broken(subject, name, outcome, uses)
            case Refused() | TimedOut() | Objection():
                answers[name] = outcome
            case _:
                assert_never(outcome)
    fresh = {name: question.again(name, answers[name]) for name in sorted(answers)}
    return Waits(subject, uses, (), fresh)


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted of one node: claims that have no devices yet, and of them the last may be
    the special one (KEP-5004). `text` is equal for wishes that want the same.
    """

    claims: tuple[ResourceClaim, ...]
    special: Special | None
    containers: tuple[int, ...]  # how many of them refer to each claim
    text: str

    @property
    def keys(self) -> tuple[Key, ...]:
        return tuple(key_of(claim.metadata) for claim in self.claims)

    def in_words(self, refused: Refused) -> Refused:
        """The refusal with the requests of the special claim told as what containers ask for."""
        if self.special is None:
            return refused
        titles: dict[str, str] = {}
        for each in self.special.mappings:
            # Of an init container only what is its own.
            text = f"{each.resource_name} of container {each.container_name}"
            titles.setdefault(each.request_name, text)
        own = str(key_of(self.special.claim.metadata))
        asks = tuple(
            replace(ask, told=titles.get(ask.request, "")) if ask.claim == own else ask
            for ask in refused.asks
        )
        return replace(refused, asks=asks)


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
    uses: tuple[ClaimUse, ...]
    needs: Needs
    # The wishes by what they have of `special`, each worked out once.
    wishes: dict[tuple[str, ...], Wish | Objection] = field(default_factory=dict)

    @classmethod
    def of(cls, state: State, pod: Pod | None, uses: tuple[ClaimUse, ...]) -> Question:
        # Two entries of a Pod may name the same claim: it is asked for once.
        claims = {key_of(use.claim.metadata): use.claim for use in uses}.values()
        open_claims = tuple(claim for claim in claims if claim.status.allocation is None)
        return cls(
            state,
            pod,
            open_claims,
            tuple(claim for claim in claims if claim.status.allocation is not None),
            extended.wanted(pod) if pod else {},
            uses,
            Needs.of(pod, uses, state),
        )

    def wish(self, name: str) -> Wish | Objection:
        """What is wanted of a node; nodes without device plugins are all asked for the same."""
        missing: tuple[str, ...] = ()
        if self.named:
            node = self.state.nodes[name]
            missing = tuple(each for each in self.named if not extended.is_plugged(each, node))
        known = self.wishes.get(missing)
        if known is None:
            known = self.wishes[missing] = self.wish_with(missing)
        return known

    def wish_with(self, names: Iterable[str]) -> Wish | Objection:
        special = extended.special(self.pod, names, self.state.snapshot) if self.pod else None
        if isinstance(special, Objection):
            return special
        claims = (*self.open_claims, special.claim) if special is not None else self.open_claims
        mappings = special.mappings if special is not None else ()
        counts: tuple[int, ...] = ()
        text = repr([claim.spec.devices for claim in claims])
        if self.state.natives:
            counts = natives.referring(self.pod, claims, self.uses, mappings)
            text = f"{text} {counts} {self.needs}"
        return Wish(claims, special, counts, text)

    def put(self, name: str) -> NodeAnswer | Allocated | Failed:
        """Ask one node, as things stand, and remember a no."""
        node = self.state.nodes[name]
        if against := self.objection(node):
            return against
        wish = self.wish(name)
        if isinstance(wish, Objection):
            return wish
        spare = natives.spare(self.needs, node, self.state, wish.containers)
        outcome = ask(self.state, node, wish.claims, spare)
        if isinstance(outcome, Refused):
            outcome = wish.in_words(outcome)
            known = Remembered(self.state.ledger, self.used(name), wish.keys, outcome)
            self.state.noes[name, wish.text] = known
        return outcome

    def remembered(self, name: str) -> Refused | None:
        wish = self.wish(name)
        if isinstance(wish, Objection):
            return None
        known = self.state.noes.get((name, wish.text))
        return known.refused if known else None

    def used(self, node: str) -> Amounts:
        return self.state.used.get(node, footprint.NOTHING)

    def objection(self, node: Node) -> Objection | None:
        """Why the Pod may not go there, whatever devices there are."""
        used = self.used(node.metadata.name)
        return (
            (nodes.objection(self.pod, node) if self.pod else None)
            or nodes.pinned_elsewhere(self.pinned, node)
            or extended.objection(self.named, node, used, self.state.snapshot.served)
            or natives.objection(self.needs, node, self.state)
        )

    def again(self, name: str, answer: NodeAnswer) -> NodeAnswer:
        """The same answer with today's reasons: a remembered no names yesterday's holders."""
        if not isinstance(answer, Refused):
            return answer
        if against := self.objection(self.state.nodes[name]):
            return against
        wish = self.wish(name)
        assert isinstance(wish, Wish), "a refusal is of a wish"
        known = self.state.noes[name, wish.text]
        # What Pods beside it take of a node matters only where devices draw from it.
        is_same = known.used is self.used(name) or not self.state.natives
        if known.ledger is self.state.ledger and is_same:
            return wish.in_words(renamed(known, wish.keys))
        fresh = self.put(name)
        assert isinstance(fresh, Refused | TimedOut), "a refusal stands while more is taken"
        return fresh


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
    state: State, node: Node, open_claims: Sequence[ResourceClaim], spare: Spare | None = None
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
        spare,
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
