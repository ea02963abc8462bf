"""Builders say what was meant in one line, and what they build is valid."""

from __future__ import annotations

import pytest

from dibs.model.kinds import Known
from dibs.model.objects import DeviceAttribute
from dibs.model.rules import check
from dibs.testing import builders as build
from dibs.values.quantity import Quantity


def test_a_device_reads_as_it_is_written() -> None:
    card = build.device(
        "gpu-0", memory="80Gi", model="H100", index=0, ecc=True, driver=build.version("570.1.0")
    )
    assert card.capacity["memory"].value == Quantity.parse("80Gi")
    assert card.attributes == {
        "model": DeviceAttribute(string="H100"),
        "index": DeviceAttribute(int_=0),
        "ecc": DeviceAttribute(bool_=True),
        "driver": DeviceAttribute(version="570.1.0"),
    }


@pytest.mark.parametrize(
    ("value", "attribute"),
    [
        (True, DeviceAttribute(bool_=True)),
        (1, DeviceAttribute(int_=1)),
        ("1", DeviceAttribute(string="1")),
        ([1, 2], DeviceAttribute(ints=(1, 2))),
        ([True], DeviceAttribute(bools=(True,))),
        (["a"], DeviceAttribute(strings=("a",))),
    ],
)
def test_attributes_have_the_type_of_their_value(
    value: build.Value, attribute: DeviceAttribute
) -> None:
    assert build.attribute(value) == attribute


def test_devices_differ_in_name_only() -> None:
    one, other = build.devices("gpu", 2, memory="80Gi", model="H100")
    assert (one.name, other.name) == ("gpu-0", "gpu-1")
    assert (one.attributes, one.capacity) == (other.attributes, other.capacity)


@pytest.mark.parametrize(
    "item",
    [
        build.resource_slice(*build.devices("gpu", 3, memory="80Gi"), node="node-a"),
        build.resource_slice(
            name="cards", node="node-a", of=2, counters=[build.counter_set("card", memory="80Gi")]
        ),
        build.resource_slice(
            build.device("part", draws=[build.draw("card", memory="40Gi")], on="node-a"),
            per_device=True,
            of=2,
        ),
        build.resource_slice(node_selector=build.nodes_with("zone", "a", "b")),
        build.device_class("gpu", 'device.driver == "gpu.example.com"'),
        build.claim("train", build.request("gpu", count=2), constraints=[build.match("a.b/c")]),
        build.claim("all", build.request("gpu", all_devices=True, admin=True)),
        build.claim(
            "either",
            build.first_available("gpu", build.alternative("big"), build.alternative("small")),
        ),
        build.template("one-gpu"),
        build.pod("train", claims=["gpu"], templates=["one-gpu"]),
        build.node("node-a", zone="a"),
    ],
    ids=lambda item: f"{type(item).__name__}-{item.metadata.name}",
)
def test_what_is_built_is_valid(item: Known) -> None:
    assert not check.validate(item)


def test_an_allocated_claim_is_a_valid_status() -> None:
    wanted = build.claim("serve")
    held = build.allocated(wanted, build.pick("gpu-0", pool="node-a"))
    assert held.spec == wanted.spec
    assert not check.validate_status(held, wanted)
