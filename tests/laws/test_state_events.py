"""A state that followed event after event is the state of all objects that are there now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dibs.model.core import (
    Container,
    Namespace,
    Node,
    NodeStatus,
    Pod,
    PodResourceClaim,
    ResourceRequirements,
)
from dibs.model.meta import ObjectMeta, OwnerReference
from dibs.model.objects import (
    DeviceClass,
    DeviceTaintRule,
    DeviceTaintRuleSpec,
    DeviceTaintSelector,
    NodeAllocatableMapping,
    NodeAllocatableResource,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
)
from dibs.model.workloads import PodGroup, PodGroupSpec
from dibs.schedule import pods, writes
from dibs.schedule.plan import Decision, Placed, Subject
from dibs.schedule.snapshot import ENTRY_ANNOTATION, Key, Snapshot, key_of_object
from dibs.schedule.state import DEFAULTS, Options, State
from dibs.supply.pools import Supply
from dibs.testing import builders as b
from dibs.values.mistake import Mistake
from dibs.values.quantity import Quantity

pytestmark = pytest.mark.slow

Ref: TypeAlias = tuple[type, Key]
# An object that is there now, one that is gone, or a Pod that is decided on.
Event: TypeAlias = object | Ref | str

CPU = {"cpu": Quantity.of(4)}
AGES = st.sampled_from([None, "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"])
NAMES = st.sampled_from(["a", "b", "c"])


def changed(thing: object, part: str, **values: object) -> object:
    inner = msgspec.structs.replace(getattr(thing, part), **values)
    return msgspec.structs.replace(thing, **{part: inner})  # type: ignore[type-var]


@st.composite
def nodes(draw: st.DrawFn) -> object:
    node = b.node(draw(NAMES), zone=draw(st.sampled_from(["east", "west"])))
    cordoned = changed(node, "spec", unschedulable=draw(st.sampled_from([False, False, True])))
    status = NodeStatus(allocatable=draw(st.sampled_from([{}, CPU])), rest={"beat": draw(NAMES)})
    return msgspec.structs.replace(cordoned, status=status)  # type: ignore[type-var]


@st.composite
def slices(draw: st.DrawFn) -> ResourceSlice:
    cpu = NodeAllocatableResource(
        mapping=NodeAllocatableMapping(device_multiplier=Quantity.of(draw(st.integers(1, 3))))
    )
    devices = [
        msgspec.structs.replace(
            b.device(name, model=draw(st.sampled_from(["A100", "H100"]))),
            node_allocatable_resources=draw(st.sampled_from([{}, {}, {"cpu": cpu}])),
        )
        for name in draw(st.sampled_from([(), ("gpu-0",), ("gpu-0", "gpu-1")]))
    ]
    where = draw(st.sampled_from(["node", "node", "all", "selector"]))
    return b.resource_slice(
        *devices,
        name=draw(NAMES),
        node=draw(NAMES) if where == "node" else "",
        all_nodes=where == "all",
        node_selector=b.nodes_with("zone", "east") if where == "selector" else None,
        generation=draw(st.integers(1, 2)),
        of=draw(st.sampled_from([1, 1, 2])),
    )


@st.composite
def rules(draw: st.DrawFn) -> DeviceTaintRule:
    pool, device = draw(st.sampled_from([(None, None), ("a", None), ("a", "gpu-0"), (None, "x")]))
    selector = DeviceTaintSelector(pool=pool, device=device)
    spec = DeviceTaintRuleSpec(device_selector=selector, taint=b.taint(draw(NAMES)))
    return DeviceTaintRule(metadata=ObjectMeta(name=draw(NAMES)), spec=spec)


PICKS = st.builds(
    b.pick, st.sampled_from(["gpu-0", "gpu-1"]), pool=NAMES, share=st.sampled_from([None, "s"])
)


@st.composite
def claims(draw: st.DrawFn) -> object:
    wanted = b.request("r", count=draw(st.integers(1, 2)))
    claim = b.claim(draw(NAMES), wanted)
    picks = draw(st.lists(PICKS, max_size=2))
    owner = draw(st.sampled_from(["", "Pod", "PodGroup"]))
    owners = OwnerReference(kind=owner, name=draw(NAMES), uid=draw(NAMES), controller=True)
    return changed(
        b.allocated(claim, *picks) if picks else claim,
        "metadata",
        creation_timestamp=draw(AGES),
        deletion_timestamp=draw(st.sampled_from([None, None, "2026-01-03T00:00:00Z"])),
        owner_references=(owners,) if owner else (),
        annotations={ENTRY_ANNOTATION: "e"} if owner else {},
    )


@st.composite
def the_pods(draw: st.DrawFn) -> object:
    pod = b.pod(
        draw(NAMES),
        claims=draw(st.lists(NAMES, max_size=1)),
        templates=draw(st.lists(NAMES, max_size=1)),
        node=draw(st.sampled_from(["", "", "a", "b"])),
        created=draw(AGES),
    )
    cpu = {"cpu": Quantity.of(draw(st.integers(0, 2)))}
    container = Container(name="main", resources=ResourceRequirements(requests=cpu))
    phase = draw(st.sampled_from(["", "", "Running", "Succeeded"]))
    return changed(changed(pod, "spec", containers=(container,)), "status", phase=phase)


@st.composite
def classes(draw: st.DrawFn) -> DeviceClass:
    selectors = draw(st.sampled_from([(), (f'"{b.DRIVER}" == "x"',)]))
    made = b.device_class(draw(st.sampled_from([b.CLASS, b.CLASS, "other"])), *selectors)
    resource = draw(st.sampled_from([None, "example.com/gpu"]))
    served = changed(made, "spec", extended_resource_name=resource)
    assert isinstance(served, DeviceClass)
    return served


ENTRIES = st.sampled_from([(), (PodResourceClaim(name="e", resource_claim_template_name="a"),)])
OBJECTS = st.one_of(
    nodes(),
    slices(),
    slices(),
    rules(),
    claims(),
    claims(),
    the_pods(),
    the_pods(),
    classes(),
    st.builds(b.template, NAMES),
    st.builds(lambda name: Namespace(metadata=ObjectMeta(name=name)), NAMES),
    st.builds(
        lambda name, entries: PodGroup(
            metadata=ObjectMeta(name=name), spec=PodGroupSpec(resource_claims=entries)
        ),
        NAMES,
        ENTRIES,
    ),
)
KINDS: list[type] = [Node, Pod, ResourceClaim, ResourceClaimTemplate, DeviceClass]
KINDS += [ResourceSlice, DeviceTaintRule, Namespace, PodGroup]


def ref(kind: type, name: str) -> Ref:
    namespaced = kind in (Pod, ResourceClaim, ResourceClaimTemplate, PodGroup)
    return kind, Key("default" if namespaced else "", name)


GONE = st.builds(ref, st.sampled_from(KINDS), st.sampled_from(["a", "b", "c", b.CLASS]))
EVENTS: st.SearchStrategy[list[Event]] = st.lists(
    st.one_of(OBJECTS, OBJECTS, OBJECTS, GONE, NAMES), max_size=12
)


def base() -> list[object]:
    """What is there at first, so that most events matter to somebody who waits."""
    names = ("a", "b", "c")
    return [
        *(b.node(name, zone="east") for name in names),
        *(b.resource_slice(*b.devices("gpu", 2), name=name, node=name) for name in names),
        b.device_class(),
        *(b.claim(name, b.request("r", count=2)) for name in names),
        *(b.pod(name, claims=[name]) for name in names),
    ]


def followed(state: State, present: dict[Ref, object], event: Event) -> State:
    """The state after an event, and what is there then."""
    if isinstance(event, str):
        key = Key("default", event)
        if key not in state.snapshot.pods:
            return state
        try:
            decision = pods.decide(state, Subject("Pod", key))
        except Mistake:
            return state
        after = writes.after(state, decision)
        present.update({(Pod, key): pod for key, pod in after.snapshot.pods.items()})
        present.update(
            {(ResourceClaim, key): claim for key, claim in after.snapshot.claims.items()}
        )
        return after
    if isinstance(event, tuple):
        present.pop(event, None)
        return state.without_object(*event)
    present[type(event), key_of_object(event)] = event
    return state.with_object(event)


def written(state: State) -> dict[str, object]:
    """Every field that says something of the world, in order where order counts."""
    snapshot = msgspec.structs.asdict(state.snapshot)
    orders = ("nodes", "pods", "claims", "classes", "templates", "groups", "tainted")
    return {
        **snapshot,
        "orders": {name: list(snapshot[name]) for name in orders},
        "supply": offered(state.supply),
        "ledger": state.ledger,
        "used": dict(state.used),
        "drawing": dict(state.drawing),
        "natives": state.natives,
    }


def offered(supply: Supply) -> object:
    listed = {
        id_: [(each.place, each.slice) for each in stock] for id_, stock in supply.by_pool.items()
    }
    return listed, dict(supply.on_node), dict(supply.on_label), supply.for_any, supply.for_all


def decisions(state: State) -> list[Decision | str]:
    found: list[Decision | str] = []
    for key in state.snapshot.pods:
        try:
            decision = pods.decide(state, Subject("Pod", key))
        except Mistake as mistake:
            found.append(str(mistake))
            continue
        # How many steps it took may differ: something may have been learned.
        found.append(replace(decision, outcome=None) if isinstance(decision, Placed) else decision)
    return found


def follow(events: list[Event], options: Options, of: Callable[[list[object]], Snapshot]) -> None:
    present: dict[Ref, object] = {(type(each), key_of_object(each)): each for each in base()}
    state = State.of(of(base()), options)
    earlier = []
    for event in events:
        earlier.append((state, written(state)))
        state = followed(state, present, event)
        rebuilt = State.of(of(list(present.values())), options)
        assert written(state) == written(rebuilt)
        assert decisions(state) == decisions(rebuilt)
    for old, then in earlier:
        assert written(old) == then


@settings(max_examples=150, deadline=None)
@given(EVENTS, st.sampled_from([DEFAULTS, Options(order="packed"), Options(node="a")]))
def test_event_after_event_is_all_objects_at_once(events: list[Event], options: Options) -> None:
    follow(events, options, Snapshot.of)


@settings(max_examples=50, deadline=None)
@given(EVENTS)
def test_nor_does_it_where_slices_imply_no_nodes(events: list[Event]) -> None:
    follow(events, DEFAULTS, lambda objects: Snapshot.of(objects, implies_nodes=False))
