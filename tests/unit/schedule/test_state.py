"""What a state forgets when something happens, and that trying on a fork leaves no trace."""

from __future__ import annotations

import msgspec

from dibs.model.core import Node, NodeStatus, Pod
from dibs.model.objects import (
    DeviceClass,
    NodeAllocatableMapping,
    NodeAllocatableResource,
    ResourceClaim,
)
from dibs.schedule import pods, writes
from dibs.schedule.plan import Placed, Subject, Waits
from dibs.schedule.snapshot import Key, Snapshot
from dibs.schedule.state import State
from dibs.testing import builders as b
from dibs.values.quantity import Quantity


def of(*objects: object) -> State:
    return State.of(Snapshot.of(objects))


def key(name: str) -> Key:
    return Key("default", name)


def asked(state: State, pod: str) -> Placed | Waits:
    decision = pods.decide(state, Subject("Pod", key(pod)))
    assert isinstance(decision, Placed | Waits)
    return decision


def told(state: State, pod: str) -> State:
    """The state that remembers what was said of a Pod; it must not be placed."""
    decision = asked(state, pod)
    assert isinstance(decision, Waits)
    assert decision.nodes
    return writes.after(state, decision)


def one_gpu() -> list[object]:
    pods_ = [b.pod(name, claims=[name]) for name in ("one", "other")]
    claims = [b.claim(name) for name in ("one", "other")]
    return [
        b.node("a"),
        b.resource_slice(b.device("gpu-0"), node="a"),
        b.device_class(),
        *pods_,
        *claims,
    ]


def test_fork_try_drop() -> None:
    """What designs/033 shows."""
    state = of(*one_gpu())
    trial = writes.after(state, asked(state, "one"))
    assert isinstance(asked(trial, "other"), Waits)
    # `trial` is dropped: nothing of it is in `state`, what was learned on it included.
    assert isinstance(asked(state, "other"), Placed)
    assert state.snapshot.claims[key("one")].status.allocation is None


def test_a_claim_that_is_gone_or_freed_makes_room() -> None:
    state = of(*one_gpu())
    full = told(writes.after(state, asked(state, "one")), "other")
    assert isinstance(asked(full.without_object(ResourceClaim, key("one")), "other"), Placed)
    assert isinstance(asked(full.freeing("default/one"), "other"), Placed)
    assert isinstance(asked(full, "other"), Waits)


def test_a_class_that_changed_is_asked_anew() -> None:
    never = b.device_class(b.CLASS, 'device.driver == "x"')
    state = told(of(*one_gpu(), never), "one")
    assert isinstance(asked(state.with_object(b.device_class()), "one"), Placed)
    gone = asked(state.without_object(DeviceClass, Key("", b.CLASS)), "one")
    assert isinstance(gone, Waits)
    assert gone.objections[0].about == "class"


def with_cpus(node: Node, cpus: int) -> Node:
    return msgspec.structs.replace(node, status=NodeStatus(allocatable={"cpu": Quantity.of(cpus)}))


def test_a_pod_that_leaves_gives_its_node_what_devices_draw() -> None:
    """KEP-5517: what was refused for want of CPU is asked again."""
    cores = NodeAllocatableResource(
        mapping=NodeAllocatableMapping(device_multiplier=Quantity.of(3))
    )
    devices = [
        msgspec.structs.replace(b.device(name), node_allocatable_resources={"cpu": cores})
        for name in ("cores-0", "cores-1")
    ]
    world = [
        with_cpus(b.node("a"), 4),
        b.resource_slice(*devices, node="a"),
        b.device_class(),
        *(b.claim(name) for name in ("one", "other")),
        *(b.pod(name, claims=[name]) for name in ("one", "other")),
    ]
    state = of(*world)
    full = told(writes.after(state, asked(state, "one")), "other")
    assert dict(full.used["a"]) == {"cpu": Quantity.of(3), "pods": Quantity.of(1)}
    assert isinstance(asked(full.without_object(Pod, key("one")), "other"), Placed)


def test_a_heartbeat_leaves_the_index_alone_and_a_cordon_does_not() -> None:
    state = of(*one_gpu())
    beat = msgspec.structs.replace(b.node("a"), status=NodeStatus(rest={"conditions": []}))
    after = state.with_object(beat)
    assert after.index is state.index
    assert after.snapshot.nodes["a"] is beat
    spec = msgspec.structs.replace(beat.spec, unschedulable=True)
    cordoned = state.with_object(msgspec.structs.replace(beat, spec=spec))
    assert isinstance(asked(cordoned, "one"), Waits)


def test_a_slice_that_is_gone_takes_its_devices_along() -> None:
    state = of(*one_gpu())
    bare = state.without_object(type(b.resource_slice()), Key("", f"a-{b.DRIVER}"))
    assert isinstance(asked(bare, "one"), Waits)
    assert isinstance(
        asked(bare.with_object(b.resource_slice(b.device("x"), node="a")), "one"), Placed
    )


def test_kinds_that_placement_does_not_need_change_nothing() -> None:
    state = of(*one_gpu())
    assert state.with_object(object()).snapshot == state.snapshot
    assert state.without_object(int, key("x")).snapshot == state.snapshot
