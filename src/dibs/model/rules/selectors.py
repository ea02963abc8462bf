"""The rules of CEL expressions: those of selectors and those of derived attributes (KEP-6080).

The compiler is asked through `Context`; here is only what is checked around it.
"""

from __future__ import annotations

from dibs.model.objects import DeviceSelector
from dibs.model.rules import faults, fields, limits
from dibs.model.rules.context import Context, SelectorFault
from dibs.model.rules.faults import FaultType, FieldFault
from dibs.model.rules.fields import Faults
from dibs.values import names

_TOO_COMPLEX = "too complex, exceeds cost limit"


def selectors(
    items: tuple[DeviceSelector, ...], path: str, context: Context, *, is_stored: bool = False
) -> Faults:
    """Stored expressions are not compiled again: limits may have tightened since."""

    def check(item: DeviceSelector, here: str) -> Faults:
        if item.cel is None:
            yield faults.required(f"{here}.cel")
        elif not is_stored:
            yield from _selector(item.cel.expression, f"{here}.cel.expression", context)

    yield from fields.each(items, path, limits.SELECTORS, check)


def derived(expression: str, path: str, context: Context) -> tuple[int, tuple[FieldFault, ...]]:
    """Return the estimated cost of one derived attribute, and its faults."""
    if not expression:
        return 0, (faults.required(path),)
    if names.size(expression) > limits.EXPRESSION_LENGTH:
        return 0, (faults.too_long(path, limits.EXPRESSION_LENGTH),)
    answer = context.derived_cost(expression)
    if isinstance(answer, SelectorFault):
        return 0, (_told(answer, expression, path),)
    if answer > min(limits.EXPRESSION_COST, limits.DERIVED_COST):
        return answer, (faults.forbidden(path, _TOO_COMPLEX),)
    return answer, ()


def _selector(expression: str, path: str, context: Context) -> Faults:
    if not expression:
        yield faults.required(path)
    elif names.size(expression) > limits.EXPRESSION_LENGTH:
        # Compiling would take its time, and the answer is known.
        yield faults.too_long(path, limits.EXPRESSION_LENGTH)
    elif answer := context.compile_selector(expression):
        yield _told(answer, expression, path)


def _told(answer: SelectorFault, expression: str, path: str) -> FieldFault:
    value = expression if answer.type is FaultType.INVALID else ""
    return FieldFault(answer.type, path, value, answer.detail)
