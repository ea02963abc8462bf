"""Pools as nodes see them: relevance, generations, order, and that building them is cheap."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from dibs.model.meta import ObjectMeta
from dibs.model.objects import CounterSet, Device, ResourceSlice, ResourceSliceSpec
from dibs.supply.features import Features
from dibs.supply.identity import PoolId
from dibs.supply.pools import Supply, is_reachable, remarks_on
from dibs.testing import builders as b
from dibs.values.mistake import Mistake


def names(supply: Supply, node: str = "node-a", **labels: str) -> list[str]:
    pools = supply.pools(b.node(node, **labels))
    return [candidate.id.device for pool in pools for candidate in pool.candidates]


def test_a_node_sees_its_own_slices_those_for_all_and_those_that_select_it() -> None:
    supply = Supply.of(
        [
            b.resource_slice(b.device("mine"), node="node-a"),
            b.resource_slice(b.device("theirs"), node="node-b"),
            b.resource_slice(b.device("everybody's"), pool="all", all_nodes=True),
            b.resource_slice(
                b.device("zone's"), pool="zone", node_selector=b.nodes_with("zone", "east")
            ),
        ]
    )
    assert names(supply, zone="east") == ["everybody's", "mine", "zone's"]
    assert names(supply, zone="west") == ["everybody's", "mine"]
    assert names(supply, "node-b") == ["everybody's", "theirs"]


def test_a_slice_without_any_selection_we_know_is_left_alone() -> None:
    assert names(Supply.of([b.resource_slice(b.device("x"), pool="p")])) == []


def test_one_view_of_a_pool_serves_all_nodes_that_see_the_same_slices() -> None:
    supply = Supply.of([b.resource_slice(b.device("x"), pool="p", all_nodes=True)])
    one, other = supply.pools(b.node("a")), supply.pools(b.node("b"))
    assert one[0] is other[0]


def test_what_all_nodes_see_alike_is_put_in_order_once() -> None:
    supply = Supply.of(
        [b.resource_slice(b.device("x"), pool=f"p{n}", all_nodes=True) for n in range(3)]
    )
    assert supply.pools(b.node("a")) is supply.pools(b.node("b"))
    changed = b.resource_slice(b.device("y"), pool="p1", all_nodes=True)
    after = supply.with_slice(changed)
    before, now = supply.pools(b.node("a")), after.pools(b.node("a"))
    assert [one is other for one, other in zip(before, now, strict=True)] == [True, False, True]


def test_a_selector_is_put_only_to_nodes_that_have_a_label_it_asks_for() -> None:
    zones = [
        b.resource_slice(b.device("x"), pool=zone, node_selector=b.nodes_with("zone", zone))
        for zone in ("east", "west")
    ]
    supply = Supply.of(zones)
    assert list(supply.ids_for(b.node("a", zone="east"))) == [PoolId(b.DRIVER, "east")]
    assert list(supply.ids_for(b.node("a"))) == []
    assert supply.nodes_of(PoolId(b.DRIVER, "east")) is None


def test_whom_a_change_concerns() -> None:
    supply = Supply.of([b.resource_slice(b.device("x"), node=name) for name in ("a", "b")])
    assert supply.nodes_of(PoolId(b.DRIVER, "a")) == {"a"}
    assert supply.nodes_of(PoolId(b.DRIVER, "elsewhere")) == frozenset()


def test_devices_with_a_node_selection_of_their_own_are_listed_and_then_judged() -> None:
    slice_ = b.resource_slice(
        b.device("a", on="node-a"), b.device("b", on="node-b"), pool="p", per_device=True
    )
    supply = Supply.of([slice_])
    node = b.node("node-a")
    (pool,) = supply.pools(node)
    assert [is_reachable(candidate, node) for candidate in pool.candidates] == [True, False]
    assert supply.pools(b.node("node-c")) == ()
    assert Supply.of([slice_], Features(partitionable_devices=False)).pools(node) == ()


def test_announced_more_than_once_counts_the_first_published_slice() -> None:
    first = b.resource_slice(b.device("x"), node="node-a", name="z", of=2)
    second = b.resource_slice(b.device("y"), node="node-a", name="a", of=5)
    (pool,) = Supply.of([first, second]).pools(b.node("node-a"))
    assert pool.fault is None
    (pool,) = Supply.of([second, first]).pools(b.node("node-a"))
    assert pool.fault is not None
    assert pool.fault.text == "pool node-a is incomplete: 2 of 5 slices, generation 1"


def test_incomplete_wins_over_invalid() -> None:
    slice_ = b.resource_slice(b.device("x"), b.device("x"), node="node-a", of=2)
    (pool,) = Supply.of([slice_]).pools(b.node("node-a"))
    assert pool.fault is not None
    assert pool.fault.kind == "incomplete"


def test_a_counter_set_published_twice_is_no_matter_while_partitions_are_off() -> None:
    slices = [
        b.resource_slice(node="node-a", name=name, of=3, counters=[b.counter_set("card", s="1")])
        for name in "ab"
    ]
    slices.append(b.resource_slice(b.device("x"), node="node-a", name="c", of=3))
    (pool,) = Supply.of(slices).pools(b.node("node-a"))
    assert pool.fault is not None
    assert "counter set card is published twice" in pool.fault.text
    assert names(Supply.of(slices, Features(partitionable_devices=False))) == ["x"]


def test_a_broken_node_selector_names_its_slice() -> None:
    slice_ = b.resource_slice(
        b.device("x"), pool="p", name="odd", node_selector=b.nodes_with("zone")
    )
    with pytest.raises(Mistake, match="resource slice odd: invalid node selector"):
        Supply.of([slice_]).pools(b.node("node-a"))


def many(nodes: int, devices: int) -> list[ResourceSlice]:
    return [
        b.resource_slice(*b.devices("gpu", devices), node=f"node-{number}")
        for number in range(nodes)
    ]


@pytest.mark.slow
def test_the_work_grows_with_the_nodes_and_not_with_their_square() -> None:
    """Counted in lines of Python, which a busy machine can't change as it changes the time."""

    def lines_run(nodes: int) -> int:
        count = 0

        def trace(_frame: FrameType, event: str, _argument: object) -> Callable[..., object]:
            nonlocal count
            count += event == "line"
            return trace

        slices = many(nodes, 8)
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            supply = Supply.of(slices)
            for number in range(nodes):
                supply.pools(b.node(f"node-{number}"))
        finally:
            sys.settrace(before)
        return count

    # Ten times the nodes: a square would be a hundred times the work.
    assert lines_run(300) < 12 * lines_run(30)


def test_devices_beside_counter_sets_are_told() -> None:
    both = ResourceSlice(
        metadata=ObjectMeta(name="old"),
        spec=ResourceSliceSpec(
            devices=(Device(name="d"),), shared_counters=(CounterSet(name="c"),)
        ),
    )
    either = ResourceSlice(spec=ResourceSliceSpec(devices=(Device(name="d"),)))
    (remark,) = remarks_on([either, both])
    assert remark.startswith("resourceslice old has 1 device beside counter sets: nobody is given")
