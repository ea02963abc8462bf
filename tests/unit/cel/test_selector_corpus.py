"""Upstream's own answers to 6,733 questions: all equal, costs to the unit, errors by presence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dibs.cli import conform_cel


@pytest.mark.slow
def test_all_answers_are_upstreams(shared: Path) -> None:
    path = shared / "vectors" / "cel.jsonl"
    if not path.is_file():
        pytest.skip(f"no corpus: {path} is not there")
    asked, different = 0, []
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            pair = json.loads(line)
            asked += 1
            wanted = comparable(pair["answer"])
            got = comparable(conform_cel.answer(pair["question"]))
            if got != wanted:
                different.append((pair["question"]["id"], pair["question"]["expr"], wanted, got))
    assert asked > 6000
    assert different == []


def comparable(answer: dict[str, Any]) -> dict[str, Any]:
    """Texts of errors are compared only for being there or not."""
    texts = ("compile_error", "runtime_error")
    shown = {key: bool(answer[key]) for key in texts}
    return shown | {key: answer[key] for key in ("match", "max_cost", "actual_cost")}
