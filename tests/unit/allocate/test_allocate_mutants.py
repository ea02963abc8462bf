"""Each check is needed: without it some case is decided otherwise."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import pytest
import test_allocate_cases as cases

from dibs.allocate import checks

CASES = [parameters.values[0] for parameters in cases.cases()]  # type: ignore[attr-defined]

# CPU and memory drawn through devices are decided with the Pod: the cases are schedule's.
ELSEWHERE = {"supplied", "supplied_alone"}


def names() -> Iterator[str]:
    for name, function in inspect.getmembers(checks, inspect.isfunction):
        is_own = function.__module__ == checks.__name__
        if is_own and function.__annotations__.get("return") == "Reason | None":
            if name not in {"first", *ELSEWHERE}:
                yield name


@pytest.mark.slow
@pytest.mark.parametrize("name", list(names()))
def test_without_a_check_some_case_fails(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, name, lambda *_: None)
    assert any(is_decided_otherwise(case) for case in CASES)


def is_decided_otherwise(case: object) -> bool:
    try:
        cases.test_case(case)  # type: ignore[arg-type]
    except (AssertionError, LookupError, TypeError):
        return True
    return False


def test_all_checks_are_looked_at() -> None:
    assert len(list(names())) >= 18
