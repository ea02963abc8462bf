"""Small changes that would make a waiting subject fit, each tried before it is told.

One change at a time: free a claim, tolerate a taint, ask for fewer, drop a constraint, open a
node. Candidates come from the reasons of the refusal, cheapest first; each is put to `fit.place`
on a changed world, and only what then fits is a suggestion. Tries are bounded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import msgspec

from dibs.allocate.outcome import AskNo, Refused
from dibs.model.core import Node, PodToleration
from dibs.model.objects import DeviceConstraint, ResourceClaim
from dibs.schedule import changes, fit, nodes, pods
from dibs.schedule.changes import Attempt, Change
from dibs.schedule.plan import ClaimUse, Objection, Placed, Subject, Waits
from dibs.schedule.snapshot import Key, key_of
from dibs.schedule.state import State
from dibs.supply import taints

TRIES = 32
SHOWN = 3
# Of 500 equal nodes a few stand for all; of many holders the cheapest few are tried.
NODES_TRIED = 6
HOLDERS_TRIED = 8


@dataclass(frozen=True, slots=True)
class Suggestion:
    """`text` says what to change, `node` where the subject would then go."""

    text: str
    node: str


@dataclass(frozen=True, slots=True)
class Trial:
    """`cost` orders: 0 harms nobody, 3 takes something away, 4 gives up what was meant."""

    cost: int
    text: str
    node: str
    change: Change


def suggestions(
    state: State, waits: Waits, spared: frozenset[str] = frozenset()
) -> tuple[Suggestion, ...]:
    """At most SHOWN changes that make it fit, cheapest first; none when one is not enough.

    `spared` are claims that can't be freed, because they have their devices only by this plan.
    """
    subject = waits.subject
    pod = state.snapshot.pods[subject.key] if subject.kind == "Pod" else None
    found: list[Suggestion] = []
    told: set[str] = set()
    for trial in bounded(candidates(state, waits, spared)):
        if trial.text in told:
            continue
        if fits(trial, Attempt(state, pod, waits.claims), subject):
            told.add(trial.text)
            found.append(Suggestion(trial.text, trial.node))
        if len(found) == SHOWN:
            break
    return tuple(found)


def bounded(trials: Iterable[Trial]) -> list[Trial]:
    """Cheapest first, and the same change on a few nodes only."""
    tried: Counter[str] = Counter()
    chosen: list[Trial] = []
    for trial in sorted(trials, key=lambda each: each.cost):
        if tried[trial.text] < NODES_TRIED and len(chosen) < TRIES:
            tried[trial.text] += 1
            chosen.append(trial)
    return chosen


def fits(trial: Trial, attempt: Attempt, subject: Subject) -> bool:
    changed = trial.change(attempt)
    # One node only.
    options = replace(changed.state.options, node=trial.node)
    state = msgspec.structs.replace(changed.state, options=options)
    return isinstance(fit.place(state, subject, changed.pod, changed.uses), Placed)


# --- which changes there are --------------------------------------------------------------------


def candidates(state: State, waits: Waits, spared: frozenset[str]) -> Iterator[Trial]:
    """Every change worth a try, from the reasons of the nodes."""
    # Nor can it free what it has itself: it would need it again.
    spared |= {str(key_of(use.claim.metadata)) for use in waits.claims}
    refused = [answer for answer in waits.nodes.values() if isinstance(answer, Refused)]
    for name, answer in waits.nodes.items():
        if isinstance(answer, Objection):
            yield from node_changes(state, name, answer)
    for answer in promising(refused):
        yield from claim_changes(state, answer, waits.claims)
    yield from releases(state, refused, spared)


def promising(refused: Iterable[Refused]) -> list[Refused]:
    """The nodes that lack least, in order; the first few stand for all."""

    def lacking(answer: Refused) -> int:
        return sum(max(ask.wanted - ask.fit, 0) for ask in answer.asks)

    return sorted(refused, key=lacking)[:NODES_TRIED]


def node_changes(state: State, name: str, against: Objection) -> Iterator[Trial]:
    node = state.snapshot.nodes[name]
    match against.about:
        case "unschedulable":
            spec = msgspec.structs.replace(node.spec, unschedulable=False)
            opened = msgspec.structs.replace(node, spec=spec)
            yield Trial(1, f"uncordon {name}", name, changes.with_node(opened))
        case "taint":
            for taint in node.spec.taints:
                if nodes.written(taint) in against.text:
                    toleration = PodToleration(
                        key=taint.key, operator="Exists", effect=taint.effect
                    )
                    text = f"tolerate the node's taint {nodes.written(taint)} in the Pod"
                    yield Trial(1, text, name, changes.with_toleration(toleration))
        case "node selector":
            yield Trial(4, "drop the Pod's nodeSelector", name, changes.without_node_selector)
        case "affinity":
            yield Trial(4, "drop the Pod's required node affinity", name, changes.without_affinity)
        case _:
            return


def claim_changes(state: State, answer: Refused, uses: tuple[ClaimUse, ...]) -> Iterator[Trial]:
    """Changes of what is asked for: tolerations, numbers, constraints."""
    node = state.snapshot.nodes[answer.node]
    yield from tolerations(state, node, answer)
    for ask in answer.asks:
        yield from fewer(ask, answer.node)
    for use in uses:
        if use.claim.status.allocation is None:
            for index, constraint in enumerate(use.claim.spec.devices.constraints):
                key = key_of(use.claim.metadata)
                whose = f"template {use.template}" if use.is_new else f"claim {key}"
                text = f"drop the constraint {written(constraint)} of {whose}"
                if is_derived(constraint, use.claim):
                    # KEP-6080: the API takes no derived attribute that no constraint names.
                    text += ", and what is derived for it"
                yield Trial(
                    2,
                    text,
                    answer.node,
                    changes.without_constraint(key, index),
                )


def tolerations(state: State, node: Node, answer: Refused) -> Iterator[Trial]:
    blocked = {no.device for ask in answer.asks for no in ask.noes if no.reason.code == "tainted"}
    if not blocked:
        return
    offered = (each for pool in state.supply.pools(node) for each in pool.candidates)
    found = {taint for each in offered if each.id in blocked for taint in each.blocking}
    for taint in sorted(found, key=taints.text_of):
        text = f"tolerate the device taint {taints.text_of(taint)} in the claim"
        yield Trial(1, text, node.metadata.name, changes.tolerating(taint))


def fewer(ask: AskNo, node: str) -> Iterator[Trial]:
    """One less, or as many as fit."""
    for count in dict.fromkeys((ask.wanted - 1, ask.fit)):
        if 0 < count < ask.wanted:
            text = f"ask for {count} instead of {ask.wanted} in request {ask.request}"
            key = Key(*ask.claim.split("/", 1))
            yield Trial(2, text, node, changes.asking(key, ask.request, count))


def releases(state: State, refused: Iterable[Refused], spared: frozenset[str]) -> Iterator[Trial]:
    """Claims whose devices are enough, if they were freed; idle ones first, then the smallest."""
    found: set[tuple[bool, int, str, str]] = set()
    for answer in refused:
        for ask in answer.asks:
            held = Counter(holders(state, answer.node, ask))
            for claim, count in held.items():
                enough = count >= ask.wanted - ask.fit or len(held) == 1
                if enough and claim not in spared:
                    found.add((not is_idle(state, claim), count, answer.node, claim))
    for is_used, _, node, claim in sorted(found)[:HOLDERS_TRIED]:
        text = f"free claim {claim}{users(state, claim)}"
        yield Trial(3 if is_used else 0, text, node, changes.freeing(claim))


def holders(state: State, node: str, ask: AskNo) -> Iterator[str]:
    """Who has what the request lacks: each device, what overlaps it, or the card it is of."""
    # One claim may keep many partitions from being had: freeing it is worth a try in any case.
    for no in ask.noes:
        if no.reason.holder is not None:
            yield no.reason.holder.claim
        for inside in no.reason.overlaps:
            yield from [inside.claim] * ask.wanted
    cards = {
        no.device[:2]
        for no in ask.noes
        if no.reason.code in ("counter", "group") and not no.reason.overlaps
    }
    if not cards:
        return
    for pool in state.supply.pools(state.snapshot.nodes[node]):
        if pool.id in cards:
            for candidate in pool.candidates:
                for holder in state.ledger.held(candidate.id).holders:
                    yield from [holder.claim] * ask.wanted


def is_idle(state: State, claim: str) -> bool:
    """Nobody uses it any more: it holds its devices only until the controller gets to it."""
    found = state.snapshot.claims.get(Key(*claim.split("/", 1)))
    if found is None:
        return False
    for reference in found.status.reserved_for:
        pod = state.snapshot.pods.get(Key(found.metadata.namespace, reference.name))
        # What a group of Pods shares is used as long as the group is there (KEP-5729).
        if reference.resource != "pods" or pod is None or not pods.is_done(pod):
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


def is_derived(constraint: DeviceConstraint, claim: ResourceClaim) -> bool:
    """Whether a request of the claim derives the attribute that the constraint names."""
    name = constraint.match_attribute or constraint.distinct_attribute
    alternatives = [
        each
        for request in claim.spec.devices.requests
        for each in (request.exactly, *request.first_available)
        if each is not None
    ]
    return any(one.name == name for each in alternatives for one in each.derived_attributes)


def written(constraint: DeviceConstraint) -> str:
    if constraint.match_attribute:
        return f"matchAttribute {constraint.match_attribute}"
    return f"distinctAttribute {constraint.distinct_attribute}"
