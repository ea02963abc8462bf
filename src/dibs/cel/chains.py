"""Chains of selections: `v.f["k"].?g`, resolved in one go and charged 1 for each step made.

The most frequent chain by far, a variable and constant names, is a nested dict look-up; only
when it fails is it walked step by step, to charge exactly what upstream charges and to say
which key is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dibs.cel import runtime
from dibs.cel.code import Code, Evaluate, Run
from dibs.cel.runtime import ABSENT, NONE, EvaluationError, Optional, Value

_KEYS = frozenset((bool, int, runtime.UInt, float, str))


def usable_key(key: Value) -> Value:
    """A key that something could be found under. Raises for a list, a version, null …"""
    if type(key) in _KEYS:
        return key
    raise EvaluationError(f"invalid qualifier type: {runtime.go_class(key)}")


@dataclass(frozen=True, slots=True)
class Step:
    """`.key`, `[key]`, and with `is_optional` `.?key`, `[?key]`. `computed` gives a dynamic key."""

    key: Value = None
    computed: Evaluate | None = None
    is_optional: bool = False


def of_variable(start: Evaluate, name: str | None, steps: Sequence[Step]) -> Code:
    """A chain that starts at a name; `start` fetches its value and charges nothing.

    With `name`, it is one of the run's variables and may be fetched directly.
    """
    keys = tuple(step.key for step in steps)
    is_plain = all(type(step.key) is str and not step.is_optional for step in steps)
    if name is not None and is_plain and all(step.computed is None for step in steps):
        if len(keys) == 3:
            return _of_three(start, name, keys, steps)
        return _of_names(start, name, keys, steps)

    def bare(run: Run) -> Value:
        return follow(run, start(run), steps)

    def run(run: Run) -> Value:
        run.cost += 1
        return follow(run, start(run), steps)

    return Code(run, bare)


def _of_three(start: Evaluate, name: str, keys: tuple[Value, ...], steps: Sequence[Step]) -> Code:
    """`device.attributes["d"].x`, the shape of nearly every selector."""
    first, second, third = keys

    def bare(run: Run) -> Value:
        try:
            value = run.variables[name][first][second][third]
        except (EvaluationError, TypeError, KeyError):
            return follow(run, start(run), steps)
        run.cost += 3
        return value

    def run(run: Run) -> Value:
        try:
            value = run.variables[name][first][second][third]
        except (EvaluationError, TypeError, KeyError):
            run.cost += 1
            return follow(run, start(run), steps)
        run.cost += 4
        return value

    return Code(run, bare)


def _of_names(start: Evaluate, name: str, keys: tuple[Value, ...], steps: Sequence[Step]) -> Code:
    count = len(keys)

    def bare(run: Run) -> Value:
        try:
            value = run.variables[name]
            for key in keys:
                value = value[key]
        except (EvaluationError, TypeError, KeyError):
            return follow(run, start(run), steps)
        run.cost += count
        return value

    def run(run: Run) -> Value:
        run.cost += 1
        return bare(run)

    return Code(run, bare)


def of_value(start: Code, steps: Sequence[Step]) -> Code:
    """A chain that starts from a call, a literal, a loop or a ternary."""
    if start.is_ternary:
        choose = start.bare

        def of_ternary(run: Run) -> Value:
            return follow(run, choose(run), steps)

        return Code(of_ternary, of_ternary, is_ternary=True)
    begin = start.run

    def bare(run: Run) -> Value:
        return follow(run, begin(run), steps)

    def run(run: Run) -> Value:
        try:
            return follow(run, begin(run), steps)
        finally:
            run.cost += 1

    return Code(run, bare)


def presence(start: Evaluate, steps: Sequence[Step], last: Step, discount: int) -> Evaluate:
    """`has(chain.last)`; `discount` is what upstream takes off again after a ternary."""

    def run(run: Run) -> Value:
        value, is_optional = _walk(run, start(run), steps, 1)
        try:
            if not is_optional:
                run.cost += 1
                return runtime.find(value, last.key) is not ABSENT
            is_there = value is not NONE and runtime.find(value, last.key) is not ABSENT
            run.cost += is_there
            return is_there
        finally:
            run.cost -= discount

    return run


def follow(run: Run, value: Value, steps: Sequence[Step]) -> Value:
    """Make the steps; once one is optional, so is the rest and the result."""
    value, is_optional = _walk(run, value, steps, 0)
    if not is_optional or value is NONE:
        return value
    return Optional(value)


def _walk(run: Run, value: Value, steps: Sequence[Step], more: int) -> tuple[Value, bool]:
    """Where the steps lead, and whether it is optional; `more` is how many steps will follow."""
    is_optional = type(value) is Optional
    if is_optional:
        if len(steps) + more == 0:
            return value, False
        if not value.present:
            return NONE, True
        value = value.value
    for step in steps:
        is_optional = is_optional or step.is_optional
        key = step.key
        if step.computed is not None:
            try:
                key = usable_key(step.computed(run))
            except EvaluationError:
                run.cost += not is_optional
                raise
        if is_optional:
            value = runtime.find(value, key)
            if value is ABSENT:
                return NONE, True
            run.cost += 1
        else:
            run.cost += 1
            value = runtime.lookup(value, key)
    return value, is_optional
