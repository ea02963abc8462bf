"""The selector language: text in; a program out that is evaluated, priced and asked why.

    program = cel.compile_expression(text, environment)      # or CompileError
    value, cost = program.evaluate({"device": view})         # or EvaluationError
    program.max_cost, program.result_type, program.reads     # known before any evaluation
    program.explain({"device": view})                        # Why: what decided, with values

This room knows no devices: variables, and how large they are taken to be, come with the
environment. Semantics, costs and texts are those of cel-go as Kubernetes 1.37 configures it.
Source: the CEL specification; KEP-2876, KEP-4381.
"""
