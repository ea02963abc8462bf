"""CPU drawn through devices is never over-committed, and the search answers as plain
backtracking would: the first choice that the node can pay for, or none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as some

from dibs.allocate import allocator
from dibs.allocate.outcome import Allocated, Refused
from dibs.allocate.spare import Allowance, Spare
from dibs.model.objects import (
    Device,
    NodeAllocatableMapping,
    NodeAllocatableOverhead,
    NodeAllocatableResource,
)
from dibs.supply.ledger import Ledger
from dibs.supply.pools import Supply
from dibs.testing import builders
from dibs.values.quantity import Quantity

pytestmark = pytest.mark.slow


def device(number: int, cpu: int, each: int) -> Device:
    resource = NodeAllocatableResource(
        mapping=NodeAllocatableMapping(device_multiplier=Quantity.of(cpu)),
        overhead=NodeAllocatableOverhead(per_container=Quantity.of(each)),
    )
    return Device(name=f"d-{number}", node_allocatable_resources={"cpu": resource} if cpu else {})


def first_choice(
    draws: Sequence[tuple[int, int]],
    wanted: Sequence[tuple[int, int]],
    left: int,
    taken: tuple[int, ...] = (),
) -> Iterator[tuple[int, ...]]:
    """Every choice for (count, containers) after another, in the order of devices."""
    if not wanted:
        yield taken
        return
    (count, containers), *rest = wanted
    free = [place for place in range(len(draws)) if place not in taken]
    for chosen in combinations(free, count):
        cost = sum(draws[p][0] + draws[p][1] * containers for p in chosen if draws[p][0])
        if cost <= left:
            yield from first_choice(draws, rest, left - cost, taken + chosen)


@settings(max_examples=300)
@given(
    draws=some.lists(some.tuples(some.integers(0, 4), some.integers(0, 2)), min_size=1, max_size=7),
    wanted=some.lists(
        some.tuples(some.integers(1, 3), some.integers(0, 2)), min_size=1, max_size=3
    ),
    left=some.integers(0, 14),
)
# Who takes which of two devices matters, though both claims want the same.
@example(draws=[(1, 0), (1, 2)], wanted=[(1, 0), (1, 2)], left=5)
@example(draws=[(1, 0), (1, 2), (4, 0)], wanted=[(1, 0), (1, 2), (1, 2)], left=9)
def test_the_first_choice_that_the_node_can_pay_for(
    draws: list[tuple[int, int]], wanted: list[tuple[int, int]], left: int
) -> None:
    devices = [device(number, *draw) for number, draw in enumerate(draws)]
    slices = [builders.resource_slice(*devices, node="a")]
    claims = [
        builders.claim(f"c-{number}", builders.request("r", count=count))
        for number, (count, _) in enumerate(wanted)
    ]
    allowance = Allowance(Quantity.of(left), Quantity.of(20))
    outcome = allocator.allocate(
        builders.node("a"),
        claims,
        Supply.of(slices),
        Ledger.of([]),
        {builders.CLASS: builders.device_class()},
        spare=Spare({"cpu": allowance}, [containers for _, containers in wanted]),
    )
    expected = next(first_choice(draws, wanted, left), None)
    if expected is None:
        assert isinstance(outcome, Refused)
        assert all(len(ask.noes) + ask.fit == len(devices) for ask in outcome.asks)
    else:
        assert isinstance(outcome, Allocated)
        found = [r.device for each in outcome.allocations for r in each.devices.results]
        assert found == [f"d-{place}" for place in expected]
