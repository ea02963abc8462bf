"""Expressions that upstream charges little and that would take minutes, hours or all memory."""

from __future__ import annotations

import re

import pytest

from dibs.cel.environment import Environment
from dibs.cel.libraries import ALL
from dibs.cel.program import compile_expression
from dibs.cel.runtime import CostLimitExceeded, EvaluationError

ENVIRONMENT = Environment.of(ALL)
LOOP = "lists.range(100000).all(i, {})"


def shared(seed: str, body: str, levels: int = 40) -> str:
    """`z` in the body is a list of two lists of two … that share all their parts."""
    return _bound(seed, body, levels, "[v{0}, v{0}]")


def grown(seed: str, body: str, levels: int) -> str:
    """`z` in the body is the seed, doubled so many times by calls that cost 1."""
    return _bound(f"dyn({seed})", body, levels, "dyn(v{0}) + dyn(v{0})")


def _bound(seed: str, body: str, levels: int, step: str) -> str:
    text = re.sub(r"\bz\b", f"v{levels}", body)
    for level in range(levels, 0, -1):
        text = f"cel.bind(v{level}, {step.format(level - 1)}, {text})"
    return f"cel.bind(v0, {seed}, {text})"


BROKEN_OFF = {
    "formatting what is shared": shared("dyn(1)", '"%s".format([z]) == ""'),
    "traversing what is shared": shared("dyn([])", "dyn(z).isSorted()"),
    "flattening what is shared": shared("dyn(1)", "dyn(z).flatten(100).size() == 1"),
    "a string of 2^60": grown('"a"', "size(z) > 0", 60),
    "a list of 2^60": grown("[1]", "size(z) > 0", 60),
    "lists made again and again": grown("[1]", LOOP.format("size(z + z) > 0"), 18),
    "long searches for a number": grown("[1]", LOOP.format("!(dyn(1.5) in z)"), 18),
    "long searches for a string": grown('["a"]', LOOP.format('!("b" in z)'), 18),
    "sets of many": grown("[1.5]", LOOP.format("sets.contains(z, z)"), 12),
    "an automaton that explodes": grown(
        '"abaaaabb"', LOOP.format('!z.matches("(a|b)*a(a|b){1000}c")'), 10
    ),
    "matches that look far ahead": grown('"aaaa"', 'z.findAll("a.*b|a").size() > 0', 12),
    "a pattern each turn": LOOP.format('!"x".matches("(a|b){1000}" + string(i))'),
    "a zone each turn": LOOP.format('timestamp(0).getHours("A/" + string(i)) == 1 || true'),
    "replacing by the whole": grown('"aaaaaaaa"', 'z.replace("", string(z)).size() > 0', 12),
    "joining by the whole": grown(
        '"aaaaaaaa"', 'string(z).split("").join(string(z)).size() > 0', 12
    ),
    "a range of a billion": "lists.range(1000000000).size() > 0",
    "a billion digits": '"%.999999999f".format([1.0]) == ""',
}


@pytest.mark.slow
@pytest.mark.parametrize("expression", BROKEN_OFF.values(), ids=BROKEN_OFF)
def test_broken_off(expression: str) -> None:
    program = compile_expression(expression, ENVIRONMENT)
    with pytest.raises(CostLimitExceeded):
        program.evaluate({})


ANSWERED = {
    "comparing what is shared": shared("dyn(1)", "dyn(z) == dyn(z)"),
    "comparing what is equal": shared("[1].map(x, x)", "[z] == [z]"),
    "comparing maps": shared('{"a": 1}', '{"k": z} == {"k": z}'),
    "a hundred million zeros": 'quantity("1e100000000").isGreaterThan(quantity("1"))',
    "searching backwards": grown(
        '"aaaaaaaa"', 'z.lastIndexOf("a" + "b" + string(z).substring(100)) == -1', 12
    ),
}


@pytest.mark.parametrize("expression", ANSWERED.values(), ids=ANSWERED)
def test_answered_at_once(expression: str) -> None:
    assert compile_expression(expression, ENVIRONMENT).evaluate({})[0] is True


@pytest.mark.slow
def test_one_evaluation_does_not_use_up_the_next() -> None:
    heavy = compile_expression(grown("[1]", "!(dyn(1.5) in z)", 18), ENVIRONMENT)
    for _ in range(9):
        assert heavy.evaluate({})[0] is True


def test_the_end_is_not_absorbed() -> None:
    program = compile_expression("lists.range(1000000000).size() > 0 || true", ENVIRONMENT)
    with pytest.raises(EvaluationError, match="cost limit exceeded"):
        program.evaluate({})
