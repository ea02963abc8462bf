"""What a program says it reads: enough that equal readings mean equal answers."""

from __future__ import annotations

import pytest

from dibs.cel import reads
from dibs.request import selectors

D = 'device.attributes["d"]'

READS = {
    "true": set(),
    "device.driver == 'x'": {("device", "driver")},
    f"{D}.x == 1 && {D}['y'] == 2": {
        ("device", "attributes", "d", "x"),
        ("device", "attributes", "d", "y"),
    },
    f"has({D}.x)": {("device", "attributes", "d", "x")},
    f"{D}.?x.orValue(1) == 1": {("device", "attributes", "d", "x")},
    f"'x' in {D}": {("device", "attributes", "d")},
    "device.attributes[device.driver].x == 1": {("device", "attributes"), ("device", "driver")},
    "device.attributes[dyn(1)] == {}": {("device", "attributes")},
    f"cel.bind(a, {D}, a.x == 1)": {("device", "attributes", "d")},
    f"{D}.xs.exists(device, device == 1)": {("device", "attributes", "d", "xs")},
    "[device].size() == 1": {("device",)},
    "type(1) == int": set(),
}


@pytest.mark.parametrize("expression", READS)
def test_reads(expression: str) -> None:
    assert selectors.compile(expression).program.reads == READS[expression]


U = f"{D}.u"
AT = ("device", "attributes", "d", "u")

PINS = {
    f"{U} == 'a'": [(AT, {"a"})],
    f"'a' == {U}": [(AT, {"a"})],
    f"{U} in ['a', 'b'] && device.driver == 'x'": [
        (AT, {"a", "b"}),
        (("device", "driver"), {"x"}),
    ],
    f"(true && {U} == 'a') && {D}.n > 1": [(AT, {"a"})],
    f"{U} == 'a' || true": [],
    f"!({U} == 'a')": [],
    f"{U} != 'a'": [],
    f"{U} == 1": [],
    f"{U} in [dyn('a'), {D}.v]": [],
    f"{U}.startsWith('a')": [],
}


@pytest.mark.parametrize("expression", PINS)
def test_pins(expression: str) -> None:
    root = selectors.compile(expression).program.root
    assert list(reads.pins(root)) == PINS[expression]
