"""Where the index might answer otherwise than asking each node would: each case by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from dibs.allocate import allocator
from dibs.allocate.outcome import Allocated, Failed, Outcome
from dibs.index import deciding
from dibs.index.deciding import Found
from dibs.index.index import Index
from dibs.model.objects import ResourceClaim, ResourceSlice
from dibs.supply.ledger import Ledger
from dibs.supply.pools import Supply
from dibs.supply.published import pool_of
from dibs.testing import builders

CLASSES = {"gpu": builders.device_class("gpu")}
PAIR = builders.claim(
    "pair", builders.request("gpu", count=2), constraints=[builders.distinct("root")]
)


def decide(index: Index, claim: ResourceClaim, budget: int = 50_000) -> Found:
    options = allocator.Options(explain=False, budget=budget)
    return deciding.decide(index, [claim], CLASSES, options)


def index_of(slices: Sequence[ResourceSlice], held: Sequence[ResourceClaim], nodes: int) -> Index:
    made = [builders.node(f"node-{number:02}") for number in range(nodes)]
    return Index.of(made, Supply.of(slices), Ledger.of(held))


def own(number: int, *roots: str) -> ResourceSlice:
    devices = (builders.device(f"d-{n}", root=root) for n, root in enumerate(roots))
    return builders.resource_slice(*devices, node=f"node-{number:02}")


def first_in_order(index: Index, claim: ResourceClaim) -> Outcome | None:
    for node in index.roster.nodes:
        outcome = allocator.allocate(node, [claim], index.supply, index.ledger, CLASSES)
        if isinstance(outcome, Allocated | Failed):
            return outcome
    return None


# --- what was refused ----------------------------------------------------------------------------


@pytest.fixture
def refused() -> tuple[Index, Ledger]:
    """Two devices are left, of one root: counting doesn't see it, and it is remembered."""
    holder = builders.allocated(builders.claim("holder"), builders.pick("d-2", pool="node-00"))
    index = index_of([own(0, "a", "a", "b")], [holder], nodes=1)
    found = decide(index, PAIR)
    assert found.outcome is None
    assert list(found.refused.values()) == [1]
    for key, nodes in found.refused.items():
        index = index.with_noes(key, nodes)
    again = decide(index, PAIR)
    assert (again.outcome, again.refused) == (None, {})  # nobody was asked
    return index, index.ledger


def test_a_no_is_forgotten_when_something_is_given_back(refused: tuple[Index, Ledger]) -> None:
    index, ledger = refused
    released = index.with_claims(ledger.without("default/holder"), ["default/holder"])
    assert isinstance(decide(released, PAIR).outcome, Allocated)
    assert decide(index, PAIR).outcome is None


def test_a_no_stands_while_more_is_taken(refused: tuple[Index, Ledger]) -> None:
    index, ledger = refused
    other = builders.allocated(builders.claim("other"), builders.pick("d-0", pool="node-00"))
    taken = index.with_claims(ledger.plus(other), ["default/other"])
    assert taken.noes == index.noes


def test_a_no_is_forgotten_when_other_devices_are_there(refused: tuple[Index, Ledger]) -> None:
    index, _ = refused
    changed = own(0, "a", "b", "b")
    after = index.with_supply(index.supply.with_slice(changed), [pool_of(changed)])
    assert isinstance(decide(after, PAIR).outcome, Allocated)


def test_a_no_is_forgotten_when_the_node_is_another(refused: tuple[Index, Ledger]) -> None:
    index, _ = refused
    assert index.with_nodes({"node-00": builders.node("node-00", zone="b")}).noes == {}


def test_a_no_is_forgotten_when_one_is_told_so(refused: tuple[Index, Ledger]) -> None:
    index, _ = refused
    assert index.forgetting(["node-00"]).noes == {}


# --- what is fatal -------------------------------------------------------------------------------


