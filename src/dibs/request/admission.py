"""The compiler for the rules of the API: why a new selector would be refused at admission.

`model.rules` cannot see CEL; this joins the two. Selectors are compiled as new ones and their
cost is estimated, as the API server does once, when an expression is written.
"""

from __future__ import annotations

from collections.abc import Callable

from dibs.cel.faults import CompileError
from dibs.model.rules import Context, FaultType, SelectorFault
from dibs.model.rules.limits import EXPRESSION_COST
from dibs.request import derived, selectors
from dibs.supply.features import ALL, Features


def context(
    admin_access: Callable[[str], bool | None] | None = None, features: Features = ALL
) -> Context:
    """What `rules.validate` needs; `admin_access` says of a namespace whether it has the label."""

    def compile_selector(expression: str) -> SelectorFault | None:
        return refusal(expression, features)

    def derived_cost(expression: str) -> int | SelectorFault:
        try:
            return derived.compile(expression, selectors.NEW, features).program.max_cost
        except CompileError as error:
            return SelectorFault(FaultType.INVALID, str(error))

    return Context(compile_selector, derived_cost, admin_access)


def refusal(expression: str, features: Features = ALL) -> SelectorFault | None:
    """Say why the API server refuses a new selector, None when it takes it."""
    try:
        selector = selectors.compile(expression, selectors.NEW, features)
    except CompileError as error:
        return SelectorFault(FaultType.INVALID, str(error))
    if selector.program.max_cost > EXPRESSION_COST:
        return SelectorFault(FaultType.FORBIDDEN, "too complex, exceeds cost limit")
    return None
