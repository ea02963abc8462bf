"""What an expression shows by itself, without any device: faults of compilation, and two habits.

The habits: a size read as an attribute, and texts put in order as if they were sizes. What the
published devices show is `selections`'.
"""

from __future__ import annotations

from collections.abc import Iterator

from dibs.cel import Fault
from dibs.lint import sizes
from dibs.lint.reads import Read
from dibs.lint.rule import Remark, Rule, World
from dibs.lint.trials import Trial
from dibs.model.rules.limits import EXPRESSION_COST

# Single signs that the language lacks, and what is meant by them.
OPERATORS = {"=": "== to compare", "&": "&& for and", "|": "|| for or"}

ORDERING = ("<", "<=", ">", ">=")


def does_not_compile(world: World) -> Iterator[Remark]:
    for trial in world.survey.trials:
        if trial.fault is None:
            continue
        for fault in trial.fault.faults:
            offset = offset_of(fault, trial.written.text)
            remedy = mistyped(fault.message) or sized(trial, offset)
            yield remark(trial, offset, fault.message, remedy)


def unreadable_literal(world: World) -> Iterator[Remark]:
    for trial in world.survey.trials:
        for literal in trial.unreadable:
            yield remark(
                trial,
                literal.at,
                f"{literal.call} can't be read, and the expression fails: {literal.error}",
                literal.remedy,
            )


def too_costly(world: World) -> Iterator[Remark]:
    for trial in world.survey.trials:
        is_stored = bool(trial.written.entry.object.metadata.uid)
        if trial.cost > EXPRESSION_COST and not is_stored:
            yield remark(
                trial,
                0,
                f"may cost {amount(trial.cost)} by estimate, and a new expression "
                f"{EXPRESSION_COST} at most",
                "loops count for the largest list there could be: nest fewer of them",
            )


def size_as_attribute(world: World) -> Iterator[Remark]:
    for trial in world.survey.trials:
        if trial.among:
            continue  # `selections` knows what the devices publish
        for read in trial.reads:
            wanted = size_wanted(read)
            if read.shelf == "attributes" and read.name == "memory" and wanted:
                assert read.comparison is not None
                yield remark(
                    trial,
                    read.spot,
                    "memory is read as an attribute, and drivers publish it as a capacity",
                    "compare it with "
                    + sizes.test(read.domain, read.name, read.comparison.operator, wanted),
                )


def order_of_texts(world: World) -> Iterator[Remark]:
    for trial in world.survey.trials:
        for read in trial.reads:
            comparison = read.comparison
            if comparison is None or comparison.operator not in ORDERING:
                continue
            if isinstance(comparison.value, str) and sizes.is_quantity(comparison.value):
                yield remark(
                    trial,
                    comparison.node.at,
                    f'"{comparison.value}" is a text, and texts are ordered letter by letter: '
                    '"9" comes after "10"',
                    "compare quantities with compareTo(quantity(…)), versions with "
                    "compareTo(semver(…))",
                )


RULES = (
    Rule("cel-compile", "error", "a CEL expression does not compile", does_not_compile),
    Rule(
        "literal-unreadable",
        "error",
        "an expression has a constant quantity or version that can't be read",
        unreadable_literal,
    ),
    Rule(
        "cel-cost",
        "error",
        "a CEL expression may cost more than the API server allows",
        too_costly,
    ),
    Rule(
        "memory-as-attribute",
        "warning",
        "memory is read as an attribute; told when there are no slices to know better",
        size_as_attribute,
    ),
    Rule(
        "text-order",
        "warning",
        "an attribute is ordered against a text that holds a number",
        order_of_texts,
    ),
)


def remark(trial: Trial, offset: int, message: str, remedy: str = "") -> Remark:
    """Return a remark on one spot of the trial's expression."""
    written = trial.written
    return Remark(written.entry, written.path, message, remedy, written.text, offset)


def offset_of(fault: Fault, text: str) -> int:
    """Return where upstream points: at the operator, not where its left side begins."""
    if fault.line < 1:
        return 0
    lines = text.split("\n")
    return sum(len(line) + 1 for line in lines[: fault.line - 1]) + fault.column - 1


def amount(cost: int) -> str:
    """Return the cost; the estimate stops at the largest number of 64 bits."""
    return "any amount" if cost >= 2**63 else str(cost)


def mistyped(message: str) -> str:
    """Return the remedy for an operator of another language, "" when there is none."""
    for sign, meant in OPERATORS.items():
        if f"token recognition error at: '{sign}" in message:
            return f"write {meant}"
    return ""


def sized(trial: Trial, offset: int) -> str:
    """Return the remedy when the fault is a capacity compared with a number or a text, else ""."""
    for read in trial.reads:
        span = read.comparison.node.span if read.comparison else None
        if read.shelf != "capacity" or span is None or not span.start <= offset < span.end:
            continue
        assert read.comparison is not None
        if wanted := sizes.quantity(read.comparison.value):
            name = read.name or "<name>"
            return "a capacity is compared with " + sizes.test(
                read.domain, name, read.comparison.operator, wanted
            )
    return ""


def size_wanted(read: Read) -> str | None:
    """Return the quantity that the read is put in order with, None when it isn't."""
    if read.comparison is None or read.comparison.operator not in ORDERING:
        return None
    return sizes.quantity(read.comparison.value)