def test_too_many_devices_for_a_claim_are_fatal_though_all_are_held() -> None:
    devices = [f"d-{number}" for number in range(40)]
    many = builders.resource_slice(*map(builders.device, devices), node="node-00")
    picks = [builders.pick(name, pool="node-00") for name in devices]
    index = index_of([many, own(1, "a")], [builders.allocated(builders.claim("h"), *picks)], 2)
    everything = builders.claim("all", builders.request("gpu", all_devices=True))
    found = decide(index, everything)
    assert isinstance(found.outcome, Failed)
    assert found.outcome == first_in_order(index, everything)


def test_a_claim_that_cannot_be_read_fails_on_the_first_node() -> None:
    index = index_of([own(1, "a")], [], nodes=2)
    unknown = builders.claim("unknown", builders.request("gpu", device_class="nobody"))
    found = decide(index, unknown)
    assert isinstance(found.outcome, Failed)
    assert found.outcome == first_in_order(index, unknown)


# --- when it takes too long ----------------------------------------------------------------------


def test_after_a_few_nodes_that_gave_up_the_others_are_not_asked() -> None:
    roots = ("a", "b", "c", "a")
    index = index_of([own(number, *roots) for number in range(9)], [], nodes=9)
    found = decide(index, PAIR, budget=1)
    assert found.outcome is None
    assert list(found.timed_out) == [f"node-{n:02}" for n in range(deciding.PATIENCE)]
    assert found.unasked == {f"node-{n:02}" for n in range(deciding.PATIENCE, 9)}


# --- which node ----------------------------------------------------------------------------------


def test_requests_for_the_same_devices_are_added_up() -> None:
    index = index_of([own(0, "a"), own(1, "a", "a")], [], nodes=2)
    two = builders.claim("two", builders.request("x"), builders.request("y"))
    found = decide(index, two)
    assert isinstance(found.outcome, Allocated)
    assert (found.outcome.node, found.refused) == ("node-01", {})


def test_a_request_that_has_all_alternatives_is_counted_once() -> None:
    index = index_of([own(0, "a", "a")], [], nodes=1)
    claim = builders.claim(
        "choice",
        builders.first_available("x", builders.alternative("one"), builders.alternative("two")),
        builders.request("y"),
    )
    assert isinstance(decide(index, claim).outcome, Allocated)


def test_devices_that_must_match_are_counted_by_value() -> None:
    slices = [own(0, "a", "b", "c"), own(1, "a", "b", "b"), own(2, "b", "b", "b")]
    index = index_of(slices, [], nodes=3)
    for count, node in ((2, "node-01"), (3, "node-02")):
        claim = builders.claim(
            "alike",
            builders.request("x", count=count - 1),
            builders.request("y"),
            constraints=[builders.match("root")],
        )
        found = decide(index, claim)
        assert isinstance(found.outcome, Allocated)
        # The others weren't even asked.
        assert (found.outcome.node, found.refused) == (node, {})


def test_packed_takes_the_fullest_node_of_those_that_fit() -> None:
    holder = builders.allocated(builders.claim("h"), builders.pick("d-0", pool="node-02"))
    index = index_of([own(n, "a", "a", "a") for n in range(4)], [holder], nodes=4)
    options = replace(allocator.DEFAULT, order="packed")
    for count, node in ((2, "node-02"), (3, "node-00")):
        claim = builders.claim("c", builders.request("gpu", count=count))
        outcome = deciding.decide(index, [claim], CLASSES, options).outcome
        assert isinstance(outcome, Allocated)
        assert outcome.node == node


def test_nodes_get_numbers_between_others_and_all_anew_when_there_are_none() -> None:
    index = index_of([own(number, "a") for number in range(6)], [], nodes=0)
    for number in (3, 1, 2, 0, 5, 4):
        index = index.with_nodes({f"node-{number:02}": builders.node(f"node-{number:02}")})
    assert index.roster.ordered == tuple(f"node-{n:02}" for n in range(6))
    assert list(index.roster.named(index.roster.all)) == list(index.roster.ordered)
    outcome = decide(index.with_nodes({"node-00": None}), builders.claim("one")).outcome
    assert isinstance(outcome, Allocated)
    assert outcome.node == "node-01"
