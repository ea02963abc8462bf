"""The finalizer of a claim that Pods use: only the control plane and administrators take it off.

Kubernetes lets everybody who may write the claim; but then the claim can be deleted under its
Pods, and its devices are handed out a second time while these still use them.
Source: KEP-4381, the finalizer `resource.kubernetes.io/delete-protection`.
"""

from __future__ import annotations

from dibs.api.access import roles, trees
from dibs.api.calls import Asked, Caller, Tree

FINALIZER = "resource.kubernetes.io/delete-protection"


def objection(caller: Caller, asked: Asked, before: Tree | None, after: Tree | None) -> str | None:
    """Return why the caller may not make this write; None for all others."""
    if (asked.group, asked.resource) != (roles.RESOURCE, "resourceclaims"):
        return None
    if before is None or after is None or not _has(before) or _has(after):
        return None
    users = trees.at(before, "status", "reservedFor")
    if not users or not roles.ADMINS.isdisjoint(caller.groups):
        return None
    names = ", ".join(str(trees.at(each, "name")) for each in users[:3])
    return (
        f"finalizer {FINALIZER} stays while the claim is reserved for {names}: "
        "its devices are in use; delete what uses it"
    )


def _has(claim: Tree) -> bool:
    return FINALIZER in (trees.at(claim, "metadata", "finalizers") or ())
