"""A plan as people and programs see it: who goes where with which devices, and who waits and why.

The objects are the input's with the plan's decisions in them, as the API would hold them
afterwards. Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Mapping

from dibs.model.kinds import Known
from dibs.model.workloads import PodGroup
from dibs.schedule import groups, writes
from dibs.schedule.plan import Broken, ClaimUse, Decision, Placed, Plan, Settled, Waits
from dibs.schedule.snapshot import Key, Snapshot, key_of
from dibs.view import refusals, words
from dibs.view.table import Row, Table
from dibs.view.tree import Tree

# How many groups of nodes one line of a table tells of; `why` tells of all.
SHOWN = 3


def objects(plan: Plan, snapshot: Snapshot) -> tuple[Known, ...]:
    """Claims with their allocations and reservations, Pods with their nodes, in order of decision;
    PodGroups for which claims were made.

    A claim that several Pods share is there once, reserved for all of them.
    """
    found: dict[tuple[str, Key], Known] = {}
    for decision in plan.decisions:
        if not isinstance(decision, Placed | Settled):
            continue
        for use in decision.claims:
            key = key_of(use.claim.metadata)
            if use.claim is not snapshot.claims.get(key):
                found["ResourceClaim", key] = use.claim
            if use.template and use.group is not None and not is_recorded(use, use.group):
                found["PodGroup", key_of(use.group.metadata)] = recorded(use, use.group, found)
        if isinstance(decision, Placed) and decision.subject.kind == "Pod":
            key = decision.subject.key
            found["Pod", key] = writes.bound(snapshot.pods[key], decision)
    return tuple(found.values())


def is_recorded(use: ClaimUse, group: PodGroup) -> bool:
    name = use.claim.metadata.name
    return any(name == each.resource_claim_name for each in group.status.resource_claim_statuses)


def recorded(use: ClaimUse, group: PodGroup, found: Mapping[tuple[str, Key], Known]) -> PodGroup:
    """The group with the name of a claim made for it, beside those that were made before."""
    before = found.get(("PodGroup", key_of(group.metadata)))
    latest = before if isinstance(before, PodGroup) else group
    return groups.recording(latest, use.entry, use.claim.metadata.name)


def table(plan: Plan) -> Table:
    """One row for everybody who was waiting, in order of decision; `reasons` says why some do."""
    rows = []
    for decision in plan.decisions:
        match decision:
            case Settled():
                continue
            case Placed():
                devices = "; ".join(filter(None, map(devices_of, decision.claims)))
                rows.append(Row((str(decision.subject), "placed", decision.node, devices), "good"))
            case Waits():
                rows.append(Row((str(decision.subject), "waits", "", ""), "bad"))
            case Broken():
                rows.append(Row((str(decision.subject), "failed", "", ""), "bad"))
    return Table(("who", "answer", "node", "devices"), tuple(rows))


def reasons(plan: Plan) -> tuple[Tree, ...]:
    """Under the table: for each who waits, the trouble of each group of nodes in a line."""
    return tuple(Tree(f"{each.subject} waits", lines(each)) for each in waiting(plan))


def lines(decision: Waits | Broken) -> tuple[Tree, ...]:
    if isinstance(decision, Broken):
        return (Tree(decision.failed.message),)
    general = tuple(Tree(against.text) for against in decision.objections)
    return general + tuple(
        Tree(refusals.brief(group), label=words.spanned(group.nodes, "node"))
        for group in refusals.groups(decision.nodes)
    )


def devices_of(use: ClaimUse) -> str:
    """`gpu: gpu-0, gpu-1`: each request with its devices; by resource, if it was asked for so."""
    allocation = use.claim.status.allocation
    resources = {each.request_name: each.resource_name for each in use.mappings}
    by_request: dict[str, list[str]] = {}
    for result in allocation.devices.results if allocation else ():
        name = resources.get(result.request, result.request)
        by_request.setdefault(name, []).append(result.device)
    return "; ".join(f"{name}: {', '.join(names)}" for name, names in by_request.items())


def reason(decision: Decision) -> str:
    """Why it waits, in one line: what is against it, or the trouble of the nodes, summed up."""
    match decision:
        case Broken():
            return decision.failed.message.partition("\n")[0]
        case Waits():
            if decision.objections:
                return "; ".join(against.text for against in decision.objections)
            groups = refusals.groups(decision.nodes)
            parts = [f"{words.spanned(g.nodes, 'node')}: {refusals.brief(g)}" for g in groups]
            return "; ".join(parts[:SHOWN]) + ("; …" if len(parts) > SHOWN else "")
        case _:
            return ""


def waiting(plan: Plan) -> tuple[Waits | Broken, ...]:
    return tuple(each for each in plan.decisions if isinstance(each, Waits | Broken))
