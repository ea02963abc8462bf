"""Whether a node has room for a Pod beside those that are there: CPU, memory, number of Pods.

What containers ask for by names with a domain is in `extended`, what devices draw from the node in
`natives`. Source: kube-scheduler's NodeResourcesFit; core/v1 NodeStatus.allocatable.
"""

from __future__ import annotations

from dibs.model.core import Node, Pod
from dibs.schedule import footprint
from dibs.schedule.footprint import ZERO, Amounts
from dibs.schedule.plan import Objection


def wanted(pod: Pod) -> Amounts:
    """What of a node must be free for the Pod; nothing for what it asks nothing of."""
    own = footprint.of_itself(pod)
    return {name: amount for name, amount in own.items() if "/" not in name and amount.sign() > 0}


def lacking(room: Amounts, node: Node, used: Amounts) -> str:
    """The first that the node has too little of, "" for none; `used` is what Pods on it take.

    About what a node doesn't tell nothing is known, as of the nodes of a dump without Nodes.
    """
    allocatable = node.status.allocatable
    for name, amount in room.items():
        total = allocatable.get(name)
        if total is None:
            continue
        taken = used.get(name)
        if amount > (total if taken is None else total.minus(taken)):
            return name
    return ""


def objection(room: Amounts, node: Node, used: Amounts) -> Objection | None:
    name = lacking(room, node, used)
    if not name:
        return None
    total = node.status.allocatable[name]
    if name == footprint.PODS:
        text, detail = "it has as many Pods as it may have", f"{total} at most"
    else:
        left = max(total.minus(used.get(name, ZERO)), ZERO)
        text, detail = f"too little {name}, {room[name]} wanted", f"{left} of {total} left"
    return Objection("node resources", text, detail=detail)
