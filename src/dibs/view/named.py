"""Devices that containers ask for by resource name (KEP-5004), in words: by whom, from whom.

On one node they come through a claim, on another from a device plugin, which only counts.
"""

from __future__ import annotations

from collections.abc import Iterator

from dibs.model.core import Pod
from dibs.schedule import extended, footprint
from dibs.schedule.plan import ClaimUse, Placed, Settled
from dibs.schedule.state import State
from dibs.view import words
from dibs.view.tree import Tree


def wish(pod: Pod) -> str:
    """`2 nvidia.com/gpu`; "" when nothing is asked for so."""
    return words.listed([f"{count} {name}" for name, count in extended.wanted(pod).items()])


def origin(use: ClaimUse) -> str:
    """Whose wish a special claim is: `nvidia.com/gpu of container main`."""
    wishes = (f"{each.resource_name} of container {each.container_name}" for each in use.mappings)
    return words.listed(list(dict.fromkeys(wishes)))


def plugged(pod: Pod, decision: Placed | Settled, before: State) -> Iterator[Tree]:
    """What the Pod has from device plugins of its node."""
    node = before.snapshot.nodes.get(decision.node)
    if node is None:
        return
    for name, count in extended.wanted(pod).items():
        if not extended.is_plugged(name, node):
            continue
        total = node.status.allocatable[name]
        text = f"{count} {name} from the device plugin of the node"
        if isinstance(decision, Placed):
            used = before.used.get(decision.node, footprint.NOTHING)
            left = total.minus(used.get(name, footprint.ZERO))
            text = f"{text}, which has {left} of {total} left"
        yield Tree(f"{text}: no claim is made for it")
