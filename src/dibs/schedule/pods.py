"""Which Pod goes where, and why not: a snapshot in, a plan out.

Pods and claims that no Pod uses are taken oldest first, then by name; nodes by name, and the
first that fits wins. Each decision sees what the earlier ones took. A Pod's claims are all
allocated on one node, or none is. Devices are chosen in `allocate`; this room never writes.
Source: kube-scheduler's DynamicResources plugin, KEP-4381.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from dibs.allocate.outcome import Failed
from dibs.model.core import Node, Pod
from dibs.model.objects import ResourceClaim
from dibs.schedule import claims as pod_claims
from dibs.schedule import extended, fit, footprint, groups, nodes, writes
from dibs.schedule.plan import (
    Broken,
    ClaimUse,
    Decision,
    Objection,
    Plan,
    Settled,
    Subject,
    Waits,
    Write,
)
from dibs.schedule.snapshot import Key, Snapshot, age_of, key_of
from dibs.schedule.state import DEFAULTS, Options, State
from dibs.values.mistake import Mistake

DONE = footprint.ENDED


def plan(snapshot: Snapshot, options: Options = DEFAULTS) -> Plan:
    """Decide on everybody. Raises Mistake for input that no API server would have accepted."""
    decisions: list[Decision] = []
    written: list[Write] = []
    for decision, following in steps(snapshot, options):
        decisions.append(decision)
        written += following
    return Plan(tuple(decisions), tuple(written))


def steps(
    snapshot: Snapshot,
    options: Options = DEFAULTS,
    state: State | None = None,
    *,
    is_strict: bool = True,
) -> Iterator[tuple[Decision, tuple[Write, ...]]]:
    """The same, one decision at a time, for whoever wants to tell how far it is.

    `state` is that of the snapshot with those options, for who wants its `stats` afterwards. Unless
    `is_strict` a faulty Pod is Broken, as in a cluster, where one of them must not stop all others.
    """
    state = state if state is not None else State.of(snapshot, options)
    for subject in queue(snapshot):
        decision = decide(state, subject) if is_strict else judge(state, subject)
        yield decision, tuple(writes.of(decision, state))
        state = writes.after(state, decision)


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
            state = writes.after(state, judge(state, earlier))
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
        for entry in pod.spec.resource_claims:
            group = groups.sharing(pod, entry, snapshot)
            claim = groups.claim_of(group, entry.name, snapshot) if group is not None else None
            if claim is not None:
                used.add(key_of(claim.metadata))
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
        return fit.place(state, subject, None, (ClaimUse("", claim),))
    pod = state.snapshot.pods[subject.key]
    if is_done(pod):
        return Settled(subject, pod.spec.node_name)
    resolved = pod_claims.of_pod(pod, state.snapshot)
    if pod.spec.node_name:
        return bound(subject, pod, resolved, state.snapshot)
    if gates := scheduling_gates(pod):
        against = Objection("gate", f"it is held back by scheduling gates: {', '.join(gates)}")
        return Waits(subject, resolved.uses, (against, *resolved.objections))
    if resolved.objections:
        return Waits(subject, resolved.uses, resolved.objections)
    return fit.place(state, subject, pod, resolved.uses)


def judge(state: State, subject: Subject) -> Decision:
    """The same, of what others may have written: a Mistake in it is told as what is broken."""
    try:
        return decide(state, subject)
    except Mistake as mistake:
        return Broken(subject, "", Failed("", str(mistake)))


def scheduling_gates(pod: Pod) -> list[str]:
    """The names in spec.schedulingGates, which is kept as it was read."""
    gates = pod.spec.rest.get("schedulingGates")
    if not isinstance(gates, list):
        return []
    return [str(gate.get("name", "")) for gate in gates if isinstance(gate, Mapping)]


def bound(
    subject: Subject, pod: Pod, resolved: pod_claims.Resolved, snapshot: Snapshot
) -> Decision:
    """A Pod that has its node already: the scheduler is not asked, so nobody allocates for it."""
    node = pod.spec.node_name
    where = snapshot.nodes.get(node)
    if pod.status.phase == "Running":
        # It has all it needs, whatever the input lacks; and nobody makes claims for it any more.
        held = (use for use in resolved.uses if use.claim.status.allocation is not None)
        return Settled(subject, node, tuple(with_reservation(use, pod) for use in held))
    objections = list(resolved.objections)
    if where is not None:
        elsewhere = nodes.pinned_elsewhere((use.claim for use in resolved.uses), where)
        objections += [elsewhere] if elsewhere else []
    for use in resolved.uses:
        if use.claim.status.allocation is None:
            objections.append(
                Objection(
                    "node name",
                    f"spec.nodeName is set to {node}, so the scheduler passes the Pod by and "
                    f"nobody allocates claim {key_of(use.claim.metadata)}",
                    f"drop nodeName and set nodeSelector kubernetes.io/hostname: {node}"
                    if where is not None
                    else f"there is no node {node} in the input: drop nodeName, or correct it",
                )
            )
    objections += unserved(pod, where, snapshot)
    if objections:
        return Waits(subject, resolved.uses, tuple(objections))
    return Settled(subject, node, tuple(with_reservation(use, pod) for use in resolved.uses))


def unserved(pod: Pod, where: Node | None, snapshot: Snapshot) -> list[Objection]:
    """What a container asks for by name, and nobody makes the claim for (KEP-5004)."""
    if where is None or pod.status.extended_resource_claim_status is not None:
        return []
    names = [name for name in extended.wanted(pod) if not extended.is_plugged(name, where)]
    special = extended.special(pod, names, snapshot)
    if not isinstance(special, extended.Special):
        return []
    served = ", ".join(dict.fromkeys(each.resource_name for each in special.mappings))
    text = (
        f"spec.nodeName is set to {where.metadata.name}, so the scheduler passes the Pod by and "
        f"nobody makes its claim for {served}"
    )
    remedy = f"drop nodeName and set nodeSelector kubernetes.io/hostname: {where.metadata.name}"
    return [Objection("node name", text, remedy)]


def with_reservation(use: ClaimUse, pod: Pod) -> ClaimUse:
    """What the resourceclaim controller adds for Pods that came past the scheduler."""
    return replace(use, claim=writes.reserved(use.claim, pod, use.group))
