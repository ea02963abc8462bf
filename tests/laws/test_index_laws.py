"""An index that followed change after change is the index of what is there now; and the node that
it finds is the one that asking every node in order finds.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dibs.allocate import allocator, checks
from dibs.allocate.outcome import Allocated, Failed, Outcome, Refused
from dibs.allocate.scene import Scene
from dibs.allocate.selecting import Answers
from dibs.index import bits, deciding, places, wants, which
from dibs.index.index import Index
from dibs.index.layout import Layout
from dibs.model.core import Node
from dibs.model.objects import DeviceClass, ResourceClaim, ResourceSlice
from dibs.request import asks
from dibs.supply.identity import DeviceId, PoolId
from dibs.supply.ledger import Ledger, claim_key
from dibs.supply.pools import Supply
from dibs.supply.published import pool_of
from dibs.testing.strategies import worlds
from dibs.testing.worlds import EVERY_TRAIT, World
from dibs.values.mistake import Mistake

pytestmark = pytest.mark.slow

WORLDS = st.one_of(worlds(), worlds(EVERY_TRAIT))
ORDERS: tuple[Literal["first-fit", "packed"], ...] = ("first-fit", "packed")


# --- worlds that change --------------------------------------------------------------------------


@dataclass(frozen=True)
class Now:
    """What is there at one moment, and the index that followed it."""

    nodes: Mapping[str, Node]
    slices: Mapping[str, ResourceSlice]
    held: Mapping[str, ResourceClaim]
    supply: Supply
    ledger: Ledger
    index: Index

    def __repr__(self) -> str:
        return f"Now({', '.join(self.nodes)}; {', '.join(self.slices)}; {', '.join(self.held)})"

    @classmethod
    def of(cls, world: World, nodes: Iterable[Node], slices: Iterable[ResourceSlice]) -> Now:
        named = {each.metadata.name: each for each in nodes}
        published = {each.metadata.name: each for each in slices}
        supply = Supply.of(published.values(), world.features)
        ledger = Ledger.of((), world.features)
        return cls(named, published, {}, supply, ledger, Index.of(named.values(), supply, ledger))

    def rebuilt(self) -> Index:
        return Index.of(
            self.nodes.values(),
            Supply.of(sorted(self.slices.values(), key=_name), self.supply.features),
            Ledger.of(self.held.values(), self.ledger.features),
        )

    def with_node(self, name: str, node: Node | None) -> Now:
        nodes = {key: each for key, each in self.nodes.items() if key != name}
        if node is not None:
            nodes[name] = node
        return replace(self, nodes=nodes, index=self.index.with_nodes({name: node}))

    def with_slice(self, name: str, slice_: ResourceSlice | None) -> Now:
        slices = {key: each for key, each in self.slices.items() if key != name}
        old = self.slices.get(name)
        if slice_ is None:
            supply = self.supply.without_slice(name)
        else:
            slices[name] = slice_
            supply = self.supply.with_slice(slice_)
        pools = {pool_of(each) for each in (old, slice_) if each is not None}
        index = self.index.with_supply(supply, pools)
        return replace(self, slices=slices, supply=supply, index=index)

    def with_claim(self, name: str, claim: ResourceClaim | None) -> Now:
        held = {key: each for key, each in self.held.items() if key != name}
        if claim is None:
            ledger = self.ledger.without(name)
        else:
            held[name] = claim
            ledger = self.ledger.plus(claim)
        index = self.index.with_claims(ledger, [name])
        return replace(self, held=held, ledger=ledger, index=index)

    def decided(self, world: World, answers: Answers) -> Now:
        """With the world's claims allocated where they fit, and what was refused remembered."""
        claims = [each for each in world.claims if claim_key(each) not in self.held]
        found = deciding.decide(self.index, claims, _classes(world), answers=answers)
        now = self
        for key, nodes in found.refused.items():
            now = replace(now, index=now.index.with_noes(key, nodes))
        if isinstance(found.outcome, Allocated):
            for claim, allocation in zip(claims, found.outcome.allocations, strict=True):
                status = msgspec.structs.replace(claim.status, allocation=allocation)
                given_ = msgspec.structs.replace(claim, status=status)
                now = now.with_claim(claim_key(claim), given_)
        return now


def _name(thing: ResourceSlice) -> str:
    return thing.metadata.name


def _classes(world: World) -> Mapping[str, DeviceClass]:
    return {each.metadata.name: each for each in world.classes}


