"""What the rules must ask others: the compiler of expressions, and the namespaces.

`model` knows neither CEL nor the cluster; both come in as functions. The defaults accept
everything, for callers that check expressions and namespaces themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dibs.model.rules.faults import FaultType


@dataclass(frozen=True, slots=True)
class SelectorFault:
    """Why an expression is refused.

    `type` is REQUIRED (empty), INVALID ("compilation failed: …"), FORBIDDEN ("too complex,
    exceeds cost limit") or INTERNAL; `detail` is the text after it.
    """

    type: FaultType
    detail: str


def accept_selector(_expression: str) -> SelectorFault | None:
    return None


def derived_for_free(_expression: str) -> int | SelectorFault:
    return 0


@dataclass(frozen=True, slots=True)
class Context:
    """`compile_selector` says why a new selector is refused, None when it is not.

    `derived_cost` gives the estimated cost of a derived attribute's expression (KEP-6080), or why
    it is refused. `admin_access` says of a namespace whether it carries the label that allows
    admin access, None when the namespace is not known; without the function nobody asks.
    """

    compile_selector: Callable[[str], SelectorFault | None] = accept_selector
    derived_cost: Callable[[str], int | SelectorFault] = derived_for_free
    admin_access: Callable[[str], bool | None] | None = None


NO_CONTEXT = Context()
