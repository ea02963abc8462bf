"""Derived attributes: what they may be, and what they make of a device (KEP-6080)."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from dibs.cel.faults import CompileError
from dibs.model import rules
from dibs.model.objects import Device, DeviceAttribute
from dibs.request import admission, derived
from dibs.request.selectors import NEW
from dibs.supply.features import Features
from dibs.supply.identity import DeviceId
from dibs.testing import builders as b
from dibs.values.mistake import Mistake


@dataclass(frozen=True, slots=True)
class Asked:
    id: DeviceId
    device: Device


GPU = Asked(
    DeviceId(b.DRIVER, "pool", "gpu-0"),
    b.device("gpu-0", memory="80Gi", model="a", numa=1, v=b.version("1.2.3"), at=(1, 2)),
)
OWN = f'device.attributes["{b.DRIVER}"]'


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("true", DeviceAttribute(bool_=True)),
        (f"{OWN}.numa + 1", DeviceAttribute(int_=2)),
        (f'"node-" + string({OWN}.numa)', DeviceAttribute(string="node-1")),
        ('semver("1.2.3-rc.1+b")', DeviceAttribute(version="1.2.3-rc.1+b")),
        (f"{OWN}.v", DeviceAttribute(version="1.2.3")),
        (f"{OWN}.at", DeviceAttribute(ints=(1, 2))),
        ("[true, false]", DeviceAttribute(bools=(True, False))),
        ('["a", device.driver]', DeviceAttribute(strings=("a", b.DRIVER))),
        (f"[{OWN}.v]", DeviceAttribute(versions=("1.2.3",))),
        ("[1].filter(x, x > 1)", DeviceAttribute(strings=())),
    ],
)
def test_what_it_is(expression: str, expected: DeviceAttribute) -> None:
    assert derived.compile(expression).attribute(GPU) == expected


@pytest.mark.parametrize("expression", ["1.5", "1u", "null", "{'a': 1}", "[[1]]", "[1.5]", "b''"])
def test_what_it_cant_be(expression: str) -> None:
    with pytest.raises(CompileError, match="must evaluate to a primitive scalar"):
        derived.compile(expression)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (f"{OWN}.rack", "no such key: rack"),
        ("dyn(1.5)", "unsupported CEL return type"),
        ("[dyn(1), dyn(2u)]", "expected list element at index 1 to be int"),
        ("dyn([2u])", "unsupported list element type"),
    ],
)
def test_what_fails_on_a_device(expression: str, expected: str) -> None:
    with pytest.raises(Mistake, match=expected):
        derived.compile(expression).attribute(GPU)


def test_a_new_one_may_be_a_list_only_where_attributes_may() -> None:
    without = Features(list_type_attributes=False)
    assert derived.compile("[1]", features=without)
    with pytest.raises(CompileError, match=r"\(string, integer, boolean, semver\), not list"):
        derived.compile("[1]", NEW, without)


def test_the_devices_it_depends_on_are_told_apart_by_what_it_reads() -> None:
    other = Asked(GPU.id, b.device("gpu-0", memory="40Gi", model="b", numa=1))
    by_numa, by_model = derived.compile(f"{OWN}.numa"), derived.compile(f"{OWN}.model")
    assert by_numa.projection(GPU) == by_numa.projection(other)
    assert by_model.projection(GPU) != by_model.projection(other)


# Some 300,000 by estimate, so 600,000 twice: one is allowed, two of one claim are not.
HALF = f"{OWN}.a.exists(x, {OWN}.b.exists(y, y in {OWN}.c))"
DEAR = f"{HALF} || {HALF}"


def test_all_of_a_claim_share_one_budget() -> None:
    def faults(*expressions: str) -> list[str]:
        requests = [
            b.request(f"r{number}", derived={"derived/x": text})
            for number, text in enumerate(expressions)
        ]
        claim = b.claim("train", *requests, constraints=[b.match("derived/x")])
        return [str(fault) for fault in rules.validate(claim, context=admission.context())]

    cost = derived.compile(DEAR, NEW).program.max_cost
    assert 500_000 < cost <= 1_000_000, cost
    assert faults(DEAR, "1") == []
    assert faults(DEAR, DEAR) == [
        "spec.devices: Forbidden: too complex, total cost of derived attribute CEL expressions in "
        "the claim exceeds cost limit"
    ]
    assert "Invalid value" in faults("1.5")[0]