@st.composite
def histories(draw: st.DrawFn) -> tuple[World, list[Now]]:
    """A world that comes about change by change; an index follows."""
    world = draw(WORLDS)
    now = Now.of(world, world.nodes[:1], world.slices[: draw(st.integers(0, len(world.slices)))])
    moments = [now]
    answers = Answers()
    for _ in range(draw(st.integers(1, 12))):
        what = draw(st.sampled_from(["slice", "slice", "claim", "claim", "node", "decide"]))
        if what == "slice" and world.slices:
            slice_ = draw(st.sampled_from(world.slices))
            now = now.with_slice(slice_.metadata.name, draw(st.sampled_from(_editions(slice_))))
        elif what == "claim" and world.held:
            claim = draw(st.sampled_from(world.held))
            is_held = claim_key(claim) in now.held
            now = now.with_claim(claim_key(claim), None if is_held else claim)
        elif what == "node":
            node = draw(st.sampled_from(world.nodes))
            now = now.with_node(node.metadata.name, draw(st.sampled_from(_variants(node))))
        elif what == "decide":
            taken = [claim_key(claim) for claim in world.claims if claim_key(claim) in now.held]
            if taken:
                now = now.with_claim(taken[0], None)
            else:
                now = now.decided(world, answers)
        moments.append(now)
    return world, moments


def _editions(slice_: ResourceSlice) -> Sequence[ResourceSlice | None]:
    """The slice as it is, of the next generation, with a device less, and gone."""
    spec = slice_.spec
    pool = msgspec.structs.replace(spec.pool, generation=spec.pool.generation + 1)
    specs = (
        msgspec.structs.replace(spec, pool=pool),
        msgspec.structs.replace(spec, devices=spec.devices[1:]),
        msgspec.structs.replace(spec, devices=spec.devices[::-1]),
    )
    return (slice_, None, *(msgspec.structs.replace(slice_, spec=each) for each in specs))


def _variants(node: Node) -> Sequence[Node | None]:
    """The node as it is, without labels, able to leave operations out, and gone."""
    metadata = msgspec.structs.replace(node.metadata, labels={})
    status = msgspec.structs.replace(node.status, declared_features=(checks.SKIPS_OPERATIONS,))
    return (
        node,
        None,
        msgspec.structs.replace(node, metadata=metadata),
        msgspec.structs.replace(node, status=status),
    )


# --- the index as it would be told ---------------------------------------------------------------


def seen(index: Index) -> Hashable:
    """What the index says of nodes and devices, whatever their numbers and slots are."""
    layout, standing = index.layout, index.standing
    opened = set()
    reached = set()
    for tray in (tray for trays in layout.trays.values() for tray in trays):
        for name in layout.roster.named(tray.nodes):
            for place, candidate in enumerate(tray.load.candidates):
                spot = name, candidate.id, tray.load.spots[place]
                reached.add(spot)
                if tray.slot is None:
                    is_open = standing.wide[tray.load] >> place & 1
                else:
                    is_open = standing.open[tray.slot + place] >> layout.roster.number[name] & 1
                if is_open:
                    opened.add(spot)
    dealt = {tray for trays in layout.slotted for tray in trays} | set(layout.wide)
    assert dealt == {tray for trays in layout.trays.values() for tray in trays}
    return (
        layout.roster.ordered,
        frozenset(reached),
        frozenset(opened),
        counts(standing.idle, layout),
        counts(layout.sizes, layout),
        frozenset(layout.roster.named(layout.broken)),
    )


def counts(planes: bits.Planes, layout: Layout) -> tuple[int, ...]:
    numbers = bits.numbers(layout.roster.all)
    return tuple(bits.at(planes, number) for number in numbers)


def good(index: Index, world: World, answers: Answers) -> Hashable:
    """The devices that pass the tests of each ask, by node."""
    found = set()
    for ask in asked(world):
        demand = wants.demand(ask, world.features)
        for name, number in index.roster.number.items():
            if not index.layout.broken >> number & 1:
                found.add((name, ask.claim, ask.name, places.of(index, number, demand)))
    return frozenset(found)


def asked(world: World) -> list[asks.Ask]:
    try:
        wishes = asks.read(world.claims, _classes(world), world.features)
    except Mistake:
        return []
    return [ask for wish in wishes for request in wish.requests for ask in request.alternatives]


