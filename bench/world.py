"""One world to decide on: as JSON trees, which both sides are given, and as dibs's objects.

A world is what the API server would hold at one moment, and the claims of one Pod that are to be
decided on (or of many Pods, one each, in `fill`). Which worlds there are is for `cases` to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from dibs.index.index import Index
from dibs.model import codec
from dibs.model.core import Node
from dibs.model.objects import DeviceClass, ResourceClaim, ResourceSlice
from dibs.supply.ledger import Ledger
from dibs.supply.pools import Supply

Tree = dict[str, Any]


@dataclass(frozen=True)
class World:
    """Trees with apiVersion and kind, as `kubectl get -o json` prints them.

    `needs` are features beyond those that kube-scheduler 1.37 has on without being told.
    """

    nodes: Sequence[Tree]
    slices: Sequence[Tree]
    classes: Sequence[Tree]
    claims: Sequence[Tree]
    held: Sequence[Tree] = ()
    needs: frozenset[str] = field(default=frozenset())

    @cached_property
    def read(self) -> Read:
        return Read(
            nodes=tuple(_read(each, Node) for each in self.nodes),
            slices=tuple(_read(each, ResourceSlice) for each in self.slices),
            classes={each["metadata"]["name"]: _read(each, DeviceClass) for each in self.classes},
            claims=tuple(_read(each, ResourceClaim) for each in self.claims),
            held=tuple(_read(each, ResourceClaim) for each in self.held),
        )


@dataclass(frozen=True)
class Read:
    """The same, decoded."""

    nodes: tuple[Node, ...]
    slices: tuple[ResourceSlice, ...]
    classes: dict[str, DeviceClass]
    claims: tuple[ResourceClaim, ...]
    held: tuple[ResourceClaim, ...]

    @cached_property
    def supply(self) -> Supply:
        return Supply.of(self.slices)

    @cached_property
    def ledger(self) -> Ledger:
        return Ledger.of(self.held)

    @cached_property
    def index(self) -> Index:
        return Index.of(self.nodes, self.supply, self.ledger)


def _read(tree: Tree, kind: type[Any]) -> Any:
    decoded = codec.decode(tree)
    assert isinstance(decoded.object, kind), decoded.faults
    return decoded.object
