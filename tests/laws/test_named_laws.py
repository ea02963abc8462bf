"""Devices asked for by name, on nodes of both kinds: the plan does what counting says, nobody's
plugin or card is handed out twice, and what was planned stands when it is read back.
"""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from dibs.model.core import (
    Container,
    Node,
    NodeStatus,
    Pod,
    PodExtendedResourceClaimStatus,
    PodSpec,
    ResourceRequirements,
)
from dibs.model.meta import ObjectMeta
from dibs.model.objects import ResourceClaim
from dibs.schedule import pods
from dibs.schedule.plan import (
    BindPod,
    CreateClaim,
    Placed,
    Plan,
    RecordInPod,
    Settled,
    WriteAllocation,
)
from dibs.schedule.snapshot import Snapshot
from dibs.testing import builders
from dibs.values.quantity import Quantity
from dibs.view import plans

pytestmark = pytest.mark.slow

NAME = "nvidia.com/gpu"


def container(name: str, count: int, *, policy: str = "") -> Container:
    limits = {NAME: Quantity.of(count)} if count else {}
    return Container(
        name=name, restart_policy=policy, resources=ResourceRequirements(limits=limits)
    )


def pod(number: int, init: list[int], sidecar: int, mains: list[int], node: str = "") -> Pod:
    inits = [container(f"i-{at}", count) for at, count in enumerate(init)]
    inits.append(container("side", sidecar, policy="Always"))
    return Pod(
        metadata=ObjectMeta(name=f"pod-{number}", namespace="default"),
        spec=PodSpec(
            node_name=node,
            init_containers=tuple(inits),
            containers=tuple(container(f"c-{at}", count) for at, count in enumerate(mains)),
        ),
    )


def node(number: int, plugged: int) -> Node:
    allocatable = {NAME: Quantity.of(plugged), "cpu": Quantity.of(8)}
    status = NodeStatus(allocatable=allocatable)
    return Node(metadata=ObjectMeta(name=f"n-{number}"), status=status)


counts = some.integers(0, 3)
worlds = some.tuples(
    # Of each node: what its plugin has (0 is a plugin that is gone), what its slice has.
    some.lists(some.tuples(some.integers(0, 4), some.integers(0, 4)), min_size=1, max_size=4),
    some.lists(
        some.tuples(
            some.lists(counts, max_size=2), counts, some.lists(counts, min_size=1, max_size=2)
        ),
        min_size=1,
        max_size=6,
    ),
)


@settings(max_examples=150)
@given(worlds)
def test_the_plan_does_what_counting_says(
    world: tuple[list[tuple[int, int]], list[tuple[list[int], int, list[int]]]],
) -> None:
    machines, wishes = world
    gpu = builders.device_class()
    gpu = msgspec.structs.replace(
        gpu, spec=msgspec.structs.replace(gpu.spec, extended_resource_name=NAME)
    )
    things: list[object] = [gpu]
    for number, (plugged, cards) in enumerate(machines):
        things.append(node(number, plugged))
        if cards:
            things.append(
                builders.resource_slice(*builders.devices("g", cards), node=f"n-{number}")
            )
    asked = [pod(number, *wish) for number, wish in enumerate(wishes)]
    snapshot = Snapshot.of([*things, *asked])
    plan = pods.plan(snapshot)

    left = [plugged or cards for plugged, cards in machines]
    expected: dict[str, str] = {}
    for number, (init, sidecar, mains) in enumerate(wishes):
        # The sidecar starts last of the init containers, and runs beside the others.
        wanted = max([sidecar + sum(mains), *init])
        for place, rest in enumerate(left):
            if wanted <= rest:
                left[place] -= wanted
                expected[f"pod-{number}"] = f"n-{place}"
                break
    assert expected == {
        decision.subject.key.name: decision.node
        for decision in plan.decisions
        if isinstance(decision, Placed)
    }

    taken: set[tuple[str, str]] = set()
    written = plans.objects(plan, snapshot)
    for thing in written:
        if isinstance(thing, ResourceClaim) and thing.status.allocation is not None:
            for result in thing.status.allocation.devices.results:
                assert (result.pool, result.device) not in taken
                taken.add((result.pool, result.device))
        if isinstance(thing, Pod):
            check_mappings(thing, written)
            assert carried_out(plan, thing.metadata.name) == (
                thing.status.extended_resource_claim_status,
                thing.spec.node_name,
            )

    names = {thing.metadata.name for thing in written if isinstance(thing, Pod)}
    waiting = [each for each in asked if each.metadata.name not in names]
    again = pods.plan(Snapshot.of([*things, *written, *waiting]))
    assert names <= {d.subject.key.name for d in again.decisions if isinstance(d, Settled)}
    assert not [d for d in again.decisions if isinstance(d, Placed)]


def check_mappings(found: Pod, written: tuple[object, ...]) -> None:
    """Every container has as many devices behind its resource as it asked for."""
    status = found.status.extended_resource_claim_status
    if status is None:
        return
    (claim,) = (
        thing
        for thing in written
        if isinstance(thing, ResourceClaim) and thing.metadata.name == status.resource_claim_name
    )
    sizes = {r.name: r.exactly.count for r in claim.spec.devices.requests if r.exactly}
    for each in (*found.spec.init_containers, *found.spec.containers):
        wanted = each.resources.limits.get(NAME, Quantity.of(0)).rounded_up()
        served = [m.request_name for m in status.request_mappings if m.container_name == each.name]
        assert len(served) == len(set(served))
        assert sum(sizes[name] for name in served) >= wanted
        assert bool(served) == bool(wanted)


def carried_out(plan: Plan, name: str) -> tuple[PodExtendedResourceClaimStatus | None, str]:
    """What the writes make of a Pod: its claim is there and allocated before it is named."""
    made: set[str] = set()
    allocated: set[str] = set()
    status, where = None, ""
    for write in plan.writes:
        match write:
            case CreateClaim():
                made.add(write.claim.metadata.name)
                assert write.claim.status.allocation is None
            case WriteAllocation():
                assert write.claim.name in made
                allocated.add(write.claim.name)
            case RecordInPod() if write.pod.name == name and write.extended is not None:
                assert write.extended.resource_claim_name in allocated
                status = write.extended
            case BindPod() if write.pod.name == name:
                where = write.node
    return status, where