@given(histories())
def test_change_after_change_is_everything_at_once(story: tuple[World, list[Now]]) -> None:
    world, moments = story
    told = []
    for now in moments:
        fresh = now.rebuilt()
        told.append((seen(now.index), good(now.index, world, Answers())))
        assert told[-1] == (seen(fresh), good(fresh, world, Answers()))
    # Nothing that came later has changed what was said before.
    assert told == [(seen(now.index), good(now.index, world, Answers())) for now in moments]


@given(histories())
def test_what_is_remembered_changes_no_answer(story: tuple[World, list[Now]]) -> None:
    world, moments = story
    for now in moments:
        for order in ORDERS:
            options = allocator.Options(order=order)
            mine = deciding.decide(now.index, world.claims, _classes(world), options)
            fresh = deciding.decide(now.rebuilt(), world.claims, _classes(world), options)
            assert mine.outcome == fresh.outcome


# --- the node, and no other ----------------------------------------------------------------------


def index_of(world: World) -> Index:
    supply = Supply.of(world.slices, world.features)
    return Index.of(world.nodes, supply, Ledger.of(world.held, world.features))


def ask(index: Index, node: Node, world: World, options: allocator.Options) -> Outcome:
    return allocator.allocate(
        node, world.claims, index.supply, index.ledger, _classes(world), options
    )


@given(WORLDS, st.sampled_from(ORDERS), st.booleans())
def test_the_node_is_that_of_asking_every_node_in_order(
    world: World, order: Literal["first-fit", "packed"], strict: bool
) -> None:
    options = allocator.Options(order=order, strict=strict)
    index = index_of(world)
    expected: Outcome | None = None
    for node in in_order(index, order):
        outcome = ask(index, node, world, options)
        if isinstance(outcome, Allocated | Failed):
            expected = outcome
            break
    found = deciding.decide(index, world.claims, _classes(world), options)
    assert found.outcome == expected


def in_order(index: Index, order: str) -> list[Node]:
    def free(node: Node) -> tuple[int, str]:
        try:
            pools = index.supply.pools(node)
        except Mistake:
            pools = ()
        held = index.ledger.held
        count = sum(held(each.id).is_free for pool in pools for each in pool.candidates)
        return count if order == "packed" else 0, node.metadata.name

    return sorted((index.roster.nodes[n] for n in bits.numbers(index.roster.all)), key=free)


@given(WORLDS, st.booleans())
def test_only_nodes_that_refuse_are_ruled_out(world: World, strict: bool) -> None:
    index = index_of(world)
    answers = Answers()
    want = wants.of(world.claims, _classes(world), world.features, answers)
    if want is None:
        return
    left = which.feasible(want, index.layout, index.standing, index.learned, is_strict=strict)
    for number, node in enumerate(index.roster.nodes):
        if not left >> number & 1:
            outcome = ask(index, node, world, allocator.Options(strict=strict))
            assert isinstance(outcome, Refused)


@given(WORLDS)
def test_a_device_that_is_ruled_out_is_refused(world: World) -> None:
    index = index_of(world)
    answers = Answers()
    tests = checks.standing(world.features)
    for number, node in enumerate(index.roster.nodes):
        if index.layout.broken >> number & 1:
            continue
        pools = index.layout.pools(number)
        shelf = answers.shelf(pools)
        scene = Scene(node, shelf, index.ledger, world.features, answers)
        for each in asked(world):
            offered = places.of(index, number, wants.demand(each, world.features))
            published = (candidate for pool in pools for candidate in pool.candidates)
            for place, candidate in enumerate(published):
                if not offered >> place & 1:
                    assert checks.first(tests, each, candidate, scene) is not None


@given(WORLDS)
def test_twins_are_answered_alike(world: World) -> None:
    index = index_of(world)
    for number, node in enumerate(index.roster.nodes):
        mine = ask(index, node, world, allocator.DEFAULT)
        for other in bits.numbers(index.layout.twins(number)):
            theirs = ask(index, index.roster.nodes[other], world, allocator.DEFAULT)
            assert type(mine) is type(theirs)


@settings(max_examples=20)
@given(WORLDS)
def test_nodes_before_one_are_in_order(world: World) -> None:
    index = index_of(world)
    for order in ORDERS:
        ordered = [node.metadata.name for node in in_order(index, order)]
        for place, name in enumerate(ordered):
            number = index.roster.number[name]
            earlier = which.before(number, order, index.layout, index.standing)
            assert [index.roster.names[each] for each in earlier] == ordered[:place]


def test_the_pool_of_a_device_is_the_key_of_its_tray() -> None:
    device = DeviceId("d", "p", "x")
    assert device[:2] == PoolId("d", "p")
