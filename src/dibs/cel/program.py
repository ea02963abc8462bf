"""A compiled expression: evaluated, priced, asked what it reads.

Compiling is parse → check → validate → plan, and each stage ends with all its faults. Everything
here is immutable once made and may be shared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from dibs.cel import ast, compile, estimate, explain, parse, reads, stack, validate
from dibs.cel.ast import Node
from dibs.cel.check import Checked, check
from dibs.cel.code import Instantiation, Run
from dibs.cel.compile import Compiled
from dibs.cel.environment import Environment
from dibs.cel.explain import Why
from dibs.cel.faults import CompileError, Fault, Source
from dibs.cel.prices import LIMIT
from dibs.cel.reads import Read
from dibs.cel.runtime import CostLimitExceeded, EvaluationError, Value
from dibs.cel.types import Type

# Deeper trees than this ask for more room on the stack before each evaluation.
_SHALLOW = 60
# Nested Python calls per level of the tree, at most.
_FRAMES = 6


@dataclass(frozen=True)
class Program:
    """One expression, ready to run. Make it with `compile_expression`."""

    expression: str
    result_type: Type
    checked: Checked = field(repr=False, compare=False)
    compiled: Compiled = field(repr=False, compare=False)

    @property
    def root(self) -> Node:
        return self.checked.root

    @cached_property
    def max_cost(self) -> int:
        """The most an evaluation can cost, by upstream's estimate; 2^64 - 1 when unbounded."""
        return estimate.max_cost(self.checked)

    @cached_property
    def reads(self) -> frozenset[Read]:
        """The paths from variables the result depends on.

        A path is a tuple of names, ("device", "attributes", "d.example.com", "model"); a shorter
        one means that all beneath may be read. Two activations that agree on them get one answer.
        """
        return reads.of(self.checked)

    def evaluate(self, activation: Mapping[str, Value]) -> tuple[Value, int]:
        """The value and what it cost. Raises `EvaluationError`, with `cost` filled in."""
        compiled = self.compiled
        run = Run(activation, compiled.slots)
        try:
            value = compiled.root.run(run)
        except CostLimitExceeded as error:
            error.cost = run.figure or max(run.cost, LIMIT + 1)
            raise
        except EvaluationError as error:
            if run.cost <= LIMIT:
                error.cost = run.cost
                raise
        else:
            if run.cost <= LIMIT:
                return value, run.cost
        broken = CostLimitExceeded()
        broken.cost = LIMIT + 1
        raise broken

    def explain(self, activation: Mapping[str, Value]) -> Why:
        """Why it is true or false or fails: the smallest part that decided. Never raises."""
        return explain.why(self.checked, self.compiled, activation)


def compile_expression(text: str, environment: Environment) -> Program:
    """Compile. Raises `CompileError` with every fault of the first stage that finds any."""
    root = parse.parse(text)
    source = Source(text)
    depth = ast.depth(root)
    if depth > _SHALLOW:
        stack.allow(depth * _FRAMES)
    checked, faults = check(source, root, environment)
    faults = faults or list(validate.faults(checked))
    if faults:
        raise CompileError(_in_order(faults), text)
    try:
        compiled = compile.compile_checked(checked)
    except Instantiation as fault:
        spot = fault.node or root
        found = source.fault(str(fault), spot.at, spot.span)
        raise CompileError((found,), text, "program instantiation failed: ") from None
    return Program(text, checked.type_of(root), checked, compiled)


def _in_order(faults: list[Fault]) -> tuple[Fault, ...]:
    return tuple(sorted(faults, key=lambda fault: (fault.line, fault.column)))
