"""The nodes of an expression: what the parser makes and every later step walks.

A node knows its number (side tables go by it), the spot an error about it points at, and the
span of source it came from. Two nodes are equal when they say the same, wherever they stand.
Macros are expanded while parsing; a `Fold` remembers the call it was written as.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from dibs.cel.faults import Span
from dibs.cel.runtime import Value


@dataclass(slots=True, kw_only=True)
class _Placed:
    """`at` is the offset upstream reports for the node, `span` the text it covers."""

    id: int = field(compare=False)
    at: int = field(compare=False)
    span: Span = field(compare=False)


@dataclass(slots=True)
class Literal(_Placed):
    """A constant: null, bool, int, UInt, float, str or bytes."""

    value: Value

    def __eq__(self, other: object) -> bool:
        # 1, 1u, 1.0 and true are equal in Python and different here; nan is itself.
        if not isinstance(other, Literal):
            return NotImplemented
        return type(self.value) is type(other.value) and repr(self.value) == repr(other.value)


@dataclass(slots=True)
class Ident(_Placed):
    """`name`; a leading dot (the root namespace) is part of the name."""

    name: str


@dataclass(slots=True)
class Select(_Placed):
    """`operand.field`; with `is_test` it is `has(operand.field)`."""

    operand: Node
    field: str
    is_test: bool = False


@dataclass(slots=True)
class Call(_Placed):
    """`target.function(args)`, or `function(args)`; operators are calls of `_+_` and its kin."""

    function: str
    target: Node | None
    args: list[Node]


@dataclass(slots=True)
class ListNode(_Placed):
    """`[a, ?b]`: `optional` holds the positions written with a question mark."""

    elements: list[Node]
    optional: frozenset[int] = frozenset()


@dataclass(slots=True)
class Entry(_Placed):
    """`key: value` of a map, with `?` before it when optional."""

    key: Node
    value: Node
    is_optional: bool = False


@dataclass(slots=True)
class MapNode(_Placed):
    entries: list[Entry]


@dataclass(slots=True)
class FieldEntry(_Placed):
    """`name: value` of a message."""

    name: str
    value: Node
    is_optional: bool = False


@dataclass(slots=True)
class Message(_Placed):
    """`type_name{field: value}`."""

    type_name: str
    fields: list[FieldEntry]


@dataclass(slots=True)
class Fold(_Placed):
    """A comprehension: the one loop of the language, which only macros make.

    Start with `accu` = `init`; for each element, while `condition` holds, `accu` = `step`; the
    value is `result`. With `iter_var2`, `iter_var` is the index or key and it the value.
    `macro` names what it was expanded from, `written` is that call, for printing and explaining.
    """

    iter_var: str
    iter_var2: str
    range: Node
    accu: str
    init: Node
    condition: Node
    step: Node
    result: Node
    macro: str = field(default="", compare=False)
    written: Call | None = field(default=None, compare=False)


Node = Literal | Ident | Select | Call | ListNode | MapNode | Message | Fold

# What an expanded macro calls its accumulator; no expression can name it.
ACCUMULATOR = "@result"
UNUSED = "#unused"


def children(node: Node) -> Iterator[Node]:
    """Yield the direct sub-expressions, in the order they are written."""
    match node:
        case Select(operand=operand):
            yield operand
        case Call(target=target, args=args):
            if target is not None:
                yield target
            yield from args
        case ListNode(elements=elements):
            yield from elements
        case MapNode(entries=entries):
            for entry in entries:
                yield entry.key
                yield entry.value
        case Message(fields=fields):
            for each in fields:
                yield each.value
        case Fold():
            yield from (node.range, node.init, node.condition, node.step, node.result)


def is_bind(node: Fold) -> bool:
    """Say whether this is no loop but a name given to a value (`cel.bind`, `optMap`)."""
    return node.iter_var == UNUSED


def qualified_name(node: Node) -> str | None:
    """`a.b.c` as one name, if it is written so."""
    parts = []
    while isinstance(node, Select):
        if node.is_test:
            return None
        parts.append(node.field)
        node = node.operand
    if not isinstance(node, Ident):
        return None
    return ".".join([node.name, *reversed(parts)])


def flat(node: Node, function: str) -> list[Node]:
    """The terms of a chain of `&&` or `||`, which the parser balances into a tree."""
    if isinstance(node, Call) and node.function == function:
        return [term for arg in node.args for term in flat(arg, function)]
    return [node]


def depth(root: Node) -> int:
    """How deep the tree is, counted without recursion.

    `optMap` hangs its target into the tree twice, under one number: what walks a tree has to
    look at each number once, or a chain of 50 would take forever.
    """
    deepest, level = 0, [root]
    while level:
        deepest += 1
        below = {child.id: child for node in level for child in children(node)}
        level = list(below.values())
    return deepest


def nodes(root: Node) -> Iterator[Node]:
    """Yield each node of the tree once, a parent before its children."""
    seen = {root.id}
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        below = [child for child in children(node) if child.id not in seen]
        seen.update(child.id for child in below)
        pending.extend(reversed(below))
