"""Who may write which part of a claim's status, beyond writing it at all.

Who holds what is for the scheduler and the claim controller (`resourceclaims/binding`); what a
driver reports is for that driver (`resourceclaims/driver`, by its name), from the node of the
allocation or from anywhere. Source: DRAResourceClaimGranularStatusAuthorization, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dibs.api import failures
from dibs.api.calls import Asked, Call, Caller, Tree
from dibs.api.gate import Gate
from dibs.api.kinds import RESOURCE
from dibs.model.rules.faults import forbidden

NODE_NAME = "authentication.kubernetes.io/node-name"
_OF_A_NODE = ("system:serviceaccount:", "system:node:")


def refuse(gate: Gate, call: Call, new: Tree, old: Tree) -> None:
    """Raise Failure (422, a forbidden field) for the first part that the caller may not write."""
    after, before = new.get("status") or {}, old.get("status") or {}
    verb = "patch" if call.verb == "patch" else "update"
    for asked in _needed(verb, call, after, before):
        refusals = [gate.refusal(call.caller, each) for each in asked]
        if None not in refusals:
            raise failures.invalid(
                call.resource, call.name, [forbidden("status", refusals[0] or "")]
            )


def _needed(verb: str, call: Call, after: Tree, before: Tree) -> Iterator[tuple[Asked, ...]]:
    """Yield what must be allowed; of each tuple one suffices."""
    if _binding(after) != _binding(before):
        yield (Asked(verb, RESOURCE, "resourceclaims", "binding"),)
    for driver in sorted(_reporting(after, before)):
        doors = ["arbitrary-node"]
        if _is_associated(call.caller, after.get("allocation")):
            doors.insert(0, "associated-node")
        yield tuple(
            Asked(f"{door}:{verb}", RESOURCE, "resourceclaims", "driver", call.namespace, driver)
            for door in doors
        )


def _binding(status: Tree) -> tuple[Any, Any]:
    return status.get("allocation"), status.get("reservedFor") or []


def _reporting(after: Tree, before: Tree) -> set[str]:
    """The drivers whose reports differ."""
    new, old = _reports(after), _reports(before)
    return {key[0] for key in new.keys() | old.keys() if new.get(key) != old.get(key)}


def _reports(status: Tree) -> dict[tuple[str, ...], Tree]:
    return {
        tuple(str(each.get(name, "")) for name in ("driver", "pool", "device", "shareID")): each
        for each in status.get("devices") or ()
    }


def _is_associated(caller: Caller, allocation: Tree | None) -> bool:
    """Whether the caller is of the allocation's node: a token that was given to a Pod there, or
    the node itself, under whose name drivers run on one box."""
    nodes = caller.extra.get(NODE_NAME, ())
    return (
        caller.name.startswith(_OF_A_NODE)
        and len(nodes) == 1
        and nodes[0] != ""
        and nodes[0] == node_of(allocation)
    )


def node_of(allocation: Tree | None) -> str:
    """Return the one node an allocation is for, "" when it isn't for exactly one."""
    terms = ((allocation or {}).get("nodeSelector") or {}).get("nodeSelectorTerms") or []
    if len(terms) != 1 or terms[0].get("matchExpressions"):
        return ""
    fields = terms[0].get("matchFields") or []
    if len(fields) != 1:
        return ""
    only = fields[0]
    values = only.get("values") or []
    is_name = only.get("key") == "metadata.name" and only.get("operator") == "In"
    return str(values[0]) if is_name and len(values) == 1 else ""
