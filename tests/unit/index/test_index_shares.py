"""Rooms of shared devices as numbers of few digits."""

from __future__ import annotations

from dibs.allocate.selecting import Answers
from dibs.index import shares, wants, which
from dibs.index.index import Index
from dibs.model.objects import ResourceClaim
from dibs.supply.ledger import Ledger
from dibs.supply.pools import Supply
from dibs.testing import builders
from dibs.values.quantity import Quantity

AMOUNTS = ("-5", "0", "1m", "1", "7", "8", "999m", "1Ki", "40Gi", "41Gi", "80Gi", "9E", "1e40")


def test_numbers_are_in_the_order_of_amounts() -> None:
    amounts = sorted(map(Quantity.parse, AMOUNTS))
    numbers = [shares.number(each) for each in amounts]
    assert numbers == sorted(numbers)
    assert numbers[0] == 0
    assert numbers[-1] < 1 << shares.DIGITS
    # What differs by more than a step is told apart.
    assert shares.number(Quantity.parse("40Gi")) < shares.number(Quantity.parse("43Gi"))


def cluster(*left: int) -> Index:
    """A shared device of 80Gi on each node, of which so many Gi are left."""
    slices = [
        builders.resource_slice(
            builders.device("gpu", memory="80Gi", shareable=True), node=f"node-{number}"
        )
        for number in range(len(left))
    ]
    held = [
        builders.allocated(
            builders.claim(f"holder-{number}"),
            builders.pick(
                "gpu",
                pool=f"node-{number}",
                share="s",
                consumed={"memory": f"{80 - rest}Gi"},
            ),
        )
        for number, rest in enumerate(left)
    ]
    nodes = [builders.node(f"node-{number}") for number in range(len(left))]
    return Index.of(nodes, Supply.of(slices), Ledger.of(held))


def asking(memory: str) -> ResourceClaim:
    capacity = {"memory": memory} if memory else None
    return builders.claim("one", builders.request("gpu", capacity=capacity))


def left(index: Index, claim: ResourceClaim) -> list[str]:
    classes = {"gpu": builders.device_class("gpu")}
    answers = Answers()
    want = wants.of([claim], classes, index.ledger.features, answers)
    assert want is not None
    found = which.feasible(want, index.layout, index.standing, index.learned)
    return list(index.roster.named(found))


def test_nodes_without_room_are_passed_over() -> None:
    index = cluster(0, 10, 20, 40, 79)
    assert left(index, asking("15Gi")) == ["node-2", "node-3", "node-4"]
    assert left(index, asking("40Gi")) == ["node-3", "node-4"]
    assert left(index, asking("44Gi")) == ["node-4"]
    assert left(index, asking("70Gi")) == ["node-4"]
    assert left(index, asking("")) == []  # without a default a share is all of it


def test_what_is_left_follows_the_ledger() -> None:
    index = cluster(0, 30)
    freed = index.with_claims(index.ledger.without("default/holder-0"), ["default/holder-0"])
    assert left(freed, asking("20Gi")) == ["node-0", "node-1"]
    more = builders.allocated(
        builders.claim("more"),
        builders.pick("gpu", pool="node-1", share="t", consumed={"memory": "20Gi"}),
    )
    taken = index.with_claims(index.ledger.plus(more), ["default/more"])
    assert left(taken, asking("20Gi")) == []
    assert left(index, asking("20Gi")) == ["node-1"]
