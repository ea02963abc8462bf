"""The search as a whole: hard shapes at once, a budget that is kept, the same answer again."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec
import pytest

from dibs.allocate import allocator
from dibs.allocate.allocator import Options
from dibs.allocate.outcome import Allocated, Outcome, Refused, TimedOut
from dibs.model.objects import Device, DeviceConstraint, DeviceRequest, ResourceClaim
from dibs.supply.ledger import Ledger
from dibs.supply.pools import Supply
from dibs.testing import builders as b

NODE = b.node("node-a")
CLASSES = {"gpu": b.device_class("gpu")}


def allocate(
    devices: Iterable[Device],
    *requests: DeviceRequest,
    constraints: Iterable[DeviceConstraint] = (),
    options: Options = allocator.DEFAULT,
) -> Outcome:
    supply = Supply.of([b.resource_slice(*devices, node="node-a")])
    claims = [b.claim("train", *requests, constraints=constraints)]
    return allocator.allocate(NODE, claims, supply, Ledger.of([]), CLASSES, options)


def singles(count: int) -> list[DeviceRequest]:
    return [b.request(f"r{number}") for number in range(count)]


@pytest.mark.parametrize("have", [1, 4, 12, 31])
def test_one_more_than_there_are_is_seen_at_once(have: int) -> None:
    for requests in (singles(have + 1), [b.request("r", count=have + 1)]):
        outcome = allocate(b.devices("gpu", have), *requests)
        assert isinstance(outcome, Refused)


def test_as_many_as_there_are_fit() -> None:
    outcome = allocate(b.devices("gpu", 32), *singles(32))
    assert isinstance(outcome, Allocated)
    assert outcome.steps == 64  # one for each request, one for each device: nothing was tried twice


def test_the_one_root_that_works_is_found_without_trying_all_of_the_others() -> None:
    devices = [
        b.device(f"{kind}-{root}-{number}", kind=kind, attributes={"x/root": root})
        for kind in ("gpu", "nic")
        for root in range(4)
        for number in range(8 if kind == "gpu" or root == 3 else 7)
    ]
    requests = [
        b.request(f"{kind}-{number}", f'device.attributes["gpu.example.com"].kind == "{kind}"')
        for kind in ("gpu", "nic")
        for number in range(8)
    ]
    outcome = allocate(devices, *requests, constraints=[b.match("x/root")])
    assert isinstance(outcome, Allocated)
    assert outcome.steps < 200
    picked = [each.device for each in outcome.allocations[0].devices.results]
    assert picked == [f"{kind}-3-{number}" for kind in ("gpu", "nic") for number in range(8)]


def test_a_budget_is_kept_and_said() -> None:
    outcome = allocate(b.devices("gpu", 8), *singles(8), options=Options(budget=5))
    assert isinstance(outcome, TimedOut)
    assert "without having tried everything" in outcome.message


def test_the_same_question_has_the_same_answer() -> None:
    devices = b.devices("gpu", 6)
    assert allocate(devices, *singles(3)) == allocate(devices, *singles(3))


def test_shares_get_ids_that_differ_and_that_the_api_takes() -> None:
    shared = b.device("gpu-0", shareable=True)
    outcome = allocate([shared], *singles(3))
    assert isinstance(outcome, Allocated)
    ids = [each.share_id or "" for each in outcome.allocations[0].devices.results]
    assert len(set(ids)) == 3
    uuid = r"[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    assert all(re.fullmatch(uuid, each) for each in ids)


def test_packed_takes_the_same_number_of_devices_wherever_first_fit_does() -> None:
    devices = b.devices("gpu", 4)
    packed = allocate(devices, *singles(4), options=Options(order="packed"))
    assert isinstance(packed, Allocated)
    assert len(packed.allocations[0].devices.results) == 4


def test_claims_of_one_name_are_told_apart() -> None:
    claims: list[ResourceClaim] = [b.claim("same"), b.claim("same")]
    supply = Supply.of([b.resource_slice(*b.devices("gpu", 2), node="node-a")])
    outcome = allocator.allocate(NODE, claims, supply, Ledger.of([]), CLASSES)
    assert isinstance(outcome, Allocated)
    picked = [[r.device for r in each.devices.results] for each in outcome.allocations]
    assert picked == [["gpu-0"], ["gpu-1"]]


def test_one_device_of_another_mode_than_all_cards_is_seen_at_once() -> None:
    """Each of the cards goes in one mode (KEP-5963): plain counting finds devices enough."""
    cards = range(6)
    parts = [
        b.device(
            f"{mode}-{card}-{number}",
            mode=mode,
            draws=[
                msgspec.structs.replace(
                    b.draw(f"card-{card}", memory="10"), compatibility_groups=(mode,)
                )
            ],
        )
        for card in cards
        for mode in ("mig", "vgpu")
        for number in range(4)
    ]
    sets = [b.counter_set(f"card-{card}", memory="80") for card in cards]
    supply = Supply.of(
        [
            b.resource_slice(name="sets", node="node-a", of=2, counters=sets),
            b.resource_slice(*parts, name="parts", node="node-a", of=2),
        ]
    )
    of_mode = 'device.attributes["gpu.example.com"].mode == '
    fours = [b.request(f"r{card}", f'{of_mode}"mig"', count=4) for card in cards]
    for last, expected in (("mig", Allocated), ("vgpu", Refused)):
        requests = [*fours[1:], b.request("last", f'{of_mode}"{last}"')]
        claim = b.claim("train", *(requests if last == "mig" else (*fours, requests[-1])))
        options = Options(strict=True, budget=500)
        outcome = allocator.allocate(NODE, [claim], supply, Ledger.of([]), CLASSES, options)
        assert isinstance(outcome, expected)
