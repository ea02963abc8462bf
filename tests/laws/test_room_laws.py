"""CPU, memory and places on nodes: what is remembered of who has none left is never stale."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from dibs.model.core import Node, NodeStatus, Pod, PodStatus, ResourceRequirements
from dibs.schedule import pods, writes
from dibs.schedule.plan import Placed, Subject, Waits
from dibs.schedule.snapshot import Key, Snapshot
from dibs.schedule.state import State
from dibs.testing import builders as b
from dibs.values.quantity import Quantity

NODES = ("a", "b", "c")
OTHERS = ("p", "q", "r", "s")


def node(name: str, cpus: int, places: int) -> Node:
    able = {"cpu": Quantity.of(cpus), "pods": Quantity.of(places)}
    return msgspec.structs.replace(b.node(name), status=NodeStatus(allocatable=able))


def pod(name: str, cpus: int, on: str = "", phase: str = "Running") -> Pod:
    made = b.pod(name)
    needs = ResourceRequirements(requests={"cpu": Quantity.of(cpus)})
    containers = (msgspec.structs.replace(made.spec.containers[0], resources=needs),)
    spec = msgspec.structs.replace(made.spec, containers=containers, node_name=on)
    status = PodStatus(phase=phase if on else "Pending")
    return msgspec.structs.replace(made, spec=spec, status=status)


# A node as it is now, a Pod that runs, ends or is gone, or one that asks.
EVENTS = st.one_of(
    st.tuples(st.just("node"), st.sampled_from(NODES), st.integers(0, 4), st.integers(0, 3)),
    st.tuples(st.just("runs"), st.sampled_from(OTHERS), st.integers(0, 4), st.sampled_from(NODES)),
    st.tuples(st.just("ends"), st.sampled_from(OTHERS), st.integers(0, 4), st.sampled_from(NODES)),
    st.tuples(st.just("gone"), st.sampled_from(OTHERS), st.just(0), st.just("")),
    st.tuples(st.just("asks"), st.just("new"), st.integers(0, 4), st.just("")),
)


@given(st.lists(EVENTS, max_size=25))
def test_a_pod_gets_the_first_node_that_has_room(
    events: list[tuple[str, str, int, object]],
) -> None:
    able = dict.fromkeys(NODES, (4, 2))
    there: dict[str, tuple[int, str]] = {}
    state = State.of(Snapshot.of(node(name, *able[name]) for name in NODES))
    for what, name, number, more in [*events, ("asks", "new", 1, ""), ("asks", "new", 3, "")]:
        match what:
            case "node":
                assert isinstance(more, int)
                able[name] = number, more
                state = state.with_object(node(name, number, more))
            case "runs":
                there[name] = number, str(more)
                state = state.with_object(pod(name, number, str(more)))
            case "ends":
                there.pop(name, None)
                state = state.with_object(pod(name, number, str(more), "Succeeded"))
            case "gone":
                there.pop(name, None)
                state = state.without_object(Pod, Key("default", name))
            case _:
                state = asked(state, number, first_with_room(able, there, number))


def first_with_room(
    able: dict[str, tuple[int, int]], there: dict[str, tuple[int, str]], wanted: int
) -> str:
    for name, (cpus, places) in able.items():
        taken = [cpu for cpu, on in there.values() if on == name]
        # Who asks for nothing needs no more than a place.
        if len(taken) < places and (not wanted or sum(taken) + wanted <= cpus):
            return name
    return ""


def asked(state: State, number: int, node_name: str) -> State:
    """The state after the answer; the Pod itself is taken away again."""
    new = pod("new", number)
    before = state.with_object(new)
    subject = Subject("Pod", Key("default", "new"))
    decision = pods.decide(before, subject)
    assert isinstance(decision, Placed | Waits)
    assert (decision.node if isinstance(decision, Placed) else "") == node_name
    if isinstance(decision, Waits):
        told = {answer.about for answer in decision.nodes.values() if hasattr(answer, "about")}
        assert told == {"node resources"}
    after = writes.after(before, decision)
    return after.without_object(Pod, Key("default", "new"))
