"""What holds of every allocation, whatever the world: nothing twice, first fit, same again.

The sums are taken here anew from the answers, with no code of `dibs.allocate`, so that both
the allocator and the oracle can be wrong without this file being so.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from dibs.allocate.outcome import Refused
from dibs.model.objects import (
    Device,
    DeviceRequestAllocationResult,
    ResourceSlice,
)
from dibs.supply.features import ALL
from dibs.testing import engine, oracle
from dibs.testing.question import Answer, Question, tree
from dibs.testing.strategies import worlds
from dibs.testing.worlds import EVERY_TRAIT, World
from dibs.values.quantity import Quantity

pytestmark = pytest.mark.slow

Key = tuple[str, str, str]
ZERO = Quantity.of(0)

plain = worlds()
full = worlds(EVERY_TRAIT)


# --- nothing is handed out twice ---------------------------------------------------------------


@given(st.one_of(plain, full))
def test_no_device_is_handed_out_twice(world: World) -> None:
    for question in world.questions():
        whole: Counter[Key] = Counter()
        shared: set[Key] = set()
        for result in taken(question, engine.answer(question)):
            if result.share_id is None:
                whole[key_of(result)] += 1
            else:
                shared.add(key_of(result))
        new = {key_of(result) for result in picked(engine.answer(question))}
        assert not [key for key, times in whole.items() if times > 1 and key in new]
        assert not whole.keys() & shared & new


@given(st.one_of(plain, full))
def test_one_claim_never_has_an_exclusive_device_twice(world: World) -> None:
    """Not even with admin access, which ignores what other claims have (KEP-5018)."""
    for question in world.questions():
        for allocation in engine.answer(question).allocations:
            mine = [key_of(r) for r in allocation.devices.results if r.share_id is None]
            assert len(mine) == len(set(mine))


@given(full)
def test_shares_stay_within_capacity(world: World) -> None:
    for question in world.questions():
        answer = engine.answer(question)
        devices = published(question)
        new = {key_of(result) for result in picked(answer)}
        sums: dict[tuple[Key, str], Quantity] = {}
        for result in taken(question, answer):
            for name, amount in result.consumed_capacity.items():
                where = (key_of(result), name)
                sums[where] = sums.get(where, ZERO).plus(amount)
        for (key, name), total in sums.items():
            # What others hold may be too much already; then nothing new may be there.
            if key in new and total > ZERO:
                assert total <= (devices[key].capacity[name].value or ZERO) or is_free(key, answer)


@given(full)
def test_counters_are_never_overdrawn(world: World) -> None:
    for question in world.questions():
        answer = engine.answer(question)
        devices = published(question)
        drawing = {key_of(result) for result in taken(question, answer)} & devices.keys()
        for pool in {(key[0], key[1]) for key in (key_of(r) for r in picked(answer))}:
            sums = drawn([devices[key] for key in drawing if key[:2] == pool])
            before = drawn([devices[key] for key in held(question) if key[:2] == pool])
            for where, total in sums.items():
                declared = counters(question, pool)[where]
                assert total <= declared or before.get(where, ZERO) == total


# --- the same as by brute force ----------------------------------------------------------------


@given(plain)
def test_first_fit_is_the_oracles(world: World) -> None:
    for question in world.questions():
        agree(question)


@given(full)
def test_first_fit_is_the_oracles_with_every_feature(world: World) -> None:
    for question in world.questions():
        agree(question)


def agree(question: Question) -> None:
    mine, right = engine.answer(question), oracle.answer(question)
    note(f"{question.id}: {mine.message or mine.outcome} / {right.message or right.outcome}")
    # What is shown can be asked again with `dibs conform`.
    assert mine == right, json.dumps(tree(question))


# --- the same again ----------------------------------------------------------------------------


@given(full)
def test_same_question_same_answer(world: World) -> None:
    for question in world.questions():
        assert engine.decide(question) == engine.decide(question)


@given(plain, st.integers(0, 1000))
def test_order_of_objects_does_not_matter(world: World, seed: int) -> None:
    """Slices, classes and holders come from a list of no order; claims are the Pod's, in order."""
    chance = random.Random(seed)
    for question in world.questions():
        shuffled = replace(
            question,
            slices=tuple(chance.sample(question.slices, len(question.slices))),
            classes=tuple(chance.sample(question.classes, len(question.classes))),
            allocated=tuple(chance.sample(question.allocated, len(question.allocated))),
        )
        assert engine.answer(question) == engine.answer(shuffled)


