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


def objection(room: Amounts, node: Node, used: Amounts) -> Objection | None:
    """What the node has too little of; `used` is what Pods on it take.

    About what a node doesn't tell nothing is known, as of the nodes of a dump without Nodes.
    """
    allocatable = node.status.allocatable
    for name, amount in room.items():
        total = allocatable.get(name)
        if total is None:
            continue
        taken = used.get(name)
        if amount > (total if taken is None else total.minus(taken)):
            return shortage(name, amount, total.minus(taken or ZERO), total)
    return None


def shortage(name: str, amount: object, left: object, total: object) -> Objection:
    if name == footprint.PODS:
        text, detail = "it has as many Pods as it may have", f"{total} at most"
    else:
        text, detail = f"too little {name}, {amount} wanted", f"{left} of {total} left"
    return Objection("node resources", text, detail=detail)
