"""Manifests and all that lint finds in them: `line:column code` each, nothing more."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import yaml

from dibs.client import dump
from dibs.lint import check, finding

CASES = Path(__file__).parents[2] / "cases" / "lint"
FILES = sorted(CASES.glob("*.yaml"))

# Faults no short manifest can show: the API server's own troubles, and a thousand of others.
UNSEEN = {"internal", "given-up"}


def found(text: str) -> tuple[finding.Finding, ...]:
    return check.check(dump.load(["-"], stdin=io.BytesIO(text.encode())))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_case(file: Path) -> None:
    case = yaml.safe_load(file.read_text())
    assert [f"{each.line}:{each.column} {each.code}" for each in found(case["given"])] == case[
        "finds"
    ]


def test_every_code_has_a_case() -> None:
    shown = {
        finds.split()[1] for file in FILES for finds in yaml.safe_load(file.read_text())["finds"]
    }
    assert {code for code, _, _ in check.codes()} - shown == UNSEEN
