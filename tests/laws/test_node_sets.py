"""What is said of all nodes at once is what is said of each: selectors, Pods, whole plans."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dibs.index.roster import Roster
from dibs.model.core import (
    Container,
    Node,
    NodeSpec,
    NodeStatus,
    Pod,
    PodSpec,
    PodToleration,
    ResourceRequirements,
    Taint,
)
from dibs.model.meta import LabelSelectorRequirement, NodeSelector, NodeSelectorTerm
from dibs.model.objects import AllocationResult, ResourceClaim
from dibs.schedule import nodes, pods, writes
from dibs.schedule.plan import Placed, Waits
from dibs.schedule.snapshot import Snapshot
from dibs.schedule.state import Options, State, kept_reasons
from dibs.supply import node_selectors
from dibs.testing import builders
from dibs.values.mistake import Mistake
from dibs.values.quantity import Quantity

pytestmark = pytest.mark.slow

KEYS = ("zone", "disk", "size")
VALUES = ("a", "b", "7", "12")
GPU = "vendor.com/gpu"

Answer = TypeVar("Answer")


# --- nodes, selectors, Pods ----------------------------------------------------------------------

TAINTS = st.builds(
    Taint,
    key=st.sampled_from(["ml", "spot"]),
    value=st.sampled_from(["", "yes"]),
    effect=st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"]),
)
LABELS = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))


@st.composite
def clusters(draw: st.DrawFn) -> tuple[Node, ...]:
    made = []
    for number in range(draw(st.integers(1, 5))):
        node = builders.node(f"node-{number}", **draw(LABELS))
        spec = NodeSpec(
            unschedulable=draw(st.sampled_from([False, False, True])),
            taints=tuple(draw(st.lists(TAINTS, max_size=2))),
        )
        plugged = draw(st.sampled_from([{}, {"cpu": 8}, {GPU: 0}, {GPU: 2, "cpu": 8}]))
        status = NodeStatus(allocatable={k: Quantity.of(v) for k, v in plugged.items()})
        made.append(msgspec.structs.replace(node, spec=spec, status=status))
    return tuple(made)


def requirements(keys: tuple[str, ...]) -> st.SearchStrategy[LabelSelectorRequirement]:
    """Sound and malformed ones."""
    return st.builds(
        LabelSelectorRequirement,
        key=st.sampled_from(keys),
        operator=st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Like"]),
        values=st.sampled_from([(), ("a",), ("a", "b"), ("7",), ("node-1",), ("",)]),
    )


SELECTORS = st.builds(
    NodeSelector,
    st.lists(
        st.builds(
            NodeSelectorTerm,
            st.lists(requirements(KEYS), max_size=2).map(tuple),
            st.lists(requirements(("metadata.name", "metadata.name", "other")), max_size=1).map(
                tuple
            ),
        ),
        max_size=2,
    ).map(tuple),
)


def affinity(selector: NodeSelector) -> object:
    wanted = msgspec.to_builtins(selector)
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": wanted}}


TOLERATIONS = st.builds(
    PodToleration,
    key=st.sampled_from(["", "ml", "node.kubernetes.io/unschedulable"]),
    operator=st.sampled_from(["Exists", "Equal", ""]),
    value=st.sampled_from(["", "yes"]),
    effect=st.sampled_from(["", "NoSchedule"]),
)


@st.composite
def choosy_pods(draw: st.DrawFn, name: str = "pod") -> Pod:
    limits = draw(st.sampled_from([{}, {}, {GPU: Quantity.of(1)}, {GPU: Quantity.of(2)}]))
    selector = draw(st.one_of(st.none(), st.none(), SELECTORS))
    pod = builders.pod(name, templates=draw(st.sampled_from([[], ["one"], ["two"]])))
    spec: PodSpec = msgspec.structs.replace(
        pod.spec,
        node_selector=draw(st.one_of(st.just({}), LABELS)),
        tolerations=tuple(draw(st.lists(TOLERATIONS, max_size=2))),
        affinity=affinity(selector) if selector is not None else None,
        containers=(Container(name="main", resources=ResourceRequirements(limits=limits)),),
    )
    return msgspec.structs.replace(pod, spec=spec)


def told(call: Callable[[], Answer]) -> Answer | str:
    """What a call returns, or the text of its Mistake."""
    try:
        return call()
    except Mistake as mistake:
        return str(mistake)


@given(clusters(), SELECTORS)
def test_a_selector_selects_the_nodes_that_it_matches(
    cluster: tuple[Node, ...], selector: NodeSelector
) -> None:
    roster = Roster.of(cluster)
    one_by_one = told(
        lambda: [n.metadata.name for n in cluster if node_selectors.matches(selector, n)]
    )
    assert told(lambda: list(roster.named(roster.selected(selector)))) == one_by_one


@given(clusters(), choosy_pods())
def test_a_pod_is_allowed_where_nothing_is_against_it(cluster: tuple[Node, ...], pod: Pod) -> None:
    roster = Roster.of(cluster)
    one_by_one = told(lambda: [n.metadata.name for n in cluster if nodes.objection(pod, n) is None])
    assert told(lambda: list(roster.named(nodes.allowed(pod, roster)))) == one_by_one


@given(clusters(), st.lists(SELECTORS, max_size=2))
def test_claims_are_reached_where_they_are_not_elsewhere(
    cluster: tuple[Node, ...], selectors: list[NodeSelector]
) -> None:
    roster = Roster.of(cluster)
    claims = [allocated(f"claim-{n}", each) for n, each in enumerate(selectors)]
    one_by_one = told(
        lambda: [n.metadata.name for n in cluster if nodes.pinned_elsewhere(claims, n) is None]
    )
    at_once = told(lambda: list(roster.named(nodes.reaching(claims, roster, roster.all))))
    assert at_once == one_by_one


def allocated(name: str, selector: NodeSelector) -> ResourceClaim:
    claim = builders.claim(name)
    allocation = AllocationResult(node_selector=selector)
    status = msgspec.structs.replace(claim.status, allocation=allocation)
    return msgspec.structs.replace(claim, status=status)


# --- whole plans ---------------------------------------------------------------------------------


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    cluster = draw(clusters())
    slices = [
        builders.resource_slice(
            *builders.devices("gpu", draw(st.integers(0, 3))), node=node.metadata.name
        )
        for node in cluster
    ]
    shared = builders.resource_slice(
        *builders.devices("net", draw(st.integers(0, 2))), pool="net", all_nodes=True
    )
    served = builders.device_class("gpu")
    spec = msgspec.structs.replace(served.spec, extended_resource_name=GPU)
    return Snapshot.of(
        [
            *cluster,
            *slices,
            shared,
            msgspec.structs.replace(served, spec=spec),
            builders.template("one", builders.request("gpu")),
            builders.template("two", builders.request("gpu", count=2)),
            *(draw(choosy_pods(f"pod-{number}")) for number in range(draw(st.integers(1, 5)))),
        ]
    )


@settings(max_examples=60)
@given(snapshots(), st.sampled_from(["first-fit", "packed"]))
def test_a_plan_is_that_of_asking_each_node(snapshot: Snapshot, order: str) -> None:
    state = State.of(snapshot, Options(order="packed" if order == "packed" else "first-fit"))
    for subject in pods.queue(snapshot):
        # No index, and nothing told before: each node in turn.
        bare = msgspec.structs.replace(state, index=None, told=kept_reasons())
        expected = told(partial(pods.decide, bare, subject))
        decision = told(partial(pods.decide, state, subject))
        assert decision == expected
        if isinstance(decision, str):
            return
        if isinstance(decision, Placed) and isinstance(expected, Placed):
            assert list(decision.passed_over) == list(expected.passed_over)
        if isinstance(decision, Waits) and isinstance(expected, Waits):
            assert list(decision.nodes) == list(expected.nodes)
        state = writes.after(state, decision)
