"""The validator takes what is right, and says of each wrong answer what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import pytest

from dibs.model.objects import (
    AllocationResult,
    Counter,
    CounterSet,
    DeviceAllocationResult,
    DeviceConstraint,
    DeviceRequest,
    DeviceRequestAllocationResult,
    ResourceClaim,
)
from dibs.testing import builders as build
from dibs.testing import oracle
from dibs.testing.facts import reading, validity
from dibs.testing.facts.tables import Facts, Solution
from dibs.testing.question import Question
from dibs.values.quantity import Quantity

Results = tuple[DeviceRequestAllocationResult, ...]

MODES = [build.draw("card", memory="2"), build.draw("card", memory="2")]
CARD = CounterSet(name="card", counters={"memory": Counter(Quantity.of(3))})


def question(
    *requests: DeviceRequest,
    constraints: Sequence[DeviceConstraint] = (),
    held: Sequence[ResourceClaim] = (),
) -> Question:
    """Two whole devices, one that is shared, two partitions of a card for one, all on one node."""
    groups = [
        msgspec.structs.replace(each, compatibility_groups=(mode,))
        for each, mode in zip(MODES, ("mig", "vgpu"), strict=True)
    ]
    slices = (
        build.resource_slice(
            build.device("gpu-0", root="a", model="whole"),
            build.device("gpu-1", root="b", model="whole"),
            build.device("shared-0", memory="100", root="a", model="shared", shareable=True),
            build.device("part-0", root="a", model="part", draws=[MODES[0]]),
            build.device("part-1", root="b", model="part", draws=[MODES[1]]),
            build.device("mode-0", root="a", model="mode", draws=[groups[0]]),
            build.device("mode-1", root="a", model="mode", draws=[groups[1]]),
            node="node-0",
            pool="pool",
            of=2,
        ),
        build.resource_slice(name="z", node="node-0", pool="pool", of=2, counters=[CARD]),
    )
    claim = build.claim("c", *requests, constraints=constraints)
    node = build.node("node-0")
    return Question("q", node, slices, (build.device_class("gpu"),), (claim,), tuple(held))


def of(model: str) -> str:
    return f'device.attributes["gpu.example.com"].model == "{model}"'


def solution(facts: Facts, *devices: str) -> Solution:
    """One device for each request, in order."""
    names = [spot.id.device for spot in facts.spots]
    places = (names.index(device) for device in devices)
    return {(0, number): (number, (place,)) for number, place in enumerate(places)}


TWO_WHOLE = (build.request("r0", of("whole")), build.request("r1", of("whole")))
TWO_SHARES = tuple(
    build.request(f"r{index}", of("shared"), capacity={"memory": "60"}) for index in range(2)
)
TWO_PARTS = (build.request("r0", of("part")), build.request("r1", of("part")))
TWO_MODES = (build.request("r0", of("mode")), build.request("r1", of("mode")))
SAME, OTHER = (kind("gpu.example.com/root") for kind in (build.match, build.distinct))


@pytest.mark.parametrize(
    ("asked", "devices", "expected"),
    [
        (question(*TWO_WHOLE), ("gpu-0", "gpu-1"), ""),
        (question(*TWO_WHOLE), ("gpu-0", "gpu-0"), "2 have it"),
        (question(*TWO_SHARES), ("shared-0", "shared-0"), "120000 of 100000 memory"),
        (question(*TWO_PARTS), ("part-0", "part-1"), "4000 of 3000"),
        (question(TWO_PARTS[0]), ("part-0",), ""),
        (question(*TWO_MODES), ("mode-0", "mode-1"), "4000 of 3000"),
        (question(*TWO_WHOLE, constraints=[SAME]), ("gpu-0", "gpu-1"), "no value in common"),
        (question(*TWO_WHOLE, constraints=[OTHER]), ("gpu-0", "gpu-1"), ""),
        (question(TWO_WHOLE[0], TWO_PARTS[0], constraints=[OTHER]), ("gpu-0", "part-0"), ": 2"),
    ],
)
def test_sums_are_added_up(asked: Question, devices: tuple[str, ...], expected: str) -> None:
    facts = reading.of(asked)
    fault = validity.fault(facts, solution(facts, *devices))
    assert (expected in fault) if fault and expected else fault is None


def test_users_of_a_card_need_a_group_in_common() -> None:
    roomy = CounterSet(name="card", counters={"memory": Counter(Quantity.of(8))})
    asked = question(*TWO_MODES)
    first, last = asked.slices
    last = msgspec.structs.replace(
        last, spec=msgspec.structs.replace(last.spec, shared_counters=(roomy,))
    )
    facts = reading.of(Question("q", asked.node, (first, last), asked.classes, asked.claims))
    fault = validity.fault(facts, solution(facts, "mode-0", "mode-1"))
    assert fault is not None
    assert "no group in common" in fault


def test_a_held_device_is_good_for_nobody_else() -> None:
    held = [build.allocated(build.claim("other"), build.pick("gpu-0"))]
    facts = reading.of(question(TWO_WHOLE[0], held=held))
    (want,) = facts.wants
    assert [facts.spots[spot].id.device for spot in want.takes] == ["gpu-1"]


# --- reading an answer -------------------------------------------------------------------------


def swapped(results: Results) -> Results:
    return results[::-1]


def of_another(results: Results) -> Results:
    return (*results[:-1], msgspec.structs.replace(results[-1], device="gone"))


def not_wanted(results: Results) -> Results:
    return (*results[:-1], msgspec.structs.replace(results[-1], device="part-0"))


def halved(results: Results) -> Results:
    less = {"memory": Quantity.of(30)}
    return (msgspec.structs.replace(results[0], consumed_capacity=less), *results[1:])


def as_admin(results: Results) -> Results:
    return (msgspec.structs.replace(results[0], admin_access=True), *results[1:])


def without_share(results: Results) -> Results:
    return (msgspec.structs.replace(results[0], share_id=None), *results[1:])


def shorter(results: Results) -> Results:
    return results[:-1]


@pytest.mark.parametrize(
    "change", [swapped, of_another, not_wanted, halved, as_admin, without_share, shorter]
)
def test_an_answer_that_was_changed_is_invalid(change: Callable[[Results], Results]) -> None:
    asked = question(TWO_SHARES[0], build.request("r1", of("whole")))
    facts = reading.of(asked)
    right = oracle.answer(asked).allocations
    given = validity.solution_of(facts, asked.claims, right, is_in_order=True)
    assert validity.fault(facts, given) is None
    devices = DeviceAllocationResult(results=change(right[0].devices.results))
    wrong = AllocationResult(devices=devices)
    with pytest.raises(validity.Invalid):
        validity.solution_of(facts, asked.claims, [wrong], is_in_order=True)
