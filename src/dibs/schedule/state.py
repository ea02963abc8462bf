"""The world between two decisions, and how to decide.

A state is a value: what a decision changes makes the next one (`writes.after`). Two memos go with
it: each of their entries says for what it holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from dibs.allocate.orders import Order
from dibs.allocate.outcome import Refused
from dibs.allocate.selecting import Answers
from dibs.index.index import Index
from dibs.model.core import Node
from dibs.model.objects import Device
from dibs.schedule import footprint
from dibs.schedule.footprint import Amounts
from dibs.schedule.snapshot import Key, Snapshot
from dibs.supply.features import ALL, Features
from dibs.supply.identity import DeviceId
from dibs.supply.ledger import Ledger
from dibs.supply.pools import Supply
from dibs.values.stats import Kept


@dataclass(frozen=True, slots=True)
class Options:
    """How to decide, resolved at the door. `node` restricts placement to one node.

    `first-fit` takes nodes by name, `packed` those first that have the fewest free devices;
    inside a node the order is the allocator's.
    """

    features: Features = ALL
    order: Order = "first-fit"
    node: str = ""


DEFAULTS = Options()


class Told(NamedTuple):
    """The reasons of a no: on what ledger, slices and node, beside which Pods, for which claims."""

    ledger: Ledger
    supply: Supply
    node: Node
    used: Amounts | None
    claims: tuple[Key, ...]
    refused: Refused


# Reasons of so many devices are kept: some 300 bytes each.
MOST_TOLD = 100_000


def kept_reasons() -> Kept[tuple[str, bytes], Told]:
    return Kept("reasons", MOST_TOLD, lambda told: 1 + sum(len(a.noes) for a in told.refused.asks))


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """`index` follows nodes, slices and ledger; without one each node is asked. `told` has reasons
    by node and wish, `answers` what selectors said of devices.
    """

    snapshot: Snapshot
    options: Options
    supply: Supply
    ledger: Ledger
    answers: Answers
    # What the Pods on each node take of what it counts itself.
    used: Mapping[str, Amounts] = field(default_factory=dict)
    # The devices that draw from it too, and what they draw: cpu, memory (KEP-5517).
    drawing: Mapping[DeviceId, Device] = field(default_factory=dict)
    natives: frozenset[str] = frozenset()
    index: Index | None = None
    told: Kept[tuple[str, bytes], Told] = field(default_factory=kept_reasons)

    @classmethod
    def of(cls, snapshot: Snapshot, options: Options = DEFAULTS) -> State:
        supply = Supply.of(snapshot.slices, options.features)
        ledger = Ledger.of(snapshot.claims.values(), options.features)
        used = footprint.by_node(snapshot.pods.values())
        drawing = natively_drawing(supply)
        natives = frozenset(
            name for device in drawing.values() for name in device.node_allocatable_resources
        )
        # One node is asked faster than all are looked at.
        index = None if options.node else Index.of(snapshot.nodes.values(), supply, ledger)
        return cls(snapshot, options, supply, ledger, Answers(), used, drawing, natives, index)

    @property
    def nodes(self) -> Mapping[str, Node]:
        only = self.options.node
        if not only:
            return self.snapshot.nodes
        return {only: self.snapshot.nodes[only]} if only in self.snapshot.nodes else {}


def natively_drawing(supply: Supply) -> Mapping[DeviceId, Device]:
    """By the newest slice of each pool."""
    found: dict[DeviceId, Device] = {}
    for listings in supply.by_pool.values():
        for listing in sorted(listings, key=lambda each: each.generation):
            for candidate in listing.candidates:
                if candidate.device.node_allocatable_resources:
                    found[candidate.id] = candidate.device
    return found
