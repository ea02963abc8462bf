"""What an answer may not hang on, and what taking, releasing and adding may do to it.

The exceptions are the specification's: mode All wants the new device, too (KEP-4381), and an
expression that fails ends the attempt, so that it matters whether it is met.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.allocate.outcome import Refused
from dibs.model import codec
from dibs.model.kinds import Known
from dibs.model.objects import Device, DeviceRequest, ResourceClaim, ResourceSlice
from dibs.supply.ledger import Ledger
from dibs.testing import builders as b
from dibs.testing import engine
from dibs.testing.oracle import pools
from dibs.testing.question import Question
from dibs.testing.strategies import worlds
from dibs.testing.worlds import EVERY_TRAIT, World

pytestmark = pytest.mark.slow

any_world = st.one_of(worlds(), worlds(EVERY_TRAIT))
seeds = st.integers(0, 1000)
ROOT = "resource.kubernetes.io/pcieRoot"


# --- what it hangs on ----------------------------------------------------------------------------


@given(any_world)
def test_the_order_in_maps_does_not_matter(world: World) -> None:
    for question in world.questions():
        turned = replace(
            question,
            slices=tuple(map(_turned, question.slices)),
            classes=tuple(map(_turned, question.classes)),
            claims=tuple(map(_turned, question.claims)),
            allocated=tuple(map(_turned, question.allocated)),
        )
        assert engine.answer(turned) == engine.answer(question)


def _turned(item: Known) -> Known:
    """The same object, every map in it the other way round."""
    decoded = codec.decode(_reversed(codec.encode(item)))
    assert decoded.object is not None
    assert not decoded.faults
    return decoded.object


def _reversed(tree: object) -> object:
    if isinstance(tree, dict):
        return {key: _reversed(tree[key]) for key in reversed(tree)}
    return [_reversed(each) for each in tree] if isinstance(tree, list) else tree


@given(any_world, seeds)
def test_who_came_first_among_the_holders_does_not_matter(world: World, seed: int) -> None:
    chance = random.Random(seed)
    for question in world.questions():
        held = tuple(chance.sample(question.allocated, len(question.allocated)))
        assert engine.answer(replace(question, allocated=held)) == engine.answer(question)


@given(any_world, seeds)
def test_pools_elsewhere_do_not_matter(world: World, seed: int) -> None:
    for question in world.questions():
        # Whole, incomplete, and one in which a name stands twice.
        devices = [_rich(f"gpu-{number}") for number in (0, 1, seed % 3)]
        elsewhere = b.resource_slice(*devices, node="another", name="aaa", of=1 + seed % 2)
        more = replace(question, slices=(elsewhere, *question.slices))
        assert engine.answer(more) == engine.answer(question)


@given(any_world)
def test_the_order_of_claims_that_share_nothing_does_not_matter(world: World) -> None:
    """One claim wants of one driver, the other of the other: each gets the same either way."""
    for question in world.questions():
        one = _of_class(question.claims[0], "one", "gpu")
        other = _of_class(question.claims[-1], "other", "nic")
        first = engine.answer(replace(question, claims=(one, other)))
        second = engine.answer(replace(question, claims=(other, one)))
        if first.outcome == "allocated":
            assert [_devices(each) for each in first.allocations] == [
                _devices(each) for each in reversed(second.allocations)
            ]
        else:
            # A claim that can't be had may hide the failing expression of the next.
            assert second.outcome != "allocated"


def _of_class(claim: ResourceClaim, name: str, device_class: str) -> ResourceClaim:
    devices = claim.spec.devices
    requests = tuple(_request_of(each, device_class) for each in devices.requests)
    devices = msgspec.structs.replace(devices, requests=requests)
    spec = msgspec.structs.replace(claim.spec, devices=devices)
    metadata = msgspec.structs.replace(claim.metadata, name=name)
    return msgspec.structs.replace(claim, metadata=metadata, spec=spec)


def _request_of(request: DeviceRequest, name: str) -> DeviceRequest:
    if request.exactly is not None:
        exactly = msgspec.structs.replace(request.exactly, device_class_name=name)
        return msgspec.structs.replace(request, exactly=exactly)
    options = tuple(
        msgspec.structs.replace(each, device_class_name=name) for each in request.first_available
    )
    return msgspec.structs.replace(request, first_available=options)


def _devices(allocation: object) -> list[tuple[str, str, str]]:
    results = allocation.devices.results  # type: ignore[attr-defined]
    return [(each.driver, each.pool, each.device) for each in results]


# --- taking, releasing, adding -------------------------------------------------------------------


@given(any_world, seeds)
def test_releasing_restores_what_was_taken(world: World, seed: int) -> None:
    """In any order, whoever else came and went in between."""
    chance = random.Random(seed)
    for question in world.questions():
        taken = [
            b.allocated(claim, *allocation.devices.results)
            for claim, allocation in zip(
                question.claims, engine.answer(question).allocations, strict=False
            )
        ]
        before = Ledger.of(question.allocated, question.features)
        after = before
        for claim in chance.sample(taken, len(taken)):
            after = after.plus(claim)
        for claim in chance.sample(taken, len(taken)):
            after = after.without(f"{claim.metadata.namespace}/{claim.metadata.name}")
        assert after == before


@given(any_world, st.booleans())
def test_one_device_more_never_makes_a_no(world: World, comes_first: bool) -> None:
    for question in world.questions():
        if engine.answer(question).outcome != "allocated" or _wants_all(question):
            continue
        more = engine.answer(replace(question, slices=_with_one_more(question, comes_first)))
        # What was never looked at before may now fail.
        if not (more.outcome == "error" and _derives(question)):
            assert more.outcome == "allocated"


def _with_one_more(question: Question, comes_first: bool) -> tuple[ResourceSlice, ...]:
    """Every slice that has devices gets one, of which any selector can be answered."""
    return tuple(
        _grown(slice_, comes_first) if slice_.spec.devices else slice_ for slice_ in question.slices
    )


def _grown(slice_: ResourceSlice, comes_first: bool) -> ResourceSlice:
    new = _rich(f"new-{slice_.metadata.name[:1]}")
    if slice_.spec.per_device_node_selection:
        new = msgspec.structs.replace(new, all_nodes=True)
    old = slice_.spec.devices
    devices = (new, *old) if comes_first else (*old, new)
    return msgspec.structs.replace(
        slice_, spec=msgspec.structs.replace(slice_.spec, devices=devices)
    )


def _rich(name: str) -> Device:
    attributes: Mapping[str, b.Value] = {
        "gpu.example.com/model": "a",
        "gpu.example.com/index": 1,
        "gpu.example.com/ecc": True,
        "gpu.example.com/version": b.version("1.10.0"),
        "nic.example.com/index": 1,
        "example.com/links": [1, 2],
        ROOT: "pci0000:00",
    }
    return b.device(name, attributes=attributes, capacity={"gpu.example.com/memory": "80Gi"})


def _wants_all(question: Question) -> bool:
    return any(wish.allocation_mode == "All" for wish in _wishes(question))


def _derives(question: Question) -> bool:
    return any(wish.derived_attributes for wish in _wishes(question))


def _wishes(question: Question) -> list[object]:
    return [
        wish
        for claim in question.claims
        for request in claim.spec.devices.requests
        for wish in ([request.exactly] if request.exactly else request.first_available)
    ]


# --- reasons -------------------------------------------------------------------------------------


@given(any_world)
def test_a_refusal_accounts_for_every_device_of_the_node(world: World) -> None:
    """Each has its reason, or its pool has one. The oracle says which devices there are."""
    for question in world.questions():
        outcome = engine.decide(question)
        if not isinstance(outcome, Refused) or not outcome.asks:
            continue
        found = pools.resolve(question.node, question.slices, question.features)
        faulty = {(fault.pool.driver, fault.pool.name) for fault in outcome.pools}
        assert {(pool.driver, pool.name) for pool in found if pool.fault} <= faulty
        whole = [pool for pool in found if (pool.driver, pool.name) not in faulty]
        for ask in outcome.asks:
            named = {no.device for no in ask.noes}
            assert ask.fit + len(named) == sum(len(pool.candidates) for pool in whole)
