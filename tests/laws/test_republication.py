"""No counter is ever over-committed, though drivers cut their cards anew while they are in use.

A pool is allocated from, released and republished in any order, its partitions of other sizes and
names each time. What is drawn is summed up here from what each device drew when it was allocated.
Source: KEP-4815; kubernetes#140802; designs/031.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.allocate import allocator
from dibs.allocate.outcome import Allocated
from dibs.model.objects import (
    CounterDraw,
    CounterSource,
    Device,
    ResourceClaim,
    ResourceClaimStatus,
    ResourceSlice,
)
from dibs.schedule import writes
from dibs.supply.ledger import Ledger
from dibs.supply.pools import Supply
from dibs.testing import builders as b
from dibs.values.quantity import Quantity

pytestmark = pytest.mark.slow

NODE = b.node("node-a")
CLASSES = {"gpu": b.device_class("gpu")}
TOTAL, BANDWIDTH = 8, 100
ZERO = Quantity.of(0)

# One partition: how much memory it draws, in which mode it is used, whether it can be shared and
# whether each of its users draws bandwidth.
cuts = st.tuples(
    st.integers(1, 5), st.sampled_from(["", "mig", "vgpu"]), st.booleans(), st.booleans()
)
steps = st.one_of(
    st.tuples(st.just("allocate"), st.integers(1, 2), st.integers(1, 60)),
    st.tuples(st.just("release"), st.integers(0, 9), st.just(0)),
    st.tuples(st.just("republish"), st.lists(cuts, max_size=4).map(tuple), st.integers(0, 1)),
)


@dataclass
class Cluster:
    """What is published, who holds what, and what each held device drew once."""

    published: tuple[Device, ...] = ()
    generation: int = 1
    claims: dict[str, ResourceClaim] = field(default_factory=dict)
    memory: dict[str, dict[str, int]] = field(default_factory=dict)  # claim: device: amount
    bandwidth: dict[str, int] = field(default_factory=dict)
    modes: dict[str, dict[str, str]] = field(default_factory=dict)  # claim: device: mode
    number: int = 0

    def slices(self) -> list[ResourceSlice]:
        common = {"node": "node-a", "generation": self.generation, "of": 2}
        card = b.counter_set("card", memory=str(TOTAL), bandwidth=str(BANDWIDTH))
        return [
            b.resource_slice(name="cards", counters=[card], **common),  # type: ignore[arg-type]
            b.resource_slice(*self.published, name="parts", **common),  # type: ignore[arg-type]
        ]

    def republish(self, cut: tuple[tuple[int, str, bool, bool], ...], keeps: int) -> None:
        """New partitions, under the old names or under others."""
        self.generation += 1
        era = 0 if keeps else self.generation
        self.published = tuple(
            _partition(f"part-{era}-{number}", *each) for number, each in enumerate(cut)
        )

    def allocate(self, count: int, wanted: int) -> None:
        self.number += 1
        name = f"claim-{self.number}"
        claim = b.claim(name, b.request("r", count=count, capacity={"bandwidth": str(wanted)}))
        supply, ledger = Supply.of(self.slices()), Ledger.of(self.claims.values())
        outcome = allocator.allocate(NODE, [claim], supply, ledger, CLASSES)
        if not isinstance(outcome, Allocated):
            return
        (allocation,), (drawn,) = outcome.allocations, outcome.records
        held = msgspec.structs.replace(claim, status=ResourceClaimStatus(allocation=allocation))
        self.claims[name] = writes.remembering(held, drawn)
        devices = {each.name: each for each in self.published}
        results = [devices[result.device] for result in allocation.devices.results]
        self.memory[name] = {each.name: _memory(each) for each in results}
        self.modes[name] = {
            each.name: "".join(each.consumes_counters[0].compatibility_groups) for each in results
        }
        self.bandwidth[name] = wanted * sum(_is_metered(each) for each in results)

    def release(self, which: int) -> None:
        names = sorted(self.claims)
        if names:
            name = names[which % len(names)]
            for book in (self.claims, self.memory, self.bandwidth, self.modes):
                del book[name]

    def check(self) -> None:
        # A shared device draws its memory once, however many claims have a share of it.
        once: dict[str, int] = {}
        for devices in self.memory.values():
            for device, amount in devices.items():
                once[device] = max(once.get(device, 0), amount)
        assert sum(once.values()) <= TOTAL, self.memory
        assert sum(self.bandwidth.values()) <= BANDWIDTH, self.bandwidth
        assert len({mode for each in self.modes.values() for mode in each.values()}) <= 1, (
            self.modes
        )


def _partition(name: str, memory: int, mode: str, shareable: bool, metered: bool) -> Device:
    draw = b.draw("card", memory=str(memory))
    source = CounterDraw(value_from=CounterSource("bandwidth"))
    counters = {**draw.counters, "bandwidth": source} if metered else draw.counters
    groups = (mode,) if mode else ()
    draw = msgspec.structs.replace(draw, counters=counters, compatibility_groups=groups)
    # Who doesn't draw bandwidth has it of its own, so that every request finds it.
    own = {} if metered else {"bandwidth": "1000"}
    return b.device(name, capacity=own, draws=[draw], shareable=shareable)


def _memory(device: Device) -> int:
    amount = device.consumes_counters[0].counters["memory"].value
    assert amount is not None
    return amount.rounded_up()


def _is_metered(device: Device) -> bool:
    return "bandwidth" in device.consumes_counters[0].counters


@given(st.lists(cuts, min_size=1, max_size=4), st.lists(steps, max_size=12))
def test_nothing_is_over_committed(
    first: list[tuple[int, str, bool, bool]], history: list[tuple[str, object, int]]
) -> None:
    cluster = Cluster()
    cluster.republish(tuple(first), 1)
    for what, one, other in history:
        match what, one:
            case "allocate", int(count):
                cluster.allocate(count, other)
            case "release", int(which):
                cluster.release(which)
            case "republish", tuple(cut):
                cluster.republish(cut, other)
        cluster.check()


@given(st.lists(cuts, min_size=1, max_size=4), st.integers(1, 2), st.integers(1, 60))
def test_releasing_restores_exactly_what_was_taken(
    cut: list[tuple[int, str, bool, bool]], count: int, wanted: int
) -> None:
    cluster = Cluster()
    cluster.republish(tuple(cut), 1)
    cluster.allocate(count, wanted)
    before = {name: claim.status.allocation for name, claim in cluster.claims.items()}
    cluster.release(0)
    assert not Ledger.of(cluster.claims.values()).holdings
    cluster.allocate(count, wanted)
    again = [claim.status.allocation for claim in cluster.claims.values()]
    assert [_devices(each) for each in again] == [_devices(each) for each in before.values()]


def _devices(allocation: object) -> list[str]:
    assert allocation is not None
    return [result.device for result in allocation.devices.results]  # type: ignore[attr-defined]
