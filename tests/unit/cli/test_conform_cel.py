"""`dibs conform cel`: the protocol, and lines that are no questions."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from dibs.cli import conform_cel

DEVICE = {"driver": "d", "attributes": {"x": {"int": 1}}, "capacity": {"m": {"value": " 1Gi "}}}


def asked(*lines: str) -> list[dict[str, Any]]:
    out = io.StringIO()
    assert conform_cel.run(io.StringIO("\n".join(lines)), out) == 0
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_question_is_answered() -> None:
    question = {"id": "q", "expr": 'device.attributes["d"].x == 1', "device": DEVICE}
    assert asked(json.dumps(question)) == [
        {
            "id": "q",
            "compile_error": None,
            "match": True,
            "runtime_error": None,
            "max_cost": 5,
            "actual_cost": 5,
        }
    ]


def test_a_device_that_cannot_be_shown_costs_nothing() -> None:
    device = {"driver": "d", "attributes": {"v": {"version": "x"}}}
    (answer,) = asked(json.dumps({"id": "q", "expr": "true", "device": device}))
    assert answer["runtime_error"].startswith("attribute v: parse semantic version")
    assert answer["actual_cost"] is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 1: not JSON"),
        ("[" * 100_000, "line 1: not JSON"),
        ("[]", "line 1: expected an object"),
        ('{"expr": 1}', "line 1: expr: expected a string"),
        ('{"expr": "true", "mood": 1}', "line 1: unknown key 'mood'"),
        ('{"expr": "true", "mode": "old"}', "line 1: mode: expected"),
        ('{"expr": "true", "features": {"x": true}}', "line 1: features: unknown key 'x'"),
        ('{"expr": "true", "device": {"color": 1}}', "line 1: device: unknown key 'color'"),
        ('{"expr": "true", "device": {"driver": 1}}', "line 1: device.driver: expected a string"),
        (
            '{"expr": "true", "device": {"capacity": {"m": {"value": "40GB"}}}}',
            "line 1: device:",
        ),
        ('{"expr": "true", "device": {"attributes": {"a": {"int": "1"}}}}', "line 1: device:"),
    ],
)
def test_a_malformed_line_is_a_mistake_and_the_next_is_read(line: str, message: str) -> None:
    mistake, answer = asked(line, '{"id": 7, "expr": "true"}')
    assert mistake["outcome"] == "mistake"
    assert mistake["message"].startswith(message)
    assert (answer["id"], answer["match"]) == (7, True)
