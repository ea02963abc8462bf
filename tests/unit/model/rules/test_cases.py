"""Every case of tests/cases/rules: an object, what is done with it, the faults that are found.

A file has a `base` object, and cases that change it: `given` maps JSON pointers to values (null
takes the field away), `was` likewise makes the old object. `when` is create (the default), update,
status or found. `then` lists the faults in order of the API; an expectation that ends in `…` is
the beginning of one. `{repeat: n, of: x}` is a list of n, numbered where `#` stands; `{long: n}`
a text of n characters.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from dibs.model import kinds, rules
from dibs.model.kinds import Known
from dibs.values.quantity import Quantity

CASES = Path(__file__).parents[3] / "cases" / "rules"


@dataclass(frozen=True)
class Case:
    name: str
    base: dict[str, Any]
    given: Mapping[str, Any]
    was: Mapping[str, Any] | None
    when: str
    world: Mapping[str, Any]
    then: list[str]

    def __str__(self) -> str:
        return self.name


def cases() -> Iterator[Case]:
    for path in sorted(CASES.glob("*.yaml")):
        read = yaml.safe_load(path.read_text())
        for case in read["cases"]:
            yield Case(
                f"{path.stem}: {case['case']}",
                read["base"],
                case.get("given") or {},
                case.get("was"),
                case.get("when", "create"),
                case.get("world") or {},
                case.get("then") or [],
            )


@pytest.mark.parametrize("case", list(cases()), ids=str)
def test_case(case: Case) -> None:
    found = [str(fault) for fault in judged(case)]
    expected = [
        fault if wanted.endswith("…") and fault.startswith(wanted[:-1]) else wanted
        for wanted, fault in zip(case.then, found + [""] * len(case.then), strict=False)
    ]
    assert found == expected


def judged(case: Case) -> tuple[rules.FieldFault, ...]:
    new = made(case.base, case.given)
    old = made(case.base, case.was or {})
    context = world(case.world)
    match case.when:
        case "create":
            return rules.validate(new, context=context)
        case "update":
            return rules.validate(new, old, context=context)
        case "status":
            return rules.validate_status(new, old, context=context)
        case "found":
            return rules.validate_as_found(new, context=context)
    raise AssertionError(case.when)


def world(facts: Mapping[str, Any]) -> rules.Context:
    """`refused`: expression → [type, detail]; `costs`: of derived attributes; `admin`: who may."""
    refused = {
        text: rules.SelectorFault(rules.FaultType(kind), detail)
        for text, (kind, detail) in facts.get("refused", {}).items()
    }
    costs = facts.get("costs", {})
    admin = facts.get("admin")
    return rules.Context(
        compile_selector=refused.get,
        derived_cost=lambda text: refused.get(text) or costs.get(text, 1),
        admin_access=None if admin is None else admin.get,
    )


def made(base: dict[str, Any], changes: Mapping[str, Any]) -> Known:
    tree = copy.deepcopy(base)
    for pointer, value in changes.items():
        *way, last = (part.replace("~1", "/") for part in pointer.split("/")[1:])
        place: Any = tree
        for part in way:
            place = place[int(part)] if isinstance(place, list) else place.setdefault(part, {})
        if isinstance(place, list):
            place[int(last) : int(last) + 1] = [] if value is None else [expanded(value)]
        elif value is None:
            place.pop(last, None)
        else:
            place[last] = expanded(value)
    (kind,) = (kind for kind in kinds.KINDS if kind.name == tree["kind"])
    fields = {key: value for key, value in tree.items() if key not in ("kind", "apiVersion")}
    read: Known = msgspec.convert(fields, kind.struct, dec_hook=quantity)
    return read


def expanded(value: Any) -> Any:
    match value:
        case {"long": int(length)}:
            return "x" * length
        case {"repeat": int(count), "of": item}:
            return [expanded(numbered(item, index)) for index in range(count)]
        case {"repeat": int(count), "entries": item}:
            return {f"n{index}": expanded(item) for index in range(count)}
        case dict():
            return {key: expanded(item) for key, item in value.items()}
        case list():
            return [expanded(item) for item in value]
    return value


def numbered(value: Any, index: int) -> Any:
    match value:
        case str():
            return value.replace("#", str(index))
        case dict():
            return {key: numbered(item, index) for key, item in value.items()}
        case list():
            return [numbered(item, index) for item in value]
    return value


def quantity(wanted: type, value: Any) -> Any:
    assert wanted is Quantity, wanted
    return Quantity.parse(str(value))
