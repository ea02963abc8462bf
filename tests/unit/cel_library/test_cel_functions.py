"""Runs tests/cases/cel_library: `[function, [arguments], result]`, one a line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import values_in_yaml
import yaml

from dibs.cel import runtime
from dibs.cel.declare import Overload
from dibs.cel.libraries import ALL

CASES = Path(__file__).parents[2] / "cases" / "cel_library"
OVERLOADS = [overload for library in ALL for overload in library.overloads]


def _cases() -> list[Any]:
    return [
        pytest.param(*case, id=f"{path.stem}-{number}-{case[0]}")
        for path in sorted(CASES.glob("*.yaml"))
        for number, case in enumerate(yaml.safe_load(path.read_text(encoding="utf-8")))
    ]


def fitting(name: str, args: list[runtime.Value]) -> Overload | None:
    """The overload a dynamic call would take: the first whose parameters fit."""
    for overload in OVERLOADS:
        if overload.function == name and len(overload.params) == len(args):
            if all(map(runtime.fits, args, overload.params)):
                return overload
    return None


def typed(value: runtime.Value) -> Any:
    """Something that is equal only for equal values of the same types."""
    if isinstance(value, tuple):
        return tuple(map(typed, value))
    if isinstance(value, runtime.Map):
        return {typed(key): typed(runtime.lookup(value, key)) for key in runtime.keys_of(value)}
    if isinstance(value, runtime.Optional):
        return ("optional", value.present, typed(value.value))
    return type(value), value


@pytest.mark.parametrize(("name", "args", "wanted"), _cases())
def test_function(name: str, args: list[Any], wanted: Any) -> None:
    values = [values_in_yaml.read(arg) for arg in args]
    overload = fitting(name, values)
    if wanted == {"error": "no such overload"} and overload is None:
        return
    assert overload is not None, f"{name} takes none of {values}"
    if isinstance(wanted, dict) and "error" in wanted:
        with pytest.raises(runtime.EvaluationError) as raised:
            overload.call(*values)
        assert wanted["error"] in raised.value.text
    else:
        got = overload.call(*values)
        assert typed(got) == typed(values_in_yaml.read(wanted))
