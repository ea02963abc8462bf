"""Runs tests/cases/cel: an expression, a device, and match, error, cost, fault or reason."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from selector_cases import CASES, asked, cases, spelled_out

from dibs.cel import CompileError, EvaluationError
from dibs.request import selectors
from dibs.request.selectors import Mode, Selector
from dibs.request.views import DeviceView
from dibs.supply.features import Features

_KNOWN = {"match", "cost", "error", "compile_error", "at", "max_cost", "why"}


def _all() -> list[Any]:
    return [
        pytest.param(case, id=f"{path.stem}-{number}")
        for path in sorted(CASES.glob("*.yaml"))
        for number, case in enumerate(cases(path.stem))
    ]


def compiled(case: dict[str, Any]) -> Selector:
    features = replace(Features(), **dict.fromkeys(case.get("without", ()), False))
    expression = spelled_out(case["expression"])
    return selectors.compile(expression, Mode(case.get("mode", "stored")), features)


@pytest.mark.parametrize("case", _all())
def test_selector(case: dict[str, Any]) -> None:
    then = case["then"]
    assert then
    assert set(then) <= _KNOWN
    if "compile_error" in then:
        with pytest.raises(CompileError) as raised:
            compiled(case)
        assert then["compile_error"] in str(raised.value)
        if "at" in then:
            fault = raised.value.faults[0]
            assert f"{fault.line}:{fault.column}" == then["at"]
        return
    selector = compiled(case)
    device = asked(case.get("given", ""))
    if "max_cost" in then:
        assert selector.program.max_cost == then["max_cost"]
    if "why" in then:
        assert selector.explain(device) == then["why"]
    if "match" in then or "error" in then:
        _judge(selector, DeviceView.of(device.id.driver, device.device), then)


def _judge(selector: Selector, view: DeviceView, then: dict[str, Any]) -> None:
    if "error" in then:
        with pytest.raises(EvaluationError) as raised:
            selector.decide(view)
        assert then["error"] in raised.value.text
        cost = raised.value.cost
    else:
        match, cost = selector.decide(view)
        assert match is then["match"]
    if "cost" in then:
        assert cost == then["cost"]
