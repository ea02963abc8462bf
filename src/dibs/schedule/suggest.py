"""Small changes that would make a waiting subject fit, each tried before it is told.

One change at a time: free a claim, tolerate a taint, ask for fewer, drop a constraint, open a
node. Candidates come from the reasons of the refusal, cheapest first; each is put to `pods.place`
on a changed world, and only what then fits is a suggestion. Tries are bounded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import msgspec

from dibs.allocate.outcome import AskNo, Refused
from dibs.model.core import Node, Pod, PodToleration
from dibs.model.objects import DeviceConstraint, DeviceTaint, DeviceToleration, ResourceClaim
from dibs.schedule import nodes, pods
from dibs.schedule.plan import ClaimUse, Objection, Placed, Subject, Waits
from dibs.schedule.pods import State
from dibs.schedule.snapshot import Key, key_of
from dibs.supply import taints
from dibs.supply.ledger import Holder

TRIES = 32
SHOWN = 3
# Of 500 equal nodes a few stand for all; of many holders the cheapest few are tried.
NODES_TRIED = 8
HOLDERS_TRIED = 8


@dataclass(frozen=True, slots=True)
class Suggestion:
    """`text` says what to change, `node` where the subject would then go."""

    text: str
    node: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """What is put to `pods.place` again, and the one change that is tried in it."""

    state: State
    pod: Pod | None
    uses: tuple[ClaimUse, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """`cost` orders changes: 0 harms nobody, 3 takes something away from somebody."""

    cost: int
    text: str
    node: str
    apply: Callable[[Attempt], Attempt]


def suggestions(state: State, waits: Waits) -> tuple[Suggestion, ...]:
    """At most SHOWN changes that make it fit, cheapest first; none when one is not enough."""
    subject = waits.subject
    pod = state.snapshot.pods[subject.key] if subject.kind == "Pod" else None
    found: list[Suggestion] = []
    told: set[str] = set()
    for change in sorted(changes(state, waits), key=lambda each: each.cost)[:TRIES]:
        if change.text in told:
            continue
        if fits(change, Attempt(state, pod, waits.claims), subject):
            told.add(change.text)
            found.append(Suggestion(change.text, change.node))
        if len(found) == SHOWN:
            break
    return tuple(found)


def fits(change: Change, attempt: Attempt, subject: Subject) -> bool:
    changed = change.apply(attempt)
    # One node only, and nothing remembered: on the changed world an old no may be a yes.
    options = replace(changed.state.options, node=change.node)
    state = replace(changed.state, options=options, noes={})
    return isinstance(pods.place(state, subject, changed.pod, changed.uses), Placed)


# --- which changes there are --------------------------------------------------------------------


def changes(state: State, waits: Waits) -> Iterator[Change]:
    """Every change worth a try, from the reasons of the nodes."""
    refused = [answer for answer in waits.nodes.values() if isinstance(answer, Refused)]
    for name, answer in waits.nodes.items():
        if isinstance(answer, Objection):
            yield from node_changes(state, name, answer)
    for answer in promising(refused):
        yield from claim_changes(state, answer, waits.claims)
    yield from releases(state, refused)


def promising(refused: Iterable[Refused]) -> list[Refused]:
    """The nodes that lack least, in order; the first few stand for all."""

    def lacking(answer: Refused) -> int:
        return sum(max(ask.wanted - ask.fit, 0) for ask in answer.asks)

    return sorted(refused, key=lacking)[:NODES_TRIED]


def node_changes(state: State, name: str, against: Objection) -> Iterator[Change]:
    node = state.snapshot.nodes[name]
    match against.about:
        case "unschedulable":
            spec = msgspec.structs.replace(node.spec, unschedulable=False)
            opened = msgspec.structs.replace(node, spec=spec)
            yield Change(1, f"uncordon {name}", name, with_node(opened))
        case "taint":
            for taint in node.spec.taints:
                if nodes.written(taint) in against.text:
                    toleration = PodToleration(
                        key=taint.key, operator="Exists", effect=taint.effect
                    )
                    text = f"tolerate the node's taint {nodes.written(taint)} in the Pod"
                    yield Change(1, text, name, with_toleration(toleration))
        case "node selector":
            yield Change(2, "drop the Pod's nodeSelector", name, without_node_selector)
        case "affinity":
            yield Change(2, "drop the Pod's required node affinity", name, without_affinity)
        case _:
            return


def claim_changes(state: State, answer: Refused, uses: tuple[ClaimUse, ...]) -> Iterator[Change]:
    """Changes of what is asked for: tolerations, numbers, constraints."""
    node = state.snapshot.nodes[answer.node]
    yield from tolerations(state, node, answer)
    for ask in answer.asks:
        yield from fewer(ask, answer.node)
    for use in uses:
        if use.claim.status.allocation is None:
            for index, constraint in enumerate(use.claim.spec.devices.constraints):
                where = f"claim {key_of(use.claim.metadata)}"
                text = f"drop the constraint {written(constraint)} of {where}"
                yield Change(
                    2, text, answer.node, without_constraint(key_of(use.claim.metadata), index)
                )


def tolerations(state: State, node: Node, answer: Refused) -> Iterator[Change]:
    blocked = {no.device for ask in answer.asks for no in ask.noes if no.reason.code == "tainted"}
    if not blocked:
        return
    offered = (each for pool in state.supply.pools(node) for each in pool.candidates)
    found = {taint for each in offered if each.id in blocked for taint in each.blocking}
    for taint in sorted(found, key=taints.text_of):
        text = f"tolerate the device taint {taints.text_of(taint)} in the claim"
        yield Change(1, text, node.metadata.name, tolerating(taint))


def fewer(ask: AskNo, node: str) -> Iterator[Change]:
    """One less, or as many as fit."""
    for count in dict.fromkeys((ask.wanted - 1, ask.fit)):
        if 0 < count < ask.wanted:
            text = f"ask for {count} instead of {ask.wanted} in request {ask.request}"
            key = Key(*ask.claim.split("/", 1))
            yield Change(2, text, node, asking(key, ask.request, count))


def releases(state: State, refused: Iterable[Refused]) -> Iterator[Change]:
    """Claims whose devices are enough, if they were freed; idle ones first, then the smallest."""
    holders: list[tuple[tuple[bool, int, str, str], str, str]] = []
    for answer in refused:
        for ask in answer.asks:
            missing = max(ask.wanted - ask.fit, 1)
            held: Counter[str] = Counter()
            seen: dict[str, Holder] = {}
            for no in ask.noes:
                if no.reason.holder is not None:
                    held[no.reason.holder.claim] += 1
                    seen[no.reason.holder.claim] = no.reason.holder
            for claim, count in held.items():
                if count >= missing or len(held) == 1:
                    idle = is_idle(state, claim)
                    holders.append(((not idle, count, answer.node, claim), claim, answer.node))
    for (in_use, *_), claim, node in sorted(set(holders))[:HOLDERS_TRIED]:
        text = f"free claim {claim}{users(state, claim)}"
        yield Change(3 if in_use else 0, text, node, freeing(claim))


def is_idle(state: State, claim: str) -> bool:
    """Nobody uses it any more: it holds its devices only until the controller gets to it."""
    found = state.snapshot.claims.get(Key(*claim.split("/", 1)))
    if found is None:
        return False
    for reference in found.status.reserved_for:
        pod = state.snapshot.pods.get(Key(found.metadata.namespace, reference.name))
        if pod is None or not pods.is_done(pod):
            return False
    return True


def users(state: State, claim: str) -> str:
    found = state.snapshot.claims.get(Key(*claim.split("/", 1)))
    if found is None:
        return ""
    names = ", ".join(reference.name for reference in found.status.reserved_for[:3])
    if is_idle(state, claim):
        return f", which only ended Pods hold: {names}" if names else ", which no Pod uses"
    return f" (used by {names})"


def written(constraint: DeviceConstraint) -> str:
    if constraint.match_attribute:
        return f"matchAttribute {constraint.match_attribute}"
    return f"distinctAttribute {constraint.distinct_attribute}"


# --- the changed worlds -------------------------------------------------------------------------


def with_node(node: Node) -> Callable[[Attempt], Attempt]:
    def apply(attempt: Attempt) -> Attempt:
        changed = {**attempt.state.snapshot.nodes, node.metadata.name: node}
        snapshot = replace(attempt.state.snapshot, nodes=changed)
        return replace(attempt, state=replace(attempt.state, snapshot=snapshot))

    return apply


def with_toleration(toleration: PodToleration) -> Callable[[Attempt], Attempt]:
    def apply(attempt: Attempt) -> Attempt:
        assert attempt.pod is not None, "only a Pod meets a node's taints"
        added = (*attempt.pod.spec.tolerations, toleration)
        spec = msgspec.structs.replace(attempt.pod.spec, tolerations=added)
        return replace(attempt, pod=msgspec.structs.replace(attempt.pod, spec=spec))

    return apply


def without_node_selector(attempt: Attempt) -> Attempt:
    assert attempt.pod is not None, "only a Pod has a node selector"
    spec = msgspec.structs.replace(attempt.pod.spec, node_selector={})
    return replace(attempt, pod=msgspec.structs.replace(attempt.pod, spec=spec))


def without_affinity(attempt: Attempt) -> Attempt:
    assert attempt.pod is not None, "only a Pod has affinity"
    spec = msgspec.structs.replace(attempt.pod.spec, affinity=None)
    return replace(attempt, pod=msgspec.structs.replace(attempt.pod, spec=spec))


def freeing(claim: str) -> Callable[[Attempt], Attempt]:
    def apply(attempt: Attempt) -> Attempt:
        ledger = attempt.state.ledger.without(claim)
        return replace(attempt, state=replace(attempt.state, ledger=ledger))

    return apply


def tolerating(taint: DeviceTaint) -> Callable[[Attempt], Attempt]:
    added = DeviceToleration(key=taint.key, operator="Exists", effect=taint.effect)

    def change(claim: ResourceClaim) -> ResourceClaim:
        requests = []
        for request in claim.spec.devices.requests:
            if request.exactly is not None:
                tolerated = (*request.exactly.tolerations, added)
                exactly = msgspec.structs.replace(request.exactly, tolerations=tolerated)
                request = msgspec.structs.replace(request, exactly=exactly)
            subs = tuple(
                msgspec.structs.replace(sub, tolerations=(*sub.tolerations, added))
                for sub in request.first_available
            )
            requests.append(msgspec.structs.replace(request, first_available=subs))
        return with_devices(claim, requests=tuple(requests))

    return changing(change)


def asking(key: Key, name: str, count: int) -> Callable[[Attempt], Attempt]:
    base, _, sub_name = name.partition("/")

    def change(claim: ResourceClaim) -> ResourceClaim:
        if key_of(claim.metadata) != key:
            return claim
        requests = []
        for request in claim.spec.devices.requests:
            if request.name == base and request.exactly is not None:
                exactly = msgspec.structs.replace(request.exactly, count=count)
                request = msgspec.structs.replace(request, exactly=exactly)
            if request.name == base and sub_name:
                subs = tuple(
                    msgspec.structs.replace(sub, count=count) if sub.name == sub_name else sub
                    for sub in request.first_available
                )
                request = msgspec.structs.replace(request, first_available=subs)
            requests.append(request)
        return with_devices(claim, requests=tuple(requests))

    return changing(change)


def without_constraint(key: Key, index: int) -> Callable[[Attempt], Attempt]:
    def change(claim: ResourceClaim) -> ResourceClaim:
        if key_of(claim.metadata) != key:
            return claim
        kept = claim.spec.devices.constraints
        return with_devices(claim, constraints=kept[:index] + kept[index + 1 :])

    return changing(change)


def changing(change: Callable[[ResourceClaim], ResourceClaim]) -> Callable[[Attempt], Attempt]:
    def apply(attempt: Attempt) -> Attempt:
        uses = tuple(
            replace(use, claim=change(use.claim)) if use.claim.status.allocation is None else use
            for use in attempt.uses
        )
        return replace(attempt, uses=uses)

    return apply


def with_devices(claim: ResourceClaim, **changed: object) -> ResourceClaim:
    devices = msgspec.structs.replace(claim.spec.devices, **changed)
    spec = msgspec.structs.replace(claim.spec, devices=devices)
    return msgspec.structs.replace(claim, spec=spec)
