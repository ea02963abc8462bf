"""The selector language: text in; a program out that is evaluated, priced and asked why.

    program = cel.compile_expression(text, environment)      # or CompileError
    value, cost = program.evaluate({"device": view})         # or EvaluationError
    program.max_cost, program.result_type, program.reads     # known before any evaluation
    program.explain({"device": view})                        # Why: what decided, with values

This room knows no devices: variables, and how large they are taken to be, come with the
environment. Semantics, costs and texts are those of cel-go as Kubernetes 1.37 configures it.
Source: the CEL specification; KEP-2876, KEP-4381.
"""

from dibs.cel.environment import Environment, Shape, Variable
from dibs.cel.explain import Why
from dibs.cel.faults import CompileError, Fault, Span
from dibs.cel.program import Program, compile_expression
from dibs.cel.runtime import EvaluationError

__all__ = [
    "CompileError",
    "Environment",
    "EvaluationError",
    "Fault",
    "Program",
    "Shape",
    "Span",
    "Variable",
    "Why",
    "compile_expression",
]
