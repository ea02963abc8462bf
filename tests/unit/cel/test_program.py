"""What a program offers beside its answer, and how errors present themselves."""

from __future__ import annotations

import pytest
from selector_cases import asked

from dibs.cel import CompileError, Span
from dibs.cel.parse import parse
from dibs.cel.unparse import unparse
from dibs.request import selectors
from dibs.request.views import DeviceView


def test_a_compile_error_shows_each_fault_with_a_caret() -> None:
    with pytest.raises(CompileError) as raised:
        selectors.compile("device.drver ==\n\t1 + true")
    assert str(raised.value) == (
        "compilation failed: ERROR: <input>:1:7: undefined field 'drver'\n"
        " | device.drver ==\n"
        " | ......^\n"
        "ERROR: <input>:2:4: found no matching overload for '_+_' applied to '(int, bool)'\n"
        " |  1 + true\n"
        " | ...^"
    )
    assert [fault.is_syntax for fault in raised.value.faults] == [False, False]
    assert raised.value.faults[0].span == Span(0, 12)


def test_a_fault_of_the_whole_has_no_snippet() -> None:
    with pytest.raises(CompileError) as raised:
        selectors.compile("(" * 300 + "true" + ")" * 300)
    text = "compilation failed: ERROR: <input>:-1:0: expression recursion limit exceeded: 250"
    assert str(raised.value) == text


def test_why_has_the_deciding_part_and_its_operands() -> None:
    expression = 'device.driver == "gpu.example.com" && device.capacity["gpu.example.com"].memory'
    expression += '.compareTo(quantity("80Gi")) >= 0'
    why = selectors.compile(expression).why(asked("gpu"))
    assert why.verdict == "false"
    assert expression[why.span.start : why.span.end] == why.text
    assert why.text.startswith('device.capacity["gpu.example.com"].memory')
    assert [(seen.text, seen.value) for seen in why.operands] == [
        ('device.capacity["gpu.example.com"].memory', "40Gi"),
        ('quantity("80Gi")', "80Gi"),
    ]


def test_an_error_points_at_the_part_that_failed() -> None:
    expression = 'device.driver != "" && device.attributes["gpu.example.com"].nope == 1'
    why = selectors.compile(expression).why(asked("gpu"))
    assert (why.verdict, why.text) == ("error", 'device.attributes["gpu.example.com"].nope')


def test_equal_devices_have_one_projection() -> None:
    selector = selectors.compile('device.attributes["gpu.example.com"].index == 2')
    assert selector.projection(asked("gpu")) == selector.projection(asked("gpu"))
    assert selector.projection(asked("gpu")) != selector.projection(asked("two-spellings"))
    assert selector.projection(asked("bad-version")) != selector.projection(asked("shared"))


def test_a_view_is_made_once_for_a_device() -> None:
    device = asked("gpu").device
    assert DeviceView.of("d", device) is DeviceView.of("d", device)


def test_the_hint_comes_with_missing_keys_only() -> None:
    assert "optional chaining" in selectors.with_hint("no such key: x")
    assert selectors.with_hint("division by zero") == "division by zero"


@pytest.mark.parametrize(
    "text",
    [
        "a && b && c && d",
        "(a && b) && (c && (d || e))",
        "a ? b : c ? d : e",
        "(a ? b : c) ? d : e",
        "-(1) - (2 - 3) * 4",
        "!(!a) || -(-b) == 1u",
        "a.?b[?1].c[d] in [?e, 1]",
        "{?a: b, 'c': \"d\\n\"} != {}",
        "x.map(v, v > 1, has(v.w)).exists(k, w, k == w)",
        "cel.bind(a, b, o.optMap(c, c + 1).sortBy(e, -e))",
        "google.protobuf.Duration{seconds: 1}",
        "b'\\xff' == b\"a\" && 1.5e300 > .5",
    ],
)
def test_printing_is_undone_by_parsing(text: str) -> None:
    tree = parse(text)
    assert parse(unparse(tree)) == tree
