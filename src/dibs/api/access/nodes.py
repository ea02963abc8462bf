"""What a node may write, object by object: itself, its slices, the status of its own Pods.

`roles` says which resources a node writes at all. One node's key must not be worth more than
that node: what it writes is compared with what stands, before and after.
Source: NodeRestriction admission and the node authorizer of Kubernetes; KEP-4381 (slices).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dibs.api.access import roles, trees
from dibs.api.calls import Asked, Caller, Tree

RESOURCE = "resource.k8s.io"
# Leases by which nodes say that they live.
LEASES = "kube-node-lease"
# Labels of Kubernetes' own are vouched for by an admin, since workloads are kept away by them; but
# for those that a node knows best. Source: NodeRestriction.
VOUCHED = ("kubernetes.io", "k8s.io")
TOLD_BY_NODES = frozenset(
    {
        "kubernetes.io/hostname",
        "kubernetes.io/arch",
        "kubernetes.io/os",
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
        "failure-domain.beta.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
    }
)
PLACES_OF_NODES = ("kubelet.kubernetes.io", "node.kubernetes.io")

Check = Callable[[str, Asked, Tree | None, Tree | None], str | None]


def objection(caller: Caller, asked: Asked, before: Tree | None, after: Tree | None) -> str | None:
    """Return why a node may not make this write; None for all callers who aren't nodes."""
    node = roles.node_of(caller)
    if node is None or roles.ADMINS.intersection(caller.groups):
        return None
    check = CHECKS.get((asked.group, asked.resource))
    return check(node, asked, before, after) if check is not None else None


def concealed(caller: Caller, asked: Asked, tree: Callable[[], Tree]) -> str | None:
    """Return why a node may not read this object; None for all callers who aren't nodes."""
    path = SEEN_BY.get((asked.group, asked.resource))
    node = roles.only_as_node(caller, asked) if path else None
    if path is None or node is None:
        return None
    if trees.at(tree(), *path) != node:
        return f"node {node!r} may only read what is its own"
    return None


# Where it stands whose an object is. Source: the node authorizer.
SEEN_BY = {
    ("", "nodes"): ("metadata", "name"),
    ("", "pods"): ("spec", "nodeName"),
    (RESOURCE, "resourceslices"): ("spec", "nodeName"),
}


def _node(node: str, asked: Asked, before: Tree | None, after: Tree | None) -> str | None:
    if other := _other(node, before, after, "metadata", "name"):
        return f"node {node!r} is not allowed to modify node {other!r}"
    if after is None or asked.subresource:
        return None
    labels_before, labels_after = _vouched(before), _vouched(after)
    if labels_before != labels_after:
        changed = sorted(dict(labels_before.items() ^ labels_after.items()))
        return f"node {node!r} is not allowed to change labels: {', '.join(changed)}"
    # With an owner that isn't there it would be collected, and could come again without its taints.
    if _owners(before) != _owners(after):
        return f"node {node!r} is not allowed to change its owners"
    # Its first taints a node may bring along: they only keep work away.
    if before is not None and trees.at(before, "spec", "taints") != trees.at(
        after, "spec", "taints"
    ):
        return f"node {node!r} is not allowed to change its taints"
    return None


def _slice(node: str, asked: Asked, before: Tree | None, after: Tree | None) -> str | None:
    for tree in (before, after):
        if tree is not None and trees.at(tree, "spec", "nodeName") != node:
            return f"node {node!r} may only write resource slices whose spec.nodeName is {node!r}"
    return None


def _pod(node: str, asked: Asked, before: Tree | None, after: Tree | None) -> str | None:
    where = trees.at(before, "spec", "nodeName") if before is not None else None
    if where != node:
        return f"node {node!r} may only touch pods that are bound to it"
    for field in ("resourceClaimStatuses", "extendedResourceClaimStatus"):
        if after is not None and trees.at(before, "status", field) != trees.at(
            after, "status", field
        ):
            return f"node {node!r} is not allowed to change status.{field} of a pod"
    return None


def _claim(node: str, asked: Asked, before: Tree | None, after: Tree | None) -> str | None:
    # Which drivers' entries it may write is asked entry by entry (resourceclaims/driver).
    status_before, status_after = trees.at(before, "status") or {}, trees.at(after, "status") or {}
    for field in ("allocation", "reservedFor"):
        if status_before.get(field) != status_after.get(field):
            return f"node {node!r} is not allowed to change status.{field} of a claim"
    return None


def _lease(node: str, asked: Asked, before: Tree | None, after: Tree | None) -> str | None:
    if asked.namespace != LEASES or _other(node, before, after, "metadata", "name"):
        return f"node {node!r} may only write lease {LEASES}/{node}"
    return None


CHECKS: dict[tuple[str, str], Check] = {
    ("", "nodes"): _node,
    ("", "pods"): _pod,
    (RESOURCE, "resourceslices"): _slice,
    (RESOURCE, "resourceclaims"): _claim,
    ("coordination.k8s.io", "leases"): _lease,
}


def _other(node: str, before: Tree | None, after: Tree | None, *path: str) -> str | None:
    """What stands at a path in one of the two objects and isn't the node's name."""
    for tree in (before, after):
        if tree is not None and trees.at(tree, *path) != node:
            return str(trees.at(tree, *path))
    return None


def _vouched(tree: Tree | None) -> dict[str, Any]:
    labels = trees.at(tree, "metadata", "labels") or {}
    return {name: value for name, value in labels.items() if _is_vouched(name)}


def _is_vouched(label: str) -> bool:
    place = label.partition("/")[0] if "/" in label else ""
    return (
        _is_within(place, VOUCHED)
        and label not in TOLD_BY_NODES
        and not _is_within(place, PLACES_OF_NODES)
    )


def _is_within(place: str, domains: tuple[str, ...]) -> bool:
    return any(place == domain or place.endswith(f".{domain}") for domain in domains)


def _owners(tree: Tree | None) -> Any:
    return trees.at(tree, "metadata", "ownerReferences") or []
