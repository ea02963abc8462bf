"""The world between two decisions, and how to decide.

A state is a value: what a decision changes makes the next one (`writes.after`). Two memos go with
it, that hold only what can't change during one run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from dibs.allocate.orders import Order
from dibs.allocate.outcome import Refused
from dibs.allocate.selecting import Answers
from dibs.model.core import Node
from dibs.model.objects import Device
from dibs.schedule import footprint
from dibs.schedule.footprint import Amounts
from dibs.schedule.snapshot import Key, Snapshot
from dibs.supply.features import ALL, Features
from dibs.supply.identity import DeviceId
from dibs.supply.ledger import Ledger
from dibs.supply.pools import Supply


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


class Remembered(NamedTuple):
    """A no: on what ledger it was said, beside which Pods, and for which claims."""

    ledger: Ledger
    used: Amounts
    claims: tuple[Key, ...]
    refused: Refused


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """`noes` has what was refused, by node and wish: what is taken only grows within a run, so a
    refusal stands. `answers` has what selectors said of devices. Neither outlives the run.
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
    noes: dict[tuple[str, str], Remembered] = field(default_factory=dict)

    @classmethod
    def of(cls, snapshot: Snapshot, options: Options = DEFAULTS) -> State:
        supply = Supply.of(snapshot.slices, options.features)
        ledger = Ledger.of(snapshot.claims.values(), options.features)
        used = footprint.by_node(snapshot.pods.values())
        drawing = natively_drawing(supply)
        natives = frozenset(
            name for device in drawing.values() for name in device.node_allocatable_resources
        )
        return cls(snapshot, options, supply, ledger, Answers(), used, drawing, natives)

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
