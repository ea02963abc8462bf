"""Pods whose node has nobody to end them: no agent runs there, or the node is gone.

A node of a fleet (`dibs up --fleet`) is a model: Pods get devices there and nothing runs. What is
deleted there ends at once. On a node that is gone for a while, Pods are deleted.
Source: pod garbage collector of kube-controller-manager (40 s quarantine).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from dibs.client.cluster import Cluster, Missing, Ref
from dibs.control.mirror import Mirror
from dibs.model import kinds
from dibs.model.core import Node, Pod
from dibs.model.kinds import Known

NODES = kinds.BY_NAME["", "Node"]
# On a Node: nothing runs there, Pods are only placed.
MODEL = "dibs.dev/model-of-a-node"
QUARANTINE_S = 40.0


@dataclass(slots=True)
class Nodeless:
    """Keys are Pods."""

    cluster: Cluster
    mirror: Mirror
    name: str = "nodeless"
    _on: dict[str, dict[Ref, None]] = field(default_factory=dict)
    # Pods whose node is missing, and since when, by a clock that only goes forward.
    _suspect: dict[Ref, float] = field(default_factory=dict)

    def concerned(self, before: Known | None, after: Known | None) -> Iterable[Ref]:
        match after or before:
            case Pod() as pod:
                self._index(before, after)
                if after is not None and pod.spec.node_name:
                    yield Ref.to(pod)
            case Node() as node:
                yield from tuple(self._on.get(node.metadata.name, ()))

    def _index(self, before: Known | None, after: Known | None) -> None:
        for item, is_now in ((before, False), (after, True)):
            if isinstance(item, Pod) and item.spec.node_name:
                refs = self._on.setdefault(item.spec.node_name, {})
                if is_now:
                    refs[Ref.to(item)] = None
                else:
                    refs.pop(Ref.to(item), None)
                if not refs:
                    del self._on[item.spec.node_name]
        if after is None and before is not None:
            self._suspect.pop(Ref.to(before), None)

    async def tend(self, ref: Ref) -> float | None:
        pod = self.mirror.get(ref)
        if not isinstance(pod, Pod) or not pod.spec.node_name:
            return None
        node_ref = Ref(NODES, "", pod.spec.node_name)
        node = self.mirror.get(node_ref)
        if isinstance(node, Node):
            self._suspect.pop(ref, None)
            is_leaving = pod.metadata.deletion_timestamp is not None
            if is_leaving and MODEL in node.metadata.annotations:
                await self._end(ref, pod)
            return None
        clock = asyncio.get_running_loop().time
        left_s = self._suspect.setdefault(ref, clock()) + QUARANTINE_S - clock()
        if left_s > 0:
            return left_s
        # It may have come back, and the watch be late: ask once more before anything is lost.
        if await self.cluster.get(node_ref) is None:
            await self._end(ref, pod)
        return None

    async def _end(self, ref: Ref, pod: Pod) -> None:
        try:
            await self.cluster.delete(ref, uid=pod.metadata.uid, grace_s=0)
        except Missing:
            return
