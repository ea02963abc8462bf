"""A supply that followed slice after slice is the supply of the slices that are there now."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from hypothesis import given
from hypothesis import strategies as st

from dibs.model.core import Node
from dibs.model.meta import LabelSelectorRequirement, NodeSelector, NodeSelectorTerm
from dibs.model.objects import ResourceSlice
from dibs.supply.features import ALL, Features
from dibs.supply.node_selectors import NAME_FIELD
from dibs.supply.pools import Pool, Supply
from dibs.testing import builders as b
from dibs.values.mistake import Mistake

NODES = [
    b.node("node-a", zone="east"),
    b.node("node-b", zone="west", disk="ssd"),
    b.node("node-c"),
]


def requirement(key: str, operator: str, *values: str) -> LabelSelectorRequirement:
    return LabelSelectorRequirement(key=key, operator=operator, values=values)


def term(*labels: LabelSelectorRequirement, name: str = "") -> NodeSelectorTerm:
    fields = (requirement(NAME_FIELD, "In", name),) if name else ()
    return NodeSelectorTerm(match_expressions=labels, match_fields=fields)


SELECTORS = [
    NodeSelector(node_selector_terms=terms)
    for terms in (
        (term(requirement("zone", "In", "east", "west")),),
        (term(requirement("disk", "Exists"), requirement("zone", "In", "west")),),
        (term(requirement("zone", "In", "east")), term(name="node-c")),
        (term(requirement("zone", "NotIn", "east")),),
        (term(requirement("zone", "In", "east"), name="node-b"),),
        (term(),),
        (term(requirement("zone", "In")),),  # malformed: every node is told so
    )
]

DEVICES = st.builds(
    b.device,
    st.sampled_from(["gpu-0", "gpu-1"]),
    on=st.sampled_from([None, "node-a", "node-b", *SELECTORS]),
    draws=st.sampled_from([(), (b.draw("card", memory="1"),)]),
    binding_conditions=st.sampled_from([(), ("ready",)]),
)


@st.composite
def slices(draw: st.DrawFn, name: str) -> ResourceSlice:
    where = draw(st.sampled_from(["node", "all", "selector", "device", "nothing"]))
    return b.resource_slice(
        *draw(st.lists(DEVICES, max_size=2)),
        name=name,
        pool=draw(st.sampled_from(["p", "q"])),
        node=draw(st.sampled_from(["node-a", "node-b"])) if where == "node" else "",
        all_nodes=where == "all",
        node_selector=draw(st.sampled_from(SELECTORS)) if where == "selector" else None,
        per_device=where == "device",
        generation=draw(st.integers(1, 2)),
        of=draw(st.integers(1, 3)),
        counters=draw(st.sampled_from([(), (), (b.counter_set("card", memory="8"),)])),
    )


NAMES = st.sampled_from(["s1", "s2", "s3", "s4"])
CHANGES = st.lists(NAMES.flatmap(lambda name: st.one_of(slices(name), st.just(name))), max_size=10)
FEATURES = st.sampled_from(
    [ALL, Features(partitionable_devices=False), Features(compatibility_groups=False)]
)


def look(pool: Pool) -> Hashable:
    return (
        pool.id,
        pool.generation,
        tuple((each.id, id(each.device), id(each.slice)) for each in pool.candidates),
        frozenset((each.id, id(each.device)) for each in pool.elsewhere),
        frozenset(pool.counters),
        pool.fault,
        pool.is_binding,
    )


def answers(supply: Supply, node: Node) -> Hashable:
    try:
        return tuple(look(pool) for pool in supply.pools(node))
    except Mistake as mistake:
        return str(mistake)


def written(supply: Supply) -> Mapping[str, object]:
    return {
        "pools": {
            id_: [(each.place, id(each.slice)) for each in stock]
            for id_, stock in supply.by_pool.items()
        },
        "order": list(supply.by_pool),
        "names": {name: id(each.slice) for name, each in supply.by_name.items()},
        "on": (dict(supply.on_node), dict(supply.on_label), supply.for_any, supply.for_all),
        "next": supply.next_number,
    }


@given(CHANGES, FEATURES)
def test_slice_after_slice_is_all_slices_at_once(
    changes: list[ResourceSlice | str], features: Features
) -> None:
    supply = Supply.of([], features)
    present: dict[str, ResourceSlice] = {}
    seen = []
    for change in changes:
        if isinstance(change, str):
            touched = [present[change]] if change in present else []
            present.pop(change, None)
            after = supply.without_slice(change)
        else:
            touched = [each for each in (present.get(change.metadata.name), change) if each]
            present[change.metadata.name] = change
            after = supply.with_slice(change)
        rebuilt = Supply.of([present[name] for name in sorted(present)], features)
        assert written(after) == written(rebuilt)
        for node in NODES:
            assert answers(after, node) == answers(rebuilt, node)
            assert_untouched(supply, after, node, touched)
        seen.append((supply, [answers(supply, node) for node in NODES]))
        supply = after
    for old, told in seen:
        fresh = [answers(old, node) for node in NODES]
        assert fresh == told


def assert_untouched(
    before: Supply, after: Supply, node: Node, touched: list[ResourceSlice]
) -> None:
    """A node that `nodes_of` doesn't name sees the same pools, and untouched pools are shared."""
    pools = {(each.spec.driver, each.spec.pool.name) for each in touched}
    told = answers(before, node), answers(after, node)
    concerned = [
        nodes
        for id_ in before.by_pool.keys() | after.by_pool.keys()
        if id_ in pools
        for nodes in (before.nodes_of(id_), after.nodes_of(id_))
    ]
    if not any(nodes is None or node.metadata.name in nodes for nodes in concerned):
        assert told[0] == told[1]
    for id_, stock in before.by_pool.items():
        if id_ not in pools:
            assert after.by_pool[id_] is stock


def test_slices_out_of_order_keep_their_places() -> None:
    """Who gives slices in another order than that of names has it kept; new ones come last."""
    first = b.resource_slice(b.device("x"), node="node-a", name="z", of=3)
    second = b.resource_slice(b.device("y"), node="node-a", name="a", of=5)
    third = b.resource_slice(b.device("z"), node="node-a", name="b", of=7)
    supply = Supply.of([first, second]).with_slice(third)
    (pool,) = supply.pools(NODES[0])
    assert pool.fault is None
    (pool,) = supply.with_slice(first).pools(NODES[0])
    assert pool.fault is None
    (pool,) = supply.without_slice("z").pools(NODES[0])
    assert pool.fault is not None
    assert "2 of 5 slices" in pool.fault.text


def test_what_is_not_there_can_be_taken_away() -> None:
    supply = Supply.of([])
    assert supply.without_slice("x") is supply
