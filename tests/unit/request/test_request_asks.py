"""What is read from claims and classes, and what can't be."""

from __future__ import annotations

import pytest

from dibs.model.objects import (
    DerivedAttribute,
    DeviceClaim,
    DeviceClass,
    DeviceClassSpec,
    DeviceRequest,
    DeviceSelector,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from dibs.request import asks
from dibs.request.asks import Ask, Unreadable
from dibs.supply.features import Features
from dibs.testing import builders as b
from dibs.values.mistake import Mistake

CLASSES = {"gpu": b.device_class("gpu", "device.driver == 'x'", "true")}


def only(request: DeviceRequest) -> Ask:
    (wish,) = asks.read([b.claim("train", request)], CLASSES)
    return wish.requests[0].alternatives[0]


def exactly(**fields: object) -> ResourceClaim:
    wanted = ExactDeviceRequest(device_class_name="gpu", **fields)  # type: ignore[arg-type]
    requests = (DeviceRequest(name="r", exactly=wanted),)
    return ResourceClaim(
        metadata=b.claim("train").metadata,
        spec=ResourceClaimSpec(devices=DeviceClaim(requests=requests)),
    )


def test_class_selectors_come_first_and_know_their_owner() -> None:
    ask = only(b.request("r", "false"))
    assert [str(condition) for condition in ask.conditions] == [
        "class gpu: selector #0",
        "class gpu: selector #1",
        "claim default/train: selector #0",
    ]


def test_names_as_results_have_them() -> None:
    assert only(b.request("r")).name == "r"
    claim = ResourceClaim(
        spec=ResourceClaimSpec(
            devices=DeviceClaim(
                requests=(DeviceRequest(name="r", first_available=(b.alternative("small"),)),)
            )
        )
    )
    (wish,) = asks.read([claim], CLASSES)
    assert wish.requests[0].is_prioritized
    assert wish.requests[0].alternatives[0].name == "r/small"


def test_defaults_are_filled_in() -> None:
    (wish,) = asks.read([exactly(tolerations=(DeviceToleration(key="k"),))], CLASSES)
    ask = wish.requests[0].alternatives[0]
    assert (ask.mode, ask.count) == ("ExactCount", 1)
    assert ask.tolerations[0].operator == "Equal"


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        (exactly(allocation_mode="Most"), "unsupported count mode Most"),
        (exactly(count=-1), "count -1 must be greater than zero"),
        (exactly(selectors=(DeviceSelector(),)), "claim default/train: selector #0: unsupported"),
        (b.claim("train", DeviceRequest(name="r")), "neither exactly nor firstAvailable"),
        (b.claim("train", b.request("r", device_class="")), "has no device class name"),
        (
            b.claim("train", b.request("r", device_class="gpus")),
            "could not retrieve device class gpus; create it, or use one of gpu",
        ),
    ],
)
def test_what_cant_be_read(claim: ResourceClaim, expected: str) -> None:
    with pytest.raises(Mistake) as caught:
        asks.read([claim], CLASSES)
    assert expected in str(caught.value)


def test_a_class_with_a_selector_of_another_kind() -> None:
    broken = DeviceClass(spec=DeviceClassSpec(selectors=(DeviceSelector(),)))
    with pytest.raises(Mistake, match="class gpu: selector #0: unsupported"):
        asks.read([b.claim("train")], {"gpu": broken})


def test_what_was_read_before_a_fault_is_kept() -> None:
    wrong = b.claim("wrong", b.request("fine"), b.request("r", device_class="none"))
    with pytest.raises(Unreadable) as caught:
        asks.read([b.claim("right"), wrong], CLASSES)
    read = [[request.name for request in wish.requests] for wish in caught.value.before]
    assert read == [["gpu"], ["fine"]]


def test_a_constraint_concerns_requests_and_alternatives_by_name() -> None:
    whole = asks.Constraint("match", "a/b", frozenset())
    named = asks.Constraint("match", "a/b", frozenset({"r"}))
    other = asks.Constraint("match", "a/b", frozenset({"r/x"}))
    ask = only(b.request("r"))
    assert [each.concerns(ask) for each in (whole, named, other)] == [True, True, False]


def test_derived_attributes_need_their_feature() -> None:
    claim = exactly(derived_attributes=(DerivedAttribute(name="x/y", expression="1"),))
    (wish,) = asks.read([claim], CLASSES)
    assert wish.requests[0].alternatives[0].derived == {"x/y": "1"}
    with pytest.raises(Mistake, match="has derived attributes, but they are off"):
        asks.read([claim], CLASSES, Features(derived_attributes=False))
