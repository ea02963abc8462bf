"""What attempts have in common: known devices, answers and claims, each bounded and never stale."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import pytest

from dibs.allocate import allocator
from dibs.allocate.allocator import Options, Places
from dibs.allocate.orders import Order
from dibs.allocate.outcome import Allocated, Outcome, Refused
from dibs.allocate.selecting import Answers
from dibs.model.objects import Device, DeviceClass, ResourceClaim
from dibs.request.asks import Ask
from dibs.supply.ledger import Ledger
from dibs.supply.pools import Supply
from dibs.testing import builders as b

NODE = b.node("node-a")
GPU = b.device_class("gpu")
KIND = 'device.attributes["gpu.example.com"].kind'


def allocate(
    claims: Iterable[ResourceClaim],
    devices: Iterable[Device],
    *,
    answers: Answers | None = None,
    classes: DeviceClass = GPU,
    held: Iterable[ResourceClaim] = (),
    options: Options = allocator.DEFAULT,
    places: Places | None = None,
) -> Outcome:
    supply = Supply.of([b.resource_slice(*devices, node="node-a")])
    return allocator.allocate(
        NODE,
        list(claims),
        supply,
        Ledger.of(held),
        {classes.metadata.name: classes},
        options,
        answers,
        places=places,
    )


def devices_of(outcome: Outcome) -> list[str]:
    assert isinstance(outcome, Allocated)
    return [each.device for one in outcome.allocations for each in one.devices.results]


# --- places --------------------------------------------------------------------------------------


def test_a_device_that_is_known_to_be_of_no_use_is_not_looked_at() -> None:
    answers = Answers()
    claim = b.claim("one", b.request("gpu", f'{KIND} == "b"'))
    devices = [b.device(f"gpu-{n}", kind="b" if n == 5 else str(n)) for n in range(8)]
    outcome = allocate([claim], devices, answers=answers, places=lambda ask: 1 << 5)
    assert devices_of(outcome) == ["gpu-5"]
    assert answers.stats[0].misses == 1


def test_places_are_in_the_order_of_the_pools_also_when_packing() -> None:
    card = b.counter_set("card", slices="2")
    parts = [b.device(f"part-{n}", draws=[b.draw("card", slices="1")]) for n in range(2)]
    slices = [
        b.resource_slice(b.device("a-whole"), *parts, name="devices", node="node-a", of=2),
        b.resource_slice(name="sets", node="node-a", of=2, counters=[card]),
    ]
    held = b.allocated(b.claim("held"), b.pick("part-0", pool="node-a"))
    order: Order
    for order, asked in (("first-fit", 0b001), ("packed", 0b100)):
        seen: list[Ask] = []

        def places(ask: Ask, seen: list[Ask] = seen) -> int:
            seen.append(ask)
            return 0b101

        outcome = allocator.allocate(
            NODE,
            [b.claim("one")],
            Supply.of(slices),
            Ledger.of([held]),
            {"gpu": b.device_class("gpu")},
            Options(order=order),
            places=places,
        )
        assert devices_of(outcome) == [{0b001: "a-whole", 0b100: "part-1"}[asked]]
        assert [ask.request for ask in seen] == ["gpu"]


def test_where_errors_are_fatal_places_are_ignored() -> None:
    outcome = allocate(
        [b.claim("one")], b.devices("gpu", 2), options=Options(strict=True), places=lambda ask: 0
    )
    assert devices_of(outcome) == ["gpu-0"]


def test_places_change_no_reason() -> None:
    claim = b.claim("one", b.request("gpu", count=3))
    told = allocate([claim], b.devices("gpu", 2))
    assert allocate([claim], b.devices("gpu", 2), places=lambda ask: 0b01) == told


# --- reasons on demand ---------------------------------------------------------------------------


def test_a_refusal_without_reasons_can_be_explained_later() -> None:
    claim, devices = b.claim("one", b.request("gpu", count=3)), b.devices("gpu", 2)
    full = allocate([claim], devices)
    brief = allocate([claim], devices, options=Options(explain=False))
    assert isinstance(brief, Refused)
    assert brief.asks == ()
    supply = Supply.of([b.resource_slice(*devices, node="node-a")])
    classes = {"gpu": b.device_class("gpu")}
    assert allocator.reasons(NODE, [claim], supply, Ledger.of([]), classes) == full


def test_reasons_beyond_so_many_devices_are_counted() -> None:
    devices = b.devices("gpu", 2_050)
    claim = b.claim("one", b.request("gpu", f'{KIND} == "b"'))
    outcome = allocate([claim], devices)
    assert isinstance(outcome, Refused)
    (ask,) = outcome.asks
    assert (ask.candidates, ask.fit, len(ask.noes), ask.untold) == (2_050, 0, 2_000, 50)


# --- what is remembered --------------------------------------------------------------------------


def test_the_same_claim_is_read_anew_when_its_class_has_changed() -> None:
    answers, claim = Answers(), b.claim("one")
    devices = [b.device("gpu-0", kind="a"), b.device("gpu-1", kind="b")]
    for kind, found in (("a", "gpu-0"), ("b", "gpu-1"), ("a", "gpu-0")):
        wanted = b.device_class("gpu", f'{KIND} == "{kind}"')
        assert devices_of(allocate([claim], devices, answers=answers, classes=wanted)) == [found]


def test_another_claim_of_the_same_name_is_another_claim() -> None:
    answers, devices = Answers(), b.devices("gpu", 3)
    for count in (1, 2, 3):
        claim = b.claim("one", b.request("gpu", count=count))
        assert len(devices_of(allocate([claim], devices, answers=answers))) == count


def test_a_republished_device_is_asked_anew() -> None:
    answers, claim = Answers(), b.claim("one", b.request("gpu", f'{KIND} == "b"'))
    old = b.device("gpu-0", kind="a")
    assert isinstance(allocate([claim], [old], answers=answers), Refused)
    new = msgspec.structs.replace(old, attributes={"kind": b.attribute("b")})
    assert devices_of(allocate([claim], [new], answers=answers)) == ["gpu-0"]


def test_ever_new_selectors_leave_no_more_than_the_bounds_allow() -> None:
    answers = Answers(most_answers=25, most_expressions=10)
    devices = b.devices("gpu", 4, kind="a")
    for number in range(30):
        claim = b.claim("one", b.request("gpu", f'{KIND} == "a" && {number} == {number}'))
        assert devices_of(allocate([claim], devices, answers=answers)) == ["gpu-0"]
    by_name = {each.name: each for each in answers.stats}
    assert by_name["selectors"].kept == 10
    assert by_name["selectors"].dropped == 20
    assert by_name["selector answers"].kept <= 25
    assert by_name["selector answers"].dropped >= 25


def test_what_is_known_is_counted() -> None:
    answers, claim, devices = Answers(), b.claim("one"), b.devices("gpu", 1)
    supply = Supply.of([b.resource_slice(*devices, node="node-a")])
    for _ in range(4):
        allocator.allocate(
            NODE, [claim], supply, Ledger.of([]), {"gpu": b.device_class("gpu")}, answers=answers
        )
    by_name = {each.name: each for each in answers.stats}
    shelves = by_name["shelved devices"]
    assert (shelves.hits, shelves.misses) == (3, 1)


@pytest.mark.slow
def test_a_pool_of_very_many_devices_is_decided_on_in_time_and_memory() -> None:
    devices = [
        b.device(f"gpu-{n}", attributes={"x/root": n // 4, "x/uuid": n}) for n in range(10_000)
    ]
    answers = Answers()
    brief = Options(explain=False)
    for request, rule, fits in (
        (b.request("gpu", count=4), b.match("x/root"), True),
        (b.request("gpu", count=5), b.match("x/root"), False),
        (b.request("gpu", count=2), b.match("x/uuid"), False),
        (b.request("gpu", count=32), b.distinct("x/uuid"), True),
    ):
        claim = b.claim("one", request, constraints=[rule])
        outcome = allocate([claim], devices, answers=answers, options=brief)
        assert isinstance(outcome, Allocated) == fits
