"""What holds of every plan: nothing is handed out twice, the same input has the same answer,
and a plan that was carried out leaves nothing more to do.
"""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest
from hypothesis import given, settings

from dibs.model.core import Pod
from dibs.model.objects import ResourceClaim, ResourceClaimTemplate, ResourceClaimTemplateSpec
from dibs.schedule import pods, writes
from dibs.schedule.plan import (
    AddReservation,
    BindPod,
    CreateClaim,
    Placed,
    Plan,
    Settled,
    Waits,
    WriteAllocation,
)
from dibs.schedule.snapshot import Key, Snapshot, key_of
from dibs.schedule.state import Options, State, kept_reasons
from dibs.supply.identity import DeviceId
from dibs.supply.ledger import Ledger
from dibs.testing import builders
from dibs.testing.strategies import worlds
from dibs.testing.worlds import COUNTERS, EVERY_TRAIT, SWITCHES, World
from dibs.view import plans

pytestmark = pytest.mark.slow

# A plan of four Pods is some forty questions to the allocator.
FEW = settings(max_examples=40)


def snapshot_of(world: World) -> Snapshot:
    """One Pod with the world's claims, another that shares them, two with claims of their own."""
    names = [claim.metadata.name for claim in world.claims]
    templates = [
        ResourceClaimTemplate(
            metadata=claim.metadata, spec=ResourceClaimTemplateSpec(spec=claim.spec)
        )
        for claim in world.claims
    ]
    namespace = world.claims[0].metadata.namespace if world.claims else "default"
    consumers = [
        builders.pod("first", claims=names, namespace=namespace),
        builders.pod("second", claims=names, namespace=namespace),
        builders.pod("third", templates=names, namespace=namespace),
        builders.pod("fourth", templates=names, namespace=namespace),
    ]
    things = (*world.nodes, *world.slices, *world.classes, *world.claims, *world.held)
    return Snapshot.of([*things, *templates, *consumers])


def fresh(plan: Plan) -> list[ResourceClaim]:
    found = {
        key_of(use.claim.metadata): use.claim
        for decision in plan.decisions
        if isinstance(decision, Placed)
        for use in decision.claims
        if use.is_fresh
    }
    return list(found.values())


@FEW
@given(worlds())
def test_no_device_is_handed_out_twice(world: World) -> None:
    snapshot = snapshot_of(world)
    plan = pods.plan(snapshot)
    before = Ledger.of(snapshot.claims.values())
    taken: Counter[DeviceId] = Counter()
    for claim in fresh(plan):
        assert claim.status.allocation is not None
        for result in claim.status.allocation.devices.results:
            device = DeviceId(result.driver, result.pool, result.device)
            if not result.admin_access:
                assert before.held(device).is_free
                taken[device] += 1
    assert max(taken.values(), default=0) <= 1


@FEW
@given(worlds(frozenset({COUNTERS})))
def test_the_same_input_has_the_same_answer(world: World) -> None:
    snapshot = snapshot_of(world)
    for order in ("first-fit", "packed"):
        options = Options(order=order)
        assert repr(pods.plan(snapshot, options)) == repr(pods.plan(snapshot, options))


@FEW
@given(worlds())
def test_everybody_is_decided_on_once(world: World) -> None:
    snapshot = snapshot_of(world)
    plan = pods.plan(snapshot)
    subjects = Counter(decision.subject for decision in plan.decisions)
    assert set(subjects.values()) <= {1}
    assert {s.key for s in subjects if s.kind == "Pod"} == set(snapshot.pods)


@FEW
@given(worlds())
def test_a_plan_that_was_carried_out_leaves_nothing_to_do(world: World) -> None:
    snapshot = snapshot_of(world)
    plan = pods.plan(snapshot)
    written = plans.objects(plan, snapshot)
    claims = {key_of(c.metadata): c for c in snapshot.claims.values()}
    running = dict(snapshot.pods)
    for thing in written:
        if isinstance(thing, ResourceClaim):
            claims[key_of(thing.metadata)] = thing
        if isinstance(thing, Pod):
            running[key_of(thing.metadata)] = thing
    rest = (*snapshot.nodes.values(), *snapshot.slices, *snapshot.classes.values())
    afterwards = Snapshot.of(
        [*rest, *snapshot.templates.values(), *claims.values(), *running.values()]
    )
    again = pods.plan(afterwards)
    placed = {d.subject for d in plan.decisions if isinstance(d, Placed)}
    settled = {d.subject for d in again.decisions if isinstance(d, Settled)}
    pods_placed = {subject for subject in placed if subject.kind == "Pod"}
    assert pods_placed <= settled
    assert not plans.objects(again, afterwards)


@FEW
@given(worlds(EVERY_TRAIT - {SWITCHES}))
def test_reasons_say_the_same_when_they_were_remembered(world: World) -> None:
    """A no that was remembered is told as if it had been found now."""
    snapshot = snapshot_of(world)
    plan = pods.plan(snapshot)
    state = State.of(snapshot)
    for decision in plan.decisions:
        # Each node in turn, with no index, and nothing told before.
        bare = msgspec.structs.replace(state, index=None, told=kept_reasons())
        asked_anew = pods.decide(bare, decision.subject)
        if isinstance(decision, Waits):
            assert asked_anew == decision
        state = writes.after(state, decision)


@FEW
@given(worlds())
def test_the_writes_make_the_objects(world: World) -> None:
    """Carrying out the writes one by one ends with what `plans.objects` shows."""
    snapshot = snapshot_of(world)
    plan = pods.plan(snapshot)
    claims = dict(snapshot.claims)
    nodes: dict[Key, str] = {}
    for write in plan.writes:
        match write:
            case CreateClaim():
                key = key_of(write.claim.metadata)
                assert key not in claims
                claims[key] = write.claim
            case WriteAllocation():
                status = claims[write.claim].status
                assert status.allocation is None
                status = msgspec.structs.replace(status, allocation=write.allocation)
                claims[write.claim] = msgspec.structs.replace(claims[write.claim], status=status)
            case AddReservation():
                status = claims[write.claim].status
                assert status.allocation is not None
                consumers = (*status.reserved_for, write.consumer)
                status = msgspec.structs.replace(status, reserved_for=consumers)
                claims[write.claim] = msgspec.structs.replace(claims[write.claim], status=status)
            case BindPod():
                assert write.pod not in nodes
                nodes[write.pod] = write.node
    for thing in plans.objects(plan, snapshot):
        if isinstance(thing, ResourceClaim):
            made = claims[key_of(thing.metadata)]
            assert (made.spec, made.status) == (thing.spec, thing.status)
        if isinstance(thing, Pod):
            assert nodes[key_of(thing.metadata)] == thing.spec.node_name
