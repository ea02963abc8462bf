"""What an expression is compiled to: Python closures over a `Run`, which keeps the account.

A charge of one unit at a time is added without looking; whoever charges more in one step, and
every turn of a loop, looks at the limit. So a run is stopped where upstream stops it, and the
figure it leaves behind is upstream's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dibs.cel import runtime
from dibs.cel.ast import Node
from dibs.cel.prices import LIMIT
from dibs.cel.runtime import CostLimitExceeded, EvaluationError, Value


class Run:
    """One evaluation: the variables, the loop variables by slot, and what it has cost so far."""

    __slots__ = ("cost", "figure", "slots", "variables")

    def __init__(self, variables: Mapping[str, Value], slots: int) -> None:
        self.variables = variables
        self.slots: list[Any] = [None] * slots
        self.cost = 0
        # The cost recorded when the limit broke the run off.
        self.figure = 0
        runtime.renew()

    def charge(self, amount: int) -> None:
        """Charge several units as one step. Raises `CostLimitExceeded`."""
        before = self.cost
        self.cost = before + amount
        if self.cost > LIMIT:
            self.exceeded(before)

    def turn(self) -> None:
        """Look at the limit: a loop begins its next turn."""
        if self.cost > LIMIT:
            self.exceeded(self.cost)

    def exceeded(self, before: int) -> None:
        # If single units went over the limit before, the first of them ended the run.
        self.figure = LIMIT + 1 if before > LIMIT else self.cost
        raise CostLimitExceeded


Evaluate = Callable[[Run], Value]


@dataclass(slots=True)
class Code:
    """A compiled node. `bare` leaves out the 1 that a chain of selections pays for itself."""

    run: Evaluate
    bare: Evaluate
    is_constant: bool = False
    value: Value = None
    # A ternary is no chain of its own: a selection from it continues its branches.
    is_ternary: bool = False
    # A constant list or map that cannot be made fails with this text, free of charge.
    failure: str = ""

    @classmethod
    def of(cls, run: Evaluate) -> Code:
        return cls(run, run)

    @classmethod
    def constant(cls, value: Value) -> Code:
        def run(_: Run) -> Value:
            return value

        return cls(run, run, True, value)

    @classmethod
    def failing(cls, text: str) -> Code:
        def run(_: Run) -> Value:
            raise EvaluationError(text)

        return cls(run, run, failure=text)


class Instantiation(Exception):
    """A constant part of the expression can never be evaluated; the text is upstream's.

    `node` is the innermost part concerned, once that is known.
    """

    node: Node | None = None
