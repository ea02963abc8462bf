"""What a well-typed expression may still not say: literals that could never be evaluated.

A literal regex, duration or timestamp has to be one, all parts of a list or map literal have one
type, and a literal format string fits its literal arguments. Source: Kubernetes' base CEL
environment 1.29, "AST validators".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dibs.cel import ast, runtime, types
from dibs.cel.ast import Call, ListNode, Literal, MapNode, Node
from dibs.cel.check import Checked
from dibs.cel.faults import Fault
from dibs.cel.libraries import formatting
from dibs.cel.types import Type

# function → (position of the argument among the operands, what a bad one is called)
_LITERAL_ARGUMENTS = {
    "duration": (0, "invalid duration argument"),
    "timestamp": (0, "invalid timestamp argument"),
    "matches": (1, "invalid matches argument"),
}


def faults(checked: Checked) -> Iterator[Fault]:
    """Yield every fault of the literals, kind by kind."""
    formatted: set[int] = set()
    for node in ast.nodes(checked.root):
        is_formatted = node.id in formatted
        if isinstance(node, Call):
            yield from _bad_argument(checked, node)
            if node.function == "format":
                yield from _bad_format(checked, node)
                is_formatted = True
        elif isinstance(node, ListNode) and not is_formatted:
            yield from _mixed(checked, node.elements, node.optional)
        elif isinstance(node, MapNode) and not is_formatted:
            optional = frozenset(i for i, entry in enumerate(node.entries) if entry.is_optional)
            yield from _mixed(checked, [entry.key for entry in node.entries], frozenset())
            yield from _mixed(checked, [entry.value for entry in node.entries], optional)
        if is_formatted:
            # What is handed to format(), at any depth, may differ in type.
            formatted.update(child.id for child in ast.children(node))


def _bad_argument(checked: Checked, node: Call) -> Iterator[Fault]:
    resolution = checked.calls.get(node.id)
    known = _LITERAL_ARGUMENTS.get(node.function)
    if resolution is None or known is None:
        return
    position, text = known
    operands = resolution.operands
    if position >= len(operands) or not resolution.overloads:
        return
    arg = operands[position]
    if not isinstance(arg, Literal):
        return
    reader = _READERS[node.function]
    try:
        reader(resolution.overloads[0].call, arg.value)
    except runtime.EvaluationError:
        yield checked.source.fault(text, arg.at, arg.span)


def _converted(call: Callable[..., runtime.Value], value: runtime.Value) -> None:
    call(value)


def _matched(call: Callable[..., runtime.Value], value: runtime.Value) -> None:
    call("", value)


_READERS = {"duration": _converted, "timestamp": _converted, "matches": _matched}


def _bad_format(checked: Checked, node: Call) -> Iterator[Fault]:
    """`"%d".format([x])`: a literal string and a literal list have to fit."""
    pattern, args = node.target, node.args
    if not isinstance(pattern, Literal) or len(args) != 1 or not isinstance(args[0], ListNode):
        return
    given = args[0].elements
    used = 0
    try:
        for _, letter, _ in formatting.clauses(pattern.value):
            if letter == "?" and used >= len(given):
                text = f"index {used} out of range"
                yield checked.source.fault(text, node.at, node.span)
                return
            if letter not in ("", "?"):
                yield from _unfit(checked, letter, given[used])
                used += 1
    except formatting.BadFormat as bad:
        yield checked.source.fault(str(bad), node.at, node.span)
        return
    if used < len(given):
        text = "too many arguments supplied to string.format"
        text += f" (expected {used}, got {len(given)})"
        yield checked.source.fault(text, node.at, node.span)


def _unfit(checked: Checked, letter: str, arg: Node) -> Iterator[Fault]:
    """Of a list or map literal each part is looked at, since `%s` writes them one by one."""
    if letter == "s" and isinstance(arg, ListNode):
        for element in arg.elements:
            yield from _unfit(checked, letter, element)
        return
    if letter == "s" and isinstance(arg, MapNode):
        for entry in arg.entries:
            yield from _unfit(checked, letter, entry.value)
        return
    accepted, refusal = formatting.ACCEPTED[letter]
    each = checked.type_of(arg)
    name = _FORMATTED.get(each.name, each.name)
    if each != types.DYN and name not in accepted:
        text = f"error during formatting: {refusal}, was given {name}"
        yield checked.source.fault(text, arg.at, arg.span)


# Static types that go by another name once they are values.
_FORMATTED = {
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
    "null": "null_type",
    "any": "google.protobuf.Any",
}


def _mixed(checked: Checked, parts: list[Node], optional: frozenset[int]) -> Iterator[Fault]:
    first: Type | None = None
    for position, part in enumerate(parts):
        each = checked.type_of(part)
        if position in optional and each.name == "optional_type":
            each = each.params[0]
        if first is None:
            first = each
        elif each != first:
            text = f"expected type '{first}' but found '{each}'"
            yield checked.source.fault(text, part.at, part.span)
            return