# --- every no has a reason ---------------------------------------------------------------------


@given(st.one_of(plain, full))
def test_every_candidate_fits_or_has_one_reason(world: World) -> None:
    for question in world.questions():
        outcome = engine.decide(question)
        if not isinstance(outcome, Refused):
            continue
        assert outcome.note
        for ask in outcome.asks:
            named = [no.device for no in ask.noes]
            assert len(named) == len(set(named))
            assert ask.fit + len(named) == ask.candidates
            assert all(no.reason.text for no in ask.noes)


# --- what the answers say ----------------------------------------------------------------------


def key_of(result: DeviceRequestAllocationResult) -> Key:
    return (result.driver, result.pool, result.device)


def picked(answer: Answer) -> Iterator[DeviceRequestAllocationResult]:
    """What the answer hands out; admin access takes nothing away and is left out."""
    for allocation in answer.allocations:
        for result in allocation.devices.results:
            if not result.admin_access:
                yield result


def taken(question: Question, answer: Answer) -> Iterator[DeviceRequestAllocationResult]:
    """All that is held once the answer is written."""
    for claim in question.allocated:
        assert claim.status.allocation is not None
        for result in claim.status.allocation.devices.results:
            if not result.admin_access:
                yield seen(question, result)
    yield from picked(answer)


def seen(
    question: Question, result: DeviceRequestAllocationResult
) -> DeviceRequestAllocationResult:
    """Without KEP-5075 nothing tells shares apart: one of them is the whole device."""
    if question.features.consumable_capacity:
        return result
    return DeviceRequestAllocationResult(
        driver=result.driver, pool=result.pool, device=result.device
    )


def held(question: Question) -> set[Key]:
    devices = published(question)
    found = {key_of(result) for result in taken(question, Answer("refused"))}
    return found & devices.keys()


def is_free(key: Key, answer: Answer) -> bool:
    """Whether the answer takes nothing of the device: a share of 0 fits a full device."""
    amounts = [
        amount
        for result in picked(answer)
        if key_of(result) == key
        for amount in result.consumed_capacity.values()
    ]
    return all(amount == ZERO for amount in amounts)


def published(question: Question) -> dict[Key, Device]:
    """The devices of each pool's newest generation."""
    return {
        (slice_.spec.driver, slice_.spec.pool.name, device.name): device
        for slice_ in newest(question)
        for device in slice_.spec.devices
    }


def newest(question: Question) -> list[ResourceSlice]:
    generations: dict[tuple[str, str], int] = {}
    for slice_ in question.slices:
        pool = (slice_.spec.driver, slice_.spec.pool.name)
        generations[pool] = max(generations.get(pool, 0), slice_.spec.pool.generation)
    return [
        slice_
        for slice_ in question.slices
        if slice_.spec.pool.generation == generations[slice_.spec.driver, slice_.spec.pool.name]
    ]


def drawn(devices: list[Device]) -> dict[tuple[str, str], Quantity]:
    sums: dict[tuple[str, str], Quantity] = {}
    for device in devices:
        for draw in device.consumes_counters:
            for name, amount in draw.counters.items():
                where = (draw.counter_set, name)
                sums[where] = sums.get(where, ZERO).plus(amount.value or ZERO)
    return sums


def counters(question: Question, pool: tuple[str, str]) -> dict[tuple[str, str], Quantity]:
    return {
        (each.name, name): counter.value or ZERO
        for slice_ in newest(question)
        if (slice_.spec.driver, slice_.spec.pool.name) == pool
        for each in slice_.spec.shared_counters
        for name, counter in each.counters.items()
    }


def test_worlds_are_worth_asking() -> None:
    """Many seeds are allocated, many refused: a law over refusals alone would prove little."""
    from dibs.testing import worlds as seeded

    outcomes = Counter(
        oracle.answer(question).outcome
        for seed in range(300)
        for question in seeded.world(seed).questions()
    )
    assert ALL.consumable_capacity
    assert outcomes["allocated"] > 50
    assert outcomes["refused"] > 50
    assert outcomes["error"] > 10
