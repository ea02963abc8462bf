"""The world between two decisions, and how to decide; and the world after something happened.

A state is a value. A decision (`writes.after`), an event of a watch (`with_object`,
`without_object`) or a thought (`freeing`) makes another one, at the cost of what it
touches, and leaves this one as it was. So to fork is to name it:

    trial = writes.after(state, pods.decide(state, subject))   # try
    answer = pods.decide(trial, other)                          # and drop `trial`

Two memos go with it: each of their entries says for what it holds. designs/033 has an example.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from dibs.allocate.orders import Order
from dibs.allocate.outcome import Refused
from dibs.allocate.selecting import Answers
from dibs.index.index import Index
from dibs.model.core import Node, Pod
from dibs.model.objects import Device, DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice
from dibs.schedule import footprint
from dibs.schedule.footprint import Amounts
from dibs.schedule.snapshot import Key, Snapshot, key_of, key_of_object, nodes_named
from dibs.supply.features import ALL, Features
from dibs.supply.identity import DeviceId, PoolId
from dibs.supply.ledger import Ledger, claim_key
from dibs.supply.pools import Stock, Supply
from dibs.values.layered import Layered
from dibs.values.stats import Kept, Stats


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
    """The reasons of a no: on what ledger, slices and node, beside which Pods, for which claims.

    `is_named` says that some reason may name one of the claims.
    """

    ledger: Ledger
    supply: Supply
    node: Node
    used: Amounts | None
    claims: tuple[Key, ...]
    refused: Refused
    is_named: bool


# Reasons of so many devices are kept: some 300 bytes each.
MOST_TOLD = 100_000


def kept_reasons() -> Kept[tuple[str, bytes], Told]:
    return Kept("reasons", MOST_TOLD, lambda told: 1 + sum(len(a.noes) for a in told.refused.asks))


class State(msgspec.Struct, frozen=True, eq=False):
    """`index` follows nodes, slices and ledger; without one each node is asked. `told` has reasons
    by node and wish, `answers` what selectors said of devices.
    """

    snapshot: Snapshot
    options: Options
    supply: Supply
    ledger: Ledger
    answers: Answers
    # What the Pods on each node take of what it counts itself.
    used: Layered[str, Amounts] = msgspec.field(default_factory=Layered)
    # The devices that draw from it too, by pool, and what they draw: cpu, memory (KEP-5517).
    drawing: Layered[PoolId, Mapping[DeviceId, Device]] = msgspec.field(default_factory=Layered)
    natives: frozenset[str] = frozenset()
    index: Index | None = None
    told: Kept[tuple[str, bytes], Told] = msgspec.field(default_factory=kept_reasons)

    @classmethod
    def of(cls, snapshot: Snapshot, options: Options = DEFAULTS) -> State:
        supply = Supply.of(snapshot.slices, options.features)
        ledger = Ledger.of(snapshot.claims.values(), options.features)
        used = Layered(footprint.by_node(snapshot.pods.values()))
        found = {stock.id: natively_drawing(stock) for stock in supply.by_pool.values()}
        drawing = Layered[PoolId, Mapping[DeviceId, Device]](
            {pool: devices for pool, devices in found.items() if devices}
        )
        natives = names_drawn(drawing.values())
        # One node is asked faster than all are looked at.
        index = None if options.node else Index.of(snapshot.nodes.values(), supply, ledger)
        return cls(snapshot, options, supply, ledger, Answers(), used, drawing, natives, index)

    @property
    def nodes(self) -> Mapping[str, Node]:
        only = self.options.node
        if not only:
            return self.snapshot.nodes
        return {only: self.snapshot.nodes[only]} if only in self.snapshot.nodes else {}

    @property
    def stats(self) -> tuple[Stats, ...]:
        """How well everything that is remembered did, for who asks with -v."""
        learned = self.index.learned.stats if self.index is not None else ()
        return (*self.answers.stats, *learned, self.told.stats)

    def draws_natively(self, device: DeviceId) -> Device | None:
        """The device, if it draws from its node (KEP-5517)."""
        if not self.drawing:
            return None
        return self.drawing.get(PoolId(device.driver, device.pool), {}).get(device)

    # --- what happens -----------------------------------------------------------------------------

    def with_object(self, thing: object) -> State:
        """An object is there now, new or in place of the one of its kind, namespace and name.

        Kinds that placement doesn't need change nothing. Who feeds a watch to it keeps back what
        is older than a decision of its own that isn't written yet (`control`).
        """
        return self._followed(self.snapshot.with_object(thing), type(thing), key_of_object(thing))

    def without_object(self, kind: type, key: Key) -> State:
        """That object is gone. Kinds without namespaces have an empty one."""
        return self._followed(self.snapshot.without_object(kind, key), kind, key)

    def with_claims(self, claims: Collection[ResourceClaim]) -> State:
        """These claims are as they say now. Their defaults are filled in already."""
        after = replace(self, snapshot=self.snapshot.with_claims(claims))
        return after._holding(claims, ())

    def with_pod(self, pod: Pod) -> State:
        """The Pod as it is now, and what it takes of its node."""
        before = self.snapshot.pods.get(key_of(pod.metadata))
        return replace(self, snapshot=self.snapshot.with_pod(pod))._taking(before, pod)

    def freeing(self, claim: str) -> State:
        """As if the claim "namespace/name" had given its devices back, though it says otherwise."""
        return self._holding((), (claim,))

    # --- what follows from it ---------------------------------------------------------------------

    def _followed(self, snapshot: Snapshot, kind: type, key: Key) -> State:
        """After one object of this kind and key is another, or came, or went."""
        before = self.snapshot
        after = replace(self, snapshot=snapshot)
        if kind is Pod:
            return after._taking(before.pods.get(key), snapshot.pods.get(key))
        if kind is ResourceClaim:
            claim = snapshot.claims.get(key)
            return after._holding((claim,) if claim is not None else (), (str(key),))
        if kind is ResourceSlice:
            return after._offering(before, [key.name])
        if kind is DeviceTaintRule:
            return after._offering(before, list(snapshot.tainted))
        if kind is Node:
            has_turned = before.nodes_are_implied or snapshot.nodes_are_implied
            names = {*before.nodes, *snapshot.nodes} if has_turned else {key.name}
            return after._standing(before, names)
        if kind is DeviceClass:
            # What was said of requests was said of the class as it was.
            return replace(after._forgetting(snapshot.nodes), told=kept_reasons())
        return after

    def _holding(self, claims: Iterable[ResourceClaim], freed: Collection[str]) -> State:
        """These claims hold what they say now, the freed ones nothing else."""
        present = {claim_key(claim): claim for claim in claims}
        ledger = self.ledger
        for name in freed:
            if name not in present:
                ledger = ledger.without(name)
        for claim in present.values():
            ledger = ledger.plus(claim)
        if ledger is self.ledger:
            return self
        names = (*present, *freed)
        index = self.index.with_claims(ledger, names) if self.index is not None else None
        return replace(self, ledger=ledger, index=index)

    def _taking(self, before: Pod | None, now: Pod | None) -> State:
        """What Pods take of their nodes, after one was another."""
        was, takes = (footprint.on_node(pod) if pod is not None else None for pod in (before, now))
        if was == takes:
            return self
        used = self.used
        for taking, change in ((was, footprint.minus), (takes, footprint.plus)):
            if taking is not None:
                node, amounts = taking
                there = change(used.get(node, footprint.NOTHING), amounts)
                there = footprint.without_zeros(there)
                used = used.plus(node, there) if there else used.minus(node)
        after = replace(self, used=used)
        # There may be room for a Pod, or for what devices draw.
        return after._forgetting([was[0]]) if was is not None else after

    def _offering(self, before: Snapshot, names: Iterable[str]) -> State:
        """What these slices offer now, where that is something else."""
        old, new = before.tainted, self.snapshot.tainted
        supply = self.supply
        pools: set[PoolId] = set()
        for name in names:
            slice_ = new.get(name)
            if old.get(name) is slice_:
                continue
            pools.update(supply.pools_of_slice(name))
            supply = supply.with_slice(slice_) if slice_ is not None else supply.without_slice(name)
            pools.update(supply.pools_of_slice(name))
        if not pools:
            return self
        drawing, natives = self.drawing, self.natives
        for pool in pools:
            was = drawing.get(pool, {})
            stock = supply.by_pool.get(pool)
            now = natively_drawing(stock) if stock is not None else {}
            if was or now:
                drawing = drawing.plus(pool, now) if now else drawing.minus(pool)
                natives |= names_drawn([now])
                if names_drawn([was]) - names_drawn([now]):
                    natives = names_drawn(drawing.values())
        index = self.index.with_supply(supply, pools) if self.index is not None else None
        after = replace(self, supply=supply, drawing=drawing, natives=natives, index=index)
        if not self.snapshot.nodes_are_implied:
            return after
        slices = (each for name in names for each in (old.get(name), new.get(name)))
        return after._standing(
            before, {name for each in slices if each is not None for name in nodes_named(each)}
        )

    def _standing(self, before: Snapshot, names: Iterable[str]) -> State:
        """The nodes of these names as they are now."""
        old, new = before.nodes, self.snapshot.nodes
        changed: dict[str, Node | None] = {}
        for name in names:
            was, now = old.get(name), new.get(name)
            if was is not now and not (was and now and is_alike(was, now)):
                changed[name] = now
        if self.index is None or not changed:
            return self
        return replace(self, index=self.index.with_nodes(changed))

    def _forgetting(self, nodes: Iterable[str]) -> State:
        if self.index is None:
            return self
        known = [name for name in nodes if name in self.index.roster.number]
        return replace(self, index=self.index.forgetting(known))


def is_alike(one: Node, other: Node) -> bool:
    """Whether nobody who decides could tell: kubelets report their nodes every few minutes."""
    return (
        one.metadata.labels == other.metadata.labels
        and one.spec == other.spec
        and one.status.allocatable == other.status.allocatable
        and one.status.declared_features == other.status.declared_features
    )


def natively_drawing(stock: Stock) -> Mapping[DeviceId, Device]:
    """By the newest slice of the pool."""
    return {
        candidate.id: candidate.device
        for listing in sorted(stock, key=lambda each: each.generation)
        for candidate in listing.candidates
        if candidate.device.node_allocatable_resources
    }


def names_drawn(drawing: Iterable[Mapping[DeviceId, Device]]) -> frozenset[str]:
    return frozenset(
        name
        for devices in drawing
        for device in devices.values()
        for name in device.node_allocatable_resources
    )
