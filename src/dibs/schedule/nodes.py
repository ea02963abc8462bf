"""Whether a Pod may go to a node at all, before any device is looked at.

The parts of kube-scheduler's filters that placement of devices depends on: cordons, taints, node
selector, required node affinity. Ports, volumes and Pod affinity are not judged; CPU, memory and
the number of Pods are in `room`, extended resources in `extended`.
Source: core/v1 PodSpec; each check returns its objection or None, cheapest first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from dibs.index.bits import Set
from dibs.index.roster import Roster
from dibs.model.core import Node, Pod, PodToleration, Taint
from dibs.model.meta import LabelSelectorRequirement, NodeSelector
from dibs.model.objects import ResourceClaim
from dibs.schedule.plan import Objection
from dibs.schedule.snapshot import key_of
from dibs.supply import node_selectors
from dibs.values.mistake import Mistake

CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
BLOCKING = ("NoSchedule", "NoExecute")


def objection(pod: Pod, node: Node) -> Objection | None:
    """Why this Pod can't go to this node, or None. Raises Mistake for a malformed affinity."""
    for check in CHECKS:
        if against := check(pod, node):
            return against
    return None


def allowed(pod: Pod, roster: Roster) -> Set:
    """The nodes that `objection` has nothing against. Raises Mistake as it does."""
    found = roster.all
    if not any(tolerates(each, CORDON) for each in pod.spec.tolerations):
        found &= ~roster.cordoned
    for key, tainted in roster.taints.items():
        taint = Taint(key=key.key, value=key.value, effect=key.effect)
        if taint.effect in BLOCKING and not any(tolerates(t, taint) for t in pod.spec.tolerations):
            found &= ~tainted
    found &= roster.labelled(pod.spec.node_selector)
    # Where no node is left nobody comes to read the affinity.
    if found and (selector := required_affinity(pod)) is not None:
        found &= selected_of(roster, selector, affinity_path(pod))
    return found


def reaching(claims: Iterable[ResourceClaim], roster: Roster, within: Set) -> Set:
    """Of these nodes those that `pinned_elsewhere` has nothing against."""
    for claim in claims:
        allocation = claim.status.allocation
        if within and allocation is not None and allocation.node_selector is not None:
            within &= selected_of(roster, allocation.node_selector, allocation_path(claim))
    return within


def selected_of(roster: Roster, selector: NodeSelector, path: str) -> Set:
    if (only := node_selectors.pinned_node(selector)) is not None:
        return roster.only(only)
    try:
        return roster.selected(selector)
    except Mistake as mistake:
        raise Mistake(mistake.message, path=path, remedy="correct the selector") from mistake


def pinned_elsewhere(claims: Iterable[ResourceClaim], node: Node) -> Objection | None:
    """Which claim is allocated where this node can't reach it (allocation.nodeSelector), if any."""
    for claim in claims:
        allocation = claim.status.allocation
        selector = allocation.node_selector if allocation else None
        if selector is None:
            continue
        only = node_selectors.pinned_node(selector)
        path = allocation_path(claim)
        if only == node.metadata.name or (only is None and matches(selector, node, path)):
            continue
        where = f"node {only}" if only else "other nodes"
        return Objection(
            "pinned", f"claim {key_of(claim.metadata)} is allocated, and only available on {where}"
        )
    return None


def uncordoned(pod: Pod, node: Node) -> Objection | None:
    if not node.spec.unschedulable or any(tolerates(t, CORDON) for t in pod.spec.tolerations):
        return None
    return Objection(
        "unschedulable",
        "the node is cordoned (spec.unschedulable)",
        "kubectl uncordon",
    )


def tolerated(pod: Pod, node: Node) -> Objection | None:
    for taint in node.spec.taints:
        if taint.effect in BLOCKING and not any(tolerates(t, taint) for t in pod.spec.tolerations):
            return Objection("taint", f"taint {written(taint)} is not tolerated")
    return None


def selected(pod: Pod, node: Node) -> Objection | None:
    labels = node.metadata.labels
    for key, wanted in pod.spec.node_selector.items():
        if labels.get(key) != wanted:
            text = f"nodeSelector wants label {key}={wanted}"
            detail = f"here it is {labels[key]}" if key in labels else "the node has no such label"
            return Objection("node selector", text, detail=detail)
    return None


def affine(pod: Pod, node: Node) -> Objection | None:
    selector = required_affinity(pod)
    if selector is None or matches(selector, node, affinity_path(pod)):
        return None
    wanted = " or ".join(
        " and ".join(map(requirement, (*term.match_expressions, *term.match_fields))) or "nothing"
        for term in selector.node_selector_terms
    )
    return Objection("affinity", f"required node affinity wants {wanted or 'nothing'}")


CHECKS = (uncordoned, tolerated, selected, affine)


def tolerates(toleration: PodToleration, taint: Taint) -> bool:
    """core/v1 Toleration: an empty key with Exists is every key, an empty effect every effect."""
    if toleration.effect not in ("", taint.effect):
        return False
    if toleration.key not in ("", taint.key):
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and (toleration.key, toleration.value) == (
        taint.key,
        taint.value,
    )


def required_affinity(pod: Pod) -> NodeSelector | None:
    """affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution of the Pod."""
    found = pod.spec.affinity
    for name in ("nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"):
        if not isinstance(found, Mapping):
            break
        found = found.get(name)
    if found is None:
        return None
    try:
        return msgspec.convert(found, NodeSelector)
    except msgspec.ValidationError as fault:
        raise Mistake(
            f"the required node affinity can't be read: {fault}",
            path=affinity_path(pod),
            remedy="see kubectl explain pod.spec.affinity.nodeAffinity",
        ) from fault


def affinity_path(pod: Pod) -> str:
    return f"Pod {key_of(pod.metadata)}: spec.affinity.nodeAffinity"


def allocation_path(claim: ResourceClaim) -> str:
    return f"ResourceClaim {key_of(claim.metadata)}: status.allocation.nodeSelector"


def matches(selector: NodeSelector, node: Node, path: str) -> bool:
    try:
        return node_selectors.matches(selector, node)
    except Mistake as mistake:
        raise Mistake(mistake.message, path=path, remedy="correct the selector") from mistake


def requirement(need: LabelSelectorRequirement) -> str:
    """A requirement as people write it: `zone In [a, b]`."""
    values = f" [{', '.join(need.values)}]" if need.values else ""
    return f"{need.key} {need.operator}{values}"


def written(taint: Taint) -> str:
    """As kubectl writes it: key=value:effect."""
    return f"{taint.key}{'=' if taint.value else ''}{taint.value}:{taint.effect}"
