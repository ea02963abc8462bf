"""Selectors over an attribute that differs on every device, in a cluster of many devices."""

from __future__ import annotations

import pytest

from dibs.index import deciding, grouping, learned, looks
from dibs.index.index import Index
from dibs.index.looks import Selecting
from dibs.model.objects import ResourceSlice
from dibs.request.selectors import Selector
from dibs.supply.ledger import Ledger
from dibs.supply.pools import Supply
from dibs.supply.published import pool_of
from dibs.testing import builders

pytestmark = pytest.mark.slow

# More nodes than that have devices, and more devices than are grouped.
NODES, DEVICES = 16, 100
U = f"device.attributes['{builders.DRIVER}'].u"

EXPRESSIONS = (
    f"{U} == 'u-3-7'",
    f"{U} in ['u-0-0', 'u-15-99', 'net-5'] && device.driver == '{builders.DRIVER}'",
    f"{U}.endsWith('-7')",
    f"{U} != 'u-3-7'",
    f"{U} == 'nobody has it'",
    f"{U} == 7",
)


def own_slice(number: int, generation: int = 1) -> ResourceSlice:
    devices = (builders.device(f"d-{n}", u=f"u-{number}-{n * generation}") for n in range(DEVICES))
    return builders.resource_slice(*devices, node=f"node-{number:02}", generation=generation)


def make() -> tuple[Index, Supply]:
    shared = builders.resource_slice(
        *(builders.device(f"net-{n}", u=f"net-{n}") for n in range(DEVICES)),
        pool="net",
        all_nodes=True,
    )
    supply = Supply.of([*(own_slice(number) for number in range(NODES)), shared])
    nodes = [builders.node(f"node-{number:02}") for number in range(NODES + 2)]
    return Index.of(nodes, supply, Ledger.of(())), supply


def passing(index: Index, test: looks.Test) -> set[str]:
    good = index.learned.good(index.layout, (test,))
    found = set()
    for tray in (tray for trays in index.layout.trays.values() for tray in trays):
        for place, candidate in enumerate(tray.load.candidates):
            if tray.slot is None:
                is_good = good.wide.get(tray.load, 0) >> place & 1
            else:
                is_good = good.slots.get(tray.slot + place, 0) & tray.nodes
            if is_good:
                found.add(str(candidate.id))
    return found


def expected(index: Index, expression: str) -> set[str]:
    selector = Selector.compile(expression)
    loads = [tray.load for trays in index.layout.trays.values() for tray in trays]
    return {str(each.id) for load in loads for each in load.candidates if selector.matches(each)}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_the_devices_are_those_that_the_selector_matches(expression: str) -> None:
    index, supply = make()
    assert NODES * DEVICES > grouping.FINEST
    test = looks.selecting(expression)
    assert isinstance(test, Selecting)
    assert passing(index, test) == expected(index, expression)
    # And still so when a node's devices have changed, and in the index before.
    changed = own_slice(3, generation=2)
    after = index.with_supply(supply.with_slice(changed), [pool_of(changed)])
    assert passing(after, test) == expected(after, expression)
    assert passing(index, test) == expected(index, expression)


def test_many_selectors_take_bounded_room() -> None:
    index, _ = make()
    classes = {"gpu": builders.device_class("gpu")}
    for number in range(learned.MOST_TESTS + 20):
        expression = f"{U} == 'u-{number % NODES}-7' && {number} >= 0"
        claim = builders.claim(f"c-{number}", builders.request("gpu", expression))
        outcome = deciding.decide(index, [claim], classes).outcome
        assert outcome is not None
        assert outcome.node == f"node-{number % NODES:02}"
    for stats in index.learned.stats:
        assert stats.kept <= stats.bound
    assert any(stats.dropped for stats in index.learned.stats)
