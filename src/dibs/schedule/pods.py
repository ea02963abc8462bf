"""Which Pod goes where, and why not: a snapshot in, a plan out.

Pods and claims that no Pod uses are taken oldest first, then by name; nodes by name, and the
first that fits wins. Each decision sees what the earlier ones took. A Pod's claims are all
allocated on one node, or none is. Devices are chosen in `allocate`; this room never writes.
Source: kube-scheduler's DynamicResources plugin, KEP-4381.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

import msgspec

from dibs.allocate import allocator
from dibs.allocate.orders import Order
from dibs.allocate.outcome import Allocated, Failed, Refused, TimedOut
from dibs.allocate.selecting import Answers
from dibs.model.core import Node, Pod
from dibs.model.objects import ResourceClaim
from dibs.schedule import claims as pod_claims
from dibs.schedule import extended, nodes
from dibs.schedule.plan import (
    AddReservation,
    BindPod,
    Broken,
    ClaimUse,
    CreateClaim,
    Decision,
    NodeAnswer,
    Objection,
    Placed,
    Plan,
    Settled,
    Subject,
    Waits,
    Write,
    WriteAllocation,
)
from dibs.schedule.snapshot import Key, Snapshot, age_of, key_of
from dibs.supply.features import ALL, Features
from dibs.supply.ledger import Ledger
from dibs.supply.pools import Supply

DONE = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Options:
    """How to decide, resolved at the door. `node` restricts placement to one node.

    `first-fit` takes nodes by name, `packed` those first that have the fewest free devices;
    inside a node the order is the allocator's.
    """

    features: Features = ALL
    order: Order = "first-fit"
    node: str = ""


DEFAULTS = Options()


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """The world between two decisions.

    `noes` remembers which wish was refused on which node, and on what ledger: what is taken only
    grows within a plan, so that a refusal stands. It belongs to one run and never outlives it.
    """

    snapshot: Snapshot
    options: Options
    supply: Supply
    ledger: Ledger
    answers: Answers
    noes: dict[tuple[str, str], tuple[Ledger, Refused]] = field(default_factory=dict)

    @classmethod
    def of(cls, snapshot: Snapshot, options: Options = DEFAULTS) -> State:
        supply = Supply.of(snapshot.slices, options.features)
        ledger = Ledger.of(snapshot.claims.values(), options.features)
        return cls(snapshot, options, supply, ledger, Answers())

    @property
    def nodes(self) -> Mapping[str, Node]:
        only = self.options.node
        if not only:
            return self.snapshot.nodes
        return {only: self.snapshot.nodes[only]} if only in self.snapshot.nodes else {}


def plan(snapshot: Snapshot, options: Options = DEFAULTS) -> Plan:
    """Decide on everybody. Raises Mistake for input that no API server would have accepted."""
    decisions: list[Decision] = []
    writes: list[Write] = []
    for decision, written in steps(snapshot, options):
        decisions.append(decision)
        writes += written
    return Plan(tuple(decisions), tuple(writes))


def steps(
    snapshot: Snapshot, options: Options = DEFAULTS
) -> Iterator[tuple[Decision, tuple[Write, ...]]]:
    """The same, one decision at a time, for whoever wants to tell how far it is."""
    state = State.of(snapshot, options)
    for subject in queue(snapshot):
        decision = decide(state, subject)
        yield decision, tuple(writes_of(decision, state))
        state = after(state, decision)


def until(snapshot: Snapshot, subject: Subject, options: Options = DEFAULTS) -> State:
    """The world when a cluster comes to decide on `subject`: Pods before it have had their turn.

    Claims that no Pod uses have not: nobody allocates those until a Pod does. For one of them the
    Pod that will use it is yet to come, after all that are there.
    """
    state = State.of(snapshot, options)
    for earlier in queue(snapshot):
        if earlier == subject and subject.kind == "Pod":
            break
        if earlier.kind == "Pod" and is_open(snapshot.pods[earlier.key]):
            state = after(state, decide(state, earlier))
    return state


def queue(snapshot: Snapshot) -> tuple[Subject, ...]:
    """Everybody there is to decide on, oldest first: all Pods, and claims that no Pod uses."""
    used = used_claims(snapshot)
    waiting: list[tuple[tuple[bool, str, Key], int, Subject]] = []
    for key, pod in snapshot.pods.items():
        waiting.append((age_of(pod), 0, Subject("Pod", key)))
    for key, claim in snapshot.claims.items():
        if claim.status.allocation is None and key not in used and not is_deleting(claim):
            waiting.append((age_of(claim), 1, Subject("ResourceClaim", key)))
    return tuple(subject for *_, subject in sorted(waiting, key=lambda entry: entry[:2]))


def used_claims(snapshot: Snapshot) -> set[Key]:
    """The claims that a Pod still needs: they are decided on with it."""
    used: set[Key] = set()
    for key, pod in snapshot.pods.items():
        if is_done(pod):
            continue
        for entry in pod.spec.resource_claims:
            if entry.resource_claim_name:
                used.add(Key(key.namespace, entry.resource_claim_name))
        for status in pod.status.resource_claim_statuses:
            if status.resource_claim_name:
                used.add(Key(key.namespace, status.resource_claim_name))
        used.update(snapshot.generated.get(key, ()))
    return used


def is_done(pod: Pod) -> bool:
    """It needs no devices any more: ended, or deleted before it had a node (claim controller)."""
    deleted = pod.metadata.deletion_timestamp is not None
    return pod.status.phase in DONE or (deleted and not pod.spec.node_name)


def is_open(pod: Pod) -> bool:
    """Whether deciding on it can take devices."""
    return not pod.spec.node_name and not is_done(pod)


def is_deleting(claim: ResourceClaim) -> bool:
    return claim.metadata.deletion_timestamp is not None


# --- one decision -------------------------------------------------------------------------------


def decide(state: State, subject: Subject) -> Decision:
    """Decide on one subject as things stand; changes nothing."""
    if subject.kind == "ResourceClaim":
        claim = state.snapshot.claims[subject.key]
        return place(state, subject, None, (ClaimUse("", claim),))
    pod = state.snapshot.pods[subject.key]
    if is_done(pod):
        return Settled(subject, pod.spec.node_name)
    resolved = pod_claims.of_pod(pod, state.snapshot)
    if pod.spec.node_name:
        return bound(subject, pod, resolved)
    gates = pod.spec.rest.get("schedulingGates") or ()
    names = ", ".join(str(gate.get("name", "")) for gate in gates if isinstance(gate, Mapping))
    if gates:
        against = Objection("gate", f"it is held back by scheduling gates: {names}")
        return Waits(subject, resolved.uses, (against, *resolved.objections))
    if resolved.objections:
        return Waits(subject, resolved.uses, resolved.objections)
    return place(state, subject, pod, resolved.uses)


def bound(subject: Subject, pod: Pod, resolved: pod_claims.Resolved) -> Decision:
    """A Pod that has its node already: the scheduler is not asked, so nobody allocates for it."""
    node = pod.spec.node_name
    if pod.status.phase == "Running":
        # It has all it needs, whatever the input lacks; and nobody makes claims for it any more.
        resolved = pod_claims.Resolved(tuple(use for use in resolved.uses if not use.is_new))
    objections = list(resolved.objections)
    for use in resolved.uses:
        if use.claim.status.allocation is None and pod.status.phase != "Running":
            objections.append(
                Objection(
                    "node name",
                    f"spec.nodeName is set to {node}, so the scheduler passes the Pod by and "
                    f"nobody allocates claim {key_of(use.claim.metadata)}",
                    f"drop nodeName and set nodeSelector kubernetes.io/hostname: {node}",
                )
            )
    if objections:
        return Waits(subject, resolved.uses, tuple(objections))
    uses = tuple(replace(use, claim=reserved(use.claim, pod)) for use in resolved.uses)
    return Settled(subject, node, uses)


def place(state: State, subject: Subject, pod: Pod | None, uses: tuple[ClaimUse, ...]) -> Decision:
    """Find the first node (or the tightest one) where everything fits at once."""
    open_claims = distinct(use.claim for use in uses if use.claim.status.allocation is None)
    unknown = [
        against
        for claim in open_claims
        for against in pod_claims.without_class(claim, state.snapshot.classes)
    ]
    if unknown:
        return Waits(subject, uses, tuple(unknown))
    if not state.nodes:
        return Waits(subject, uses, (no_nodes(state),))
    answers: dict[str, NodeAnswer] = {}
    for name, outcome in answers_of(state, pod, uses, open_claims):
        match outcome:
            case Allocated():
                placed = tuple(settle(use, outcome, open_claims, pod) for use in uses)
                return Placed(subject, name, placed, answers, outcome)
            case Failed():
                return Broken(subject, name, outcome, uses)
            case Refused() | TimedOut() | Objection():
                answers[name] = outcome
            case _:
                assert_never(outcome)
    return Waits(subject, uses, (), current(state, open_claims, answers))


def answers_of(
    state: State, pod: Pod | None, uses: tuple[ClaimUse, ...], open_claims: list[ResourceClaim]
) -> Iterator[tuple[str, NodeAnswer | Allocated | Failed]]:
    """Ask node by node; the caller stops at the first that will do."""
    allocated = [use.claim for use in uses if use.claim.status.allocation is not None]
    wanted = extended.served(pod, state.snapshot.classes.values()) if pod else {}
    wish = fingerprint(open_claims)
    for name in node_order(state):
        node = state.nodes[name]
        against = nodes.objection(pod, node) if pod else None
        against = against or nodes.pinned_elsewhere(allocated, node)
        against = against or extended.objection(wanted, node)
        if against:
            yield name, against
        elif (known := state.noes.get((name, wish))) is not None:
            yield name, known[1]
        else:
            outcome = ask(state, node, open_claims)
            if isinstance(outcome, Refused):
                state.noes[name, wish] = state.ledger, outcome
            yield name, outcome


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
    state: State, node: Node, open_claims: list[ResourceClaim]
) -> Allocated | Refused | Failed | TimedOut:
    return allocator.allocate(node, open_claims, state.supply, state.ledger, state.snapshot.classes)


def current(
    state: State, open_claims: list[ResourceClaim], answers: Mapping[str, NodeAnswer]
) -> dict[str, NodeAnswer]:
    """The same answers, with reasons as of now where they were remembered from before.

    A remembered no is still a no, but names the holders and the claims of an earlier question.
    """
    names = {str(key_of(claim.metadata)) for claim in open_claims}
    fresh: dict[str, NodeAnswer] = {}
    for name in sorted(answers):
        answer = fresh[name] = answers[name]
        if not isinstance(answer, Refused):
            continue
        ledger, _ = state.noes[name, fingerprint(open_claims)]
        if ledger is state.ledger and all(no.claim in names for no in answer.asks):
            continue
        again = ask(state, state.nodes[name], open_claims)
        assert isinstance(again, Refused | TimedOut), "a refusal stands while more is taken"
        fresh[name] = again
    return fresh


def fingerprint(open_claims: Iterable[ResourceClaim]) -> str:
    """Equal for claims that want the same."""
    return repr([claim.spec.devices for claim in open_claims])


def distinct(claims: Iterable[ResourceClaim]) -> list[ResourceClaim]:
    """Each claim once: two entries of a Pod may name the same."""
    return list({key_of(claim.metadata): claim for claim in claims}.values())


def no_nodes(state: State) -> Objection:
    if state.options.node:
        return Objection("nodes", f"there is no node {state.options.node}")
    return Objection(
        "nodes",
        "the input has no Node, and no ResourceSlice that names one",
        "add the output of: kubectl get nodes,resourceslices -o yaml",
    )


# --- what follows from a decision ---------------------------------------------------------------


def settle(
    use: ClaimUse, outcome: Allocated, open_claims: list[ResourceClaim], pod: Pod | None
) -> ClaimUse:
    """The claim as it is written after the decision: allocated, protected, reserved."""
    claim, is_fresh = use.claim, False
    for asked, allocation in zip(open_claims, outcome.allocations, strict=True):
        if key_of(asked.metadata) == key_of(claim.metadata):
            status = msgspec.structs.replace(claim.status, allocation=allocation)
            claim, is_fresh = msgspec.structs.replace(protected(claim), status=status), True
    return replace(use, claim=reserved(claim, pod) if pod else claim, is_fresh=is_fresh)


def protected(claim: ResourceClaim) -> ResourceClaim:
    """With the finalizer that keeps an allocated claim from vanishing."""
    if pod_claims.FINALIZER in claim.metadata.finalizers:
        return claim
    finalizers = (*claim.metadata.finalizers, pod_claims.FINALIZER)
    metadata = msgspec.structs.replace(claim.metadata, finalizers=finalizers)
    return msgspec.structs.replace(claim, metadata=metadata)


def reserved(claim: ResourceClaim, pod: Pod) -> ResourceClaim:
    if pod_claims.is_reserved(claim, pod):
        return claim
    consumers = (*claim.status.reserved_for, pod_claims.consumer(pod))
    status = msgspec.structs.replace(claim.status, reserved_for=consumers)
    return msgspec.structs.replace(claim, status=status)


def writes_of(decision: Decision, before: State) -> list[Write]:
    """What must be written for a decision, in order: claims, allocations, reservations, the Pod."""
    writes: list[Write] = []
    subject = decision.subject
    for use in decision.claims:
        if use.is_new and subject.kind == "Pod":
            writes.append(CreateClaim(unallocated(use.claim), subject.key, use.entry))
    if isinstance(decision, Waits | Broken):
        return writes
    seen: set[Key] = set()
    for use in decision.claims:
        key = key_of(use.claim.metadata)
        allocation = use.claim.status.allocation
        if use.is_fresh and allocation is not None and key not in seen:
            writes.append(WriteAllocation(key, allocation))
        old = before.snapshot.claims.get(key)
        known = old.status.reserved_for if old is not None else ()
        if key not in seen:
            added = [each for each in use.claim.status.reserved_for if each not in known]
            writes += [AddReservation(key, consumer) for consumer in added]
        seen.add(key)
    if isinstance(decision, Placed) and subject.kind == "Pod":
        writes.append(BindPod(subject.key, decision.node))
    return writes


def unallocated(claim: ResourceClaim) -> ResourceClaim:
    finalizers = tuple(f for f in claim.metadata.finalizers if f != pod_claims.FINALIZER)
    metadata = msgspec.structs.replace(claim.metadata, finalizers=finalizers)
    return ResourceClaim(metadata=metadata, spec=claim.spec)


def after(state: State, decision: Decision) -> State:
    """The world once a decision is carried out."""
    known = state.snapshot.claims
    changed = [
        use.claim
        for use in decision.claims
        if known.get(key_of(use.claim.metadata)) is not use.claim
    ]
    if not changed:
        return state
    ledger = state.ledger
    for use in {key_of(use.claim.metadata): use for use in decision.claims}.values():
        if use.is_fresh:
            ledger = ledger.plus(use.claim)
    return replace(state, snapshot=state.snapshot.with_claims(changed), ledger=ledger)
