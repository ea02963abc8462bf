"""Every case of tests/cases/codec: a text, the faults that are found in it, what becomes of it.

`faults` are `line:column kind path: message; remedy`, in order; one that ends in `…` is the
beginning. `then` holds the trees of the objects that were made, in v1; where it is missing they
are not looked at. `skipped` counts the kinds that are not ours.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from dibs.client import dump
from dibs.model import codec
from dibs.model.faults import Fault

CASES = Path(__file__).parents[2] / "cases" / "codec"


@dataclass(frozen=True)
class Case:
    name: str
    given: str
    faults: list[str]
    then: list[dict[str, Any]] | None
    skipped: dict[str, int]

    def __str__(self) -> str:
        return self.name


def cases() -> Iterator[Case]:
    for path in sorted(CASES.glob("*.yaml")):
        for case in yaml.safe_load(path.read_text())["cases"]:
            yield Case(
                f"{path.stem}: {case['case']}",
                case["given"],
                case.get("faults", []),
                case.get("then"),
                case.get("skipped", {}),
            )


@pytest.mark.parametrize("case", list(cases()), ids=str)
def test_case(case: Case) -> None:
    loaded = dump.load(["-"], stdin=io.BytesIO(case.given.encode()))
    told = [said(fault) for fault in loaded.faults]
    assert [shortened(*pair) for pair in zip(told, case.faults, strict=False)] == case.faults
    assert len(told) == len(case.faults), told[len(case.faults) :]
    if case.then is not None:
        assert [codec.encode(item, "v1") for item in loaded.objects] == case.then
    assert loaded.skipped == case.skipped


def said(fault: Fault) -> str:
    then = f"; {fault.remedy}" if fault.remedy else ""
    return f"{fault.line}:{fault.column} {fault.kind} {fault.path}: {fault.message}{then}"


def shortened(told: str, expected: str) -> str:
    """What was told, cut where the expectation ends in `…`."""
    beginning = expected.removesuffix("…")
    return f"{beginning}…" if expected != beginning and told.startswith(beginning) else told
