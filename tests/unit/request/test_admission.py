"""Selectors at admission: compiled as new, estimated, told as faults of their field."""

from __future__ import annotations

import pytest

from dibs.model import rules
from dibs.request import admission
from dibs.testing import builders

GOOD = 'device.driver == "gpu.example.com"'
# A list of which nobody knows the sizes of items: cheap in fact, endless by estimate.
DEAR = 'device.attributes["a"].b.exists(x, device.attributes["a"].c.exists(y, x == y))'


def faults(expression: str) -> list[str]:
    claim = builders.claim("train", builders.request("gpu", expression))
    return [str(fault) for fault in rules.validate(claim, context=admission.context())]


def test_a_good_selector_has_no_fault() -> None:
    assert faults(GOOD) == []


@pytest.mark.parametrize("expression", ["device.driver ==", "nope", "1 + 1", "device.driver"])
def test_one_that_does_not_compile(expression: str) -> None:
    (fault,) = faults(expression)
    assert fault.startswith(
        "spec.devices.requests[0].exactly.selectors[0].cel.expression: Invalid value: "
    )


def test_one_that_costs_too_much() -> None:
    assert faults(DEAR) == [
        "spec.devices.requests[0].exactly.selectors[0].cel.expression: "
        "Forbidden: too complex, exceeds cost limit"
    ]


def test_one_without_text() -> None:
    assert faults("") == [
        "spec.devices.requests[0].exactly.selectors[0].cel.expression: Required value"
    ]


def test_a_stored_one_is_left_alone() -> None:
    old = builders.device_class("gpu", DEAR)
    assert rules.validate(old, old, context=admission.context()) == ()
    assert len(rules.validate(old, context=admission.context())) == 1
