"""`conform` line by line: answers, mistakes with their place, and that it always goes on."""

from __future__ import annotations

import io
import json

import pytest

from dibs.cli import conform

NODE = {"metadata": {"name": "node-a"}}
SLICE = {
    "metadata": {"name": "s"},
    "spec": {
        "driver": "gpu.example.com",
        "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        "nodeName": "node-a",
        "devices": [{"name": "gpu-0", "allowMultipleAllocations": True}],
    },
}
CLASS = {"metadata": {"name": "gpu"}, "spec": {}}
CLAIM = {
    "metadata": {"name": "c", "namespace": "default"},
    "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}},
}
QUESTION: dict[str, object] = {
    "id": "q",
    "node": NODE,
    "slices": [SLICE],
    "classes": [CLASS],
    "claims": [CLAIM],
}


def ask(**changes: object) -> dict[str, object]:
    return conform.answer(json.dumps({**QUESTION, **changes}), 7)


def test_an_answer_is_as_the_protocol_has_it() -> None:
    assert ask() == {
        "id": "q",
        "outcome": "allocated",
        "allocations": [
            {
                "devices": {
                    "results": [
                        {
                            "request": "r",
                            "driver": "gpu.example.com",
                            "pool": "p",
                            "device": "gpu-0",
                            "shareID": "share-1",
                        }
                    ]
                },
                "nodeSelector": {
                    "nodeSelectorTerms": [
                        {
                            "matchFields": [
                                {"key": "metadata.name", "operator": "In", "values": ["node-a"]}
                            ]
                        }
                    ]
                },
            }
        ],
    }


def test_a_refusal_has_its_tree() -> None:
    answer = ask(claims=[{**CLAIM, "spec": {"devices": {"requests": [two()]}}}])
    assert answer["outcome"] == "refused"
    assert answer["message"] == "claim default/c, request r: 2 devices wanted, 1 of 1 fit"
    assert answer["reasons"] == [
        {
            "claim": "default/c",
            "request": "r",
            "wanted": 2,
            "candidates": 1,
            "fit": 1,
            "devices": [],
        }
    ]


def two() -> dict[str, object]:
    return {"name": "r", "exactly": {"deviceClassName": "gpu", "count": 2}}


def test_an_error_is_told_apart_from_a_refusal() -> None:
    answer = ask(classes=[])
    assert answer["outcome"] == "error"
    assert "could not retrieve device class gpu" in str(answer["message"])


def test_timing_is_added_on_request() -> None:
    answer = conform.answer(json.dumps(QUESTION), timing=True)
    assert float(str(answer["elapsed_ms"])) >= 0


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("{", "line 7: not JSON: "),
        ("[" * 100_000, "line 7: nested too deeply"),
        ("9" * 5_000, "line 7: not JSON that can be read"),
        ("[]", "line 7: a question is an object, not a list"),
        ("{}", "line 7: node: required"),
        ('{"id": NaN}', "line 7: NaN is no JSON number"),
        ('{"id": "a", "id": "b"}', "line 7: id: this key stands twice in one object"),
        (b"\xff", "line 7: not UTF-8"),
        ('{"ids": 1}', "line 7: ids: unknown field; known are id, features"),
    ],
)
def test_a_line_that_is_no_question(line: str | bytes, expected: str) -> None:
    answer = conform.answer(line, 7)
    assert answer["outcome"] == "mistake"
    assert str(answer["message"]).startswith(expected)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"features": {"gangs": True}}, "features.gangs: unknown feature"),
        ({"features": {"adminAccess": "yes"}}, "features.adminAccess: a boolean, not text"),
        ({"features": []}, "features: an object of booleans, not a list"),
        ({"claims": {}}, "claims: a list, not an object"),
        ({"claims": None}, "claims: required"),
        ({"node": []}, "node"),
        ({"slices": [{"spec": {"drivr": "x"}}]}, "slices[0].spec.drivr"),
        ({"slices": [{"kind": "Node"}]}, "slices[0]"),
        (
            {"claims": [{"spec": {"devices": {"requests": [{"exactly": {"count": "four"}}]}}}]},
            "claims[0].spec.devices.requests[0].exactly.count",
        ),
        ({"id": 7}, "id: text, not a number"),
        ({"timeout_s": 0}, "timeout_s: a number of seconds"),
        ({"timeout_s": True}, "timeout_s: a number of seconds"),
    ],
)
def test_a_question_with_a_mistake_in_it(changes: dict[str, object], expected: str) -> None:
    answer = ask(**changes)
    assert answer["outcome"] == "mistake", answer
    assert str(answer["message"]).startswith(f"line 7: {expected}")


def test_a_bad_line_doesnt_end_the_conversation() -> None:
    lines = ["{\n", "\n", json.dumps(QUESTION) + "\n"]
    out = io.StringIO()
    assert conform.run(lines, out) == 0
    answers = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [answer["outcome"] for answer in answers] == ["mistake", "allocated"]
    assert answers[0]["message"].startswith("line 1: ")


def test_features_switch_checks_off() -> None:
    tainted = json.loads(json.dumps(SLICE))
    tainted["spec"]["devices"][0]["taints"] = [{"key": "k", "effect": "NoSchedule"}]
    assert ask(slices=[tainted])["outcome"] == "refused"
    assert ask(slices=[tainted], features={"deviceTaints": False})["outcome"] == "allocated"
