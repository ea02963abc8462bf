"""Laws of the selector language: on any text and any device, an answer or a fault, nothing else."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from dibs.cel import CompileError, EvaluationError
from dibs.cel.parse import parse
from dibs.cel.unparse import unparse
from dibs.model.objects import Device, DeviceAttribute, DeviceCapacity
from dibs.request import phrases, selectors
from dibs.request.views import DeviceView
from dibs.values.quantity import Quantity

_TOKENS = (
    *("true", "false", "null", "1", "-1", "2u", "1.5", '"a"', "b'a'", "x", "device", ".driver"),
    *('.attributes["d"]', '.capacity["d"]', ".s", ".is", "[", "]", "(", ")", "{", "}", ",", ":"),
    *("?", ".?s", "&&", "||", "!", "-", "+", "*", "/", "%", "==", "!=", "<", ">=", "in", "dyn("),
    *(".all(x,", ".map(x,", ".exists_one(k, v,", ".size()", "has(", "cel.bind(x,", "[?0]", "'"),
    *('quantity("1")', 'semver("1.0.0")', ".compareTo(", ".includes(", ".orValue(", "optional.of("),
)

_leaves = st.sampled_from(
    (
        *("true", "false", "1", "0", "-7", "2u", "1.5", '"a"', '""', "b'a'", "null", "[]", "{}"),
        *("device", "device.driver", 'device.attributes["d"].s', 'device.attributes["d"].is'),
        *('device.attributes["d"].nope', 'device.capacity["d"].m', "device.attributes"),
        *('quantity("1.5Gi")', 'semver("1.2.3")', 'ip("::1")', 'duration("1s")', "int"),
    )
)
_SHAPES = (
    *("dyn({}) && dyn({})", "dyn({}) || dyn({})", "dyn({}) ? {} : {}", "!dyn({})", "-dyn({})"),
    *("dyn({}) == dyn({})", "dyn({}) != dyn({})", "dyn({}) < dyn({})", "dyn({}) in dyn({})"),
    *("dyn({}) + dyn({})", "dyn({}) % dyn({})", "[{}]", "{{'k': {}}}", "dyn({})[dyn({})]"),
    *("dyn({}).f", "dyn({}).?f", "has(dyn({}).f)", "dyn({}).all(x, dyn({}))"),
    *("dyn({}).map(x, {})", "dyn({}).filter(x, dyn({}))", "dyn({}).exists_one(x, x == {})"),
    *("dyn({}).transformMap(k, v, {})", "cel.bind(y, {}, dyn(y) == {})", "size(dyn({}))"),
    *("dyn({}).orValue({})", "optional.of({})", "dyn({}).includes({})", "string(dyn({}))"),
    *("dyn({}).matches(dyn({}))", "dyn({}).compareTo(dyn({}))", "dyn({}).sort()", "type({})"),
)


def _filled(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        *(
            st.tuples(*[parts] * shape.replace("{{", "").count("{}")).map(
                lambda inner, shape=shape: shape.format(*inner)
            )
            for shape in _SHAPES
        )
    )


expressions = st.recursive(_leaves, _filled, max_leaves=12)
soups = st.lists(st.sampled_from(_TOKENS), max_size=25).map(" ".join)

attributes = st.one_of(
    st.builds(DeviceAttribute, string=st.text(max_size=8)),
    st.builds(DeviceAttribute, int_=st.integers(-(2**63), 2**63 - 1)),
    st.builds(DeviceAttribute, bool_=st.booleans()),
    st.builds(DeviceAttribute, ints=st.lists(st.integers(0, 9), max_size=4).map(tuple)),
    st.builds(DeviceAttribute, strings=st.lists(st.text(max_size=3), max_size=4).map(tuple)),
    st.just(DeviceAttribute(version="1.2.3")),
    st.just(DeviceAttribute(version="no version")),
    st.just(DeviceAttribute()),
)
devices = st.builds(
    Device,
    attributes=st.dictionaries(st.sampled_from(("s", "is", "d/s", "e/x")), attributes),
    capacity=st.just({"m": DeviceCapacity(value=Quantity.parse("40Gi"))}),
)


def judged(text: str, device: Device) -> None:
    """Ask everything there is to ask; only the two errors that are meant may come of it."""
    view = DeviceView.of("d", device)
    try:
        selector = selectors.compile(text)
    except CompileError as error:
        faults = error.faults
    else:
        assert 0 <= selector.program.max_cost < 2**64
        assert phrases.of(selector.reason(view), view)
        answer, cost = outcome(selector, view)
        assert answer != ""
        assert cost >= 0
        return
    assert all(fault.message for fault in faults)


def outcome(selector: selectors.Selector, view: DeviceView) -> tuple[bool | str, int]:
    """(match or the text of the error, cost)."""
    try:
        return selector.decide(view)
    except EvaluationError as error:
        return error.text, error.cost


@given(st.text(max_size=60), devices)
def test_any_text_is_an_answer_or_a_fault(text: str, device: Device) -> None:
    judged(text, device)


@given(soups, devices)
def test_any_soup_of_tokens_is_an_answer_or_a_fault(text: str, device: Device) -> None:
    judged(text, device)


@given(expressions, devices)
def test_any_expression_is_an_answer_or_a_fault(text: str, device: Device) -> None:
    judged(f"dyn({text})", device)


@given(expressions)
def test_printing_is_undone_by_parsing(text: str) -> None:
    tree = parse(text)
    assert parse(unparse(tree)) == tree


@given(expressions, devices, attributes)
def test_equal_projections_have_equal_answers(
    text: str, one: Device, unread: DeviceAttribute
) -> None:
    try:
        selector = selectors.compile(f"dyn({text})")
    except CompileError:
        return
    # Hardly an expression reads it, so that the projections are mostly equal.
    other = msgspec.structs.replace(one, attributes={**one.attributes, "f/unread": unread})
    first, second = DeviceView.of("d", one), DeviceView.of("d", other)
    if selector.seen(first) == selector.seen(second):
        assert outcome(selector, first) == outcome(selector, second)
