"""differences.md says what differences.yaml says, and upstream, if it's built, still differs so."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from conformance import answerers, known

from dibs.cli import conform
from dibs.testing import agree

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "cases" / "allocate"
DIFFERENCES = known.read()


@pytest.mark.parametrize("is_fixed", [False, True])
def test_the_tables_are_the_files(is_fixed: bool) -> None:
    wanted = known.table(each for each in DIFFERENCES if is_fixed is not bool(each.answers))
    assert wanted in (ROOT / "conformance" / "differences.md").read_text(), wanted


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda each: each.name)
def test_every_row_has_its_case(difference: known.Difference) -> None:
    assert case_of(difference)["then"]


@pytest.mark.slow
@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda each: each.name)
def test_upstream_differs_as_long_as_it_is_said(difference: known.Difference) -> None:
    program = answerers.upstream(None)
    if program is None:
        pytest.skip("upstream isn't built (make oracle)")
    asked = question_of(case_of(difference)["given"])
    ours = conform.answer(json.dumps(asked))
    upstream = answerers.Answerer([program])
    theirs = upstream.ask(asked)
    upstream.close()
    assert (agree.agree(ours, theirs) is not None) == bool(difference.answers)
    # A case is as small as it can be, but for what makes it readable.
    if difference.answers:
        assert difference.explains(asked, ours, theirs, is_smallest=True)


def case_of(difference: known.Difference) -> Mapping[str, Any]:
    file, _, name = difference.row["case"].partition(": ")
    cases = yaml.safe_load((CASES / f"{file}.yaml").read_text())
    found: Mapping[str, Any] = next(case for case in cases if case["name"] == name)
    return found


def question_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """As the runner of the cases makes it; it stands beside its tests."""
    sys.path.insert(0, str(ROOT / "tests" / "unit" / "allocate"))
    try:
        made: dict[str, Any] = importlib.import_module("allocate_questions").question(given)
    finally:
        sys.path.pop(0)
    return made
