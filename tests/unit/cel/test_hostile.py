"""Expressions written to hurt: each ends quickly, in an answer or a fault, never in a crash."""

from __future__ import annotations

import sys

import pytest
from selector_cases import asked

from dibs.cel import CompileError, EvaluationError
from dibs.request import selectors
from dibs.request.views import DeviceView

_NUMBERS = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
_TENFOLD = "+".join(["{0}"] * 10)

HOSTILE = {
    "a million parentheses": "(" * 1_000_000,
    "unclosed parentheses": "(" * 99_999,
    "brackets": "[" * 99_999,
    "braces": "{" * 99_999,
    "nested maps": '{"a":' * 240 + "1" + "}" * 240 + " == {}",
    "negations": "!" * 99_990 + "true",
    "questions": "true?" * 19_000,
    "quotes": '"' * 99_999,
    "triple quotes": "'''a" * 24_000,
    "raw quotes": "r'''" * 24_000,
    "bad escapes": '"\\q' * 33_000,
    "selections": "a" + ".a" * 49_000,
    "commas": "[" + "," * 90_000,
    "conjunctions": " && ".join(["true"] * 12_000),
    "sums": "1" + "+1" * 49_000,
    "digits": "9" * 99_999,
    "exponent": f"1e{'9' * 90_000} > 0.0",
    "hexadecimal": f"0x{'f' * 99_000} > 0",
    "open class": '"a".matches("[^")',
    "large repeat": 'device.driver.matches("((a{100}){100}){100}")',
    "catastrophic pattern": f'"{"a" * 5000}".matches("(a*)*(a*)*(a*)*b")',
    "large range": "lists.range(1000000000000).size() == 1",
    "range in a loop": "lists.range(900000).map(x, x).size() == 1",
    "large exponent": 'quantity("1e100000000").isGreaterThan(quantity("1"))',
    "long quantity": f'quantity("{"9" * 9000}").isGreaterThan(quantity("1"))',
    "nested macros": "[1].all(x, " * 249 + "true" + ")" * 249,
    "nested bindings": "cel.bind(x, 1, " * 240 + "true" + ")" * 240,
    "doubling text": (
        'cel.bind(a, "xxxxxxxxxx", cel.bind(b, '
        + _TENFOLD.format("a")
        + ", cel.bind(c, "
        + _TENFOLD.format("b")
        + ", cel.bind(d, "
        + _TENFOLD.format("c")
        + ", cel.bind(e, "
        + _TENFOLD.format("d")
        + ", cel.bind(f, "
        + _TENFOLD.format("e")
        + ', f != "")))))) '
    ),
    "large format": '"%.100000000f".format([1.0]).size() > 0',
    "large replacement": f'"{"a" * 5000}".replace("", "{"b" * 2000}").replace("", "c").size() > 0',
    "chained optMap": "optional.of(1)" + ".optMap(v, v)" * 240 + ".hasValue()",
    "surrogate": "\ud800 == 1",
    "null byte": "\x00",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_ends_in_an_answer_or_a_fault(name: str) -> None:
    device = asked("gpu")
    view = DeviceView.of(device.id.driver, device.device)
    try:
        selector = selectors.compile(HOSTILE[name])
    except CompileError as error:
        fault = str(error)
    else:
        assert selector.program.max_cost >= 0
        assert cost_of(selector, view) >= 0
        assert selector.explain(device)
        return
    assert fault


def cost_of(selector: selectors.Selector, view: DeviceView) -> int:
    try:
        return selector.decide(view)[1]
    except EvaluationError as error:
        return error.cost


@pytest.mark.slow
def test_a_costly_loop_is_stopped_at_the_limit() -> None:
    expression = "".join(f"{_NUMBERS}.all(x{level}, " for level in range(7)) + "true" + ")" * 7
    selector = selectors.compile(expression)
    assert selector.program.max_cost > 1_000_000
    device = asked("gpu")
    with pytest.raises(EvaluationError) as raised:
        selector.decide(DeviceView.of(device.id.driver, device.device))
    assert (raised.value.text, raised.value.cost) == (
        "operation cancelled: actual cost limit exceeded",
        1_000_001,
    )


def test_a_long_expression_of_admissible_size_compiles() -> None:
    expression = " || ".join(f'device.driver == "d{number}.example.com"' for number in range(250))
    assert len(expression) > 9_000
    device = asked("gpu")
    selector = selectors.compile(expression)
    assert selector.decide(DeviceView.of(device.id.driver, device.device))[0] is False


def test_the_stack_is_never_narrowed() -> None:
    before = sys.getrecursionlimit()
    selectors.compile("true")
    assert sys.getrecursionlimit() >= before
