"""`dibs conform cel`: questions about expressions in, answers out, one JSON object a line.

Answers match upstream's evaluator (conformance protocol, "the selector language"). A question that
is malformed gets an answer of outcome "mistake" and the next line is read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import IO, Any

import msgspec

from dibs.cel.faults import CompileError
from dibs.cel.runtime import EvaluationError
from dibs.model import objects
from dibs.request import selectors, views
from dibs.supply.features import Features
from dibs.values.mistake import Mistake
from dibs.values.quantity import Quantity

_KEYS = frozenset(("id", "expr", "mode", "features", "device"))
_GATES = {
    "consumableCapacity": "consumable_capacity",
    "listTypeAttributes": "list_type_attributes",
}
_DEVICE_KEYS = frozenset(("driver", "allowMultipleAllocations", "attributes", "capacity"))
# A line larger than this is no question: expressions have at most 100 000 characters.
MOST_CHARACTERS = 16_000_000


def run(stdin: IO[str], stdout: IO[str]) -> int:
    """Answer line by line until the end of input. Returns the exit code."""
    for number, line in enumerate(stdin, 1):
        if line.strip():
            stdout.write(json.dumps(answer_line(line, number), ensure_ascii=False) + "\n")
            stdout.flush()
    return 0


def answer_line(line: str, number: int = 1) -> dict[str, Any]:
    """Answer one line; never raises for what is in it."""
    question: Any = None
    try:
        question = _decoded(line)
        return answer(question)
    except Mistake as mistake:
        named = question.get("id") if isinstance(question, dict) else None
        return {"id": named, "outcome": "mistake", "message": f"line {number}: {mistake}"}


def _decoded(line: str) -> Any:
    if len(line) > MOST_CHARACTERS:
        raise Mistake(f"longer than {MOST_CHARACTERS} characters")
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Mistake(f"not JSON: {error}") from None


def answer(question: Mapping[str, Any]) -> dict[str, Any]:
    """Compile and evaluate as asked. Raises `Mistake` for a malformed question."""
    _only(question, _KEYS, "")
    expression = question.get("expr")
    if not isinstance(expression, str):
        raise Mistake("expected a string", path="expr", value=expression)
    found: dict[str, Any] = {
        "id": question.get("id"),
        "compile_error": None,
        "match": None,
        "runtime_error": None,
        "max_cost": None,
        "actual_cost": None,
    }
    mode, features = _mode(question.get("mode", "stored")), _features(question.get("features"))
    view = _view(question.get("device") or {})
    try:
        selector = selectors.compile(expression, mode, features)
    except CompileError as error:
        found["compile_error"] = str(error)
        return found
    found["max_cost"] = selector.program.max_cost
    try:
        found["match"], found["actual_cost"] = selector.decide(view)
    except EvaluationError as error:
        found["runtime_error"] = error.text
        # Nothing is charged when the device itself cannot be shown to the expression.
        found["actual_cost"] = None if view.fault else error.cost
    return found


def _only(given: object, known: frozenset[str], path: str) -> None:
    if not isinstance(given, Mapping):
        raise Mistake("expected an object", path=path, value=given)
    for key in given:
        if key not in known:
            raise Mistake(
                f"unknown key {key!r}",
                path=path,
                value=key,
                remedy=f"known: {', '.join(sorted(known))}",
            )


def _mode(given: object) -> selectors.Mode:
    if given not in ("stored", "new"):
        raise Mistake('expected "stored" or "new"', path="mode", value=given)
    return selectors.Mode(given)


def _features(given: object) -> Features:
    if given is None:
        return Features()
    _only(given, frozenset(_GATES), "features")
    assert isinstance(given, Mapping)
    for key, value in given.items():
        if not isinstance(value, bool):
            raise Mistake("expected true or false", path=f"features.{key}", value=value)
    return Features(**{_GATES[key]: value for key, value in given.items()})


def _view(given: object) -> views.DeviceView:
    _only(given, _DEVICE_KEYS, "device")
    assert isinstance(given, Mapping)
    fields = {key: value for key, value in given.items() if key != "driver" and value is not None}
    driver = given.get("driver") or ""
    if not isinstance(driver, str):
        raise Mistake("expected a string", path="device.driver", value=driver)
    try:
        device = msgspec.convert(fields, objects.Device, dec_hook=_read_quantity)
    except msgspec.ValidationError as error:
        raise Mistake(str(error), path="device") from None
    return views.DeviceView.of(driver, device)


def _read_quantity(kind: type, value: object) -> object:
    assert kind is Quantity, f"the only field type that msgspec doesn't know, not {kind}"
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise ValueError("expected a quantity")
    # The API trims blanks around a quantity; CEL's quantity() does not.
    return Quantity.parse(str(value).strip())
