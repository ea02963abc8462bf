"""Which attributes and capacities an expression reads, and what it compares them with.

Looks at the syntax tree alone, so it also serves expressions that don't compile for their types.
Names that are computed (a variable, a function's result) are not followed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal as OneOf

from dibs.cel import ast
from dibs.cel.ast import Call, Ident, Literal, Node, Select

Shelf = OneOf["attributes", "capacity"]

# An operator, and what it becomes when its sides are exchanged.
MIRRORED = {"_==_": "==", "_!=_": "!=", "_<_": ">", "_<=_": ">=", "_>_": "<", "_>=_": "<="}
PLAIN = {"_==_": "==", "_!=_": "!=", "_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}


@dataclass(frozen=True, slots=True)
class Comparison:
    """`read operator value`, the read always on the left; `node` is the whole of it."""

    operator: str
    value: object
    node: Node


@dataclass(frozen=True, slots=True)
class Read:
    """`device.<shelf>["<domain>"].<name>`, at the offset of the name's or the map's spot.

    `is_test` when it only asks for presence (`has`, `in`, `.?`). `name` is "" for a read of the
    whole domain.
    """

    shelf: Shelf
    domain: str
    name: str
    node: Node
    is_test: bool = False
    comparison: Comparison | None = None

    @property
    def spot(self) -> int:
        """Where the name stands: behind the dot, or the bracket, that the node is at."""
        return self.node.at + 1 if isinstance(self.node, Select) else self.node.at

    @property
    def text(self) -> str:
        return expression(self.shelf, self.domain, self.name)


def expression(shelf: Shelf, domain: str, name: str) -> str:
    """Return the expression that reads this."""
    return f'device.{shelf}["{domain}"].{name}'


def reads(root: Node) -> tuple[Read, ...]:
    """Return every read, outermost first, in the order of the source."""
    found: list[Read] = []
    waiting: list[Node] = [root]
    while waiting:
        node = waiting.pop()
        if (read := comparing(node) or presence(node) or reading(node)) is not None:
            found.append(read)
        else:
            waiting.extend(ast.children(node))
    return tuple(sorted(found, key=lambda read: read.node.span.start))


def comparing(node: Node) -> Read | None:
    """Read `X == "literal"` and its kin, either way round."""
    if not isinstance(node, Call) or node.function not in PLAIN or len(node.args) != 2:
        return None
    left, right = node.args
    for side, other, names in ((left, right, PLAIN), (right, left, MIRRORED)):
        read = reading(side)
        if read is not None and isinstance(other, Literal):
            return replace(read, comparison=Comparison(names[node.function], other.value, node))
    return None


def presence(node: Node) -> Read | None:
    """Read `"name" in device.attributes["domain"]` and what `.?` and `[?…]` reach."""
    match node:
        case Call(function="@in", args=[Literal(value=str(name)), where]):
            place = domain_of(where)
            return Read(*place, name, node, is_test=True) if place else None
        case Call(function="_?._" | "_[?_]", args=[where, Literal(value=str(name))]):
            place = domain_of(where)
            return Read(*place, name, node, is_test=True) if place else None
    return None


def reading(node: Node) -> Read | None:
    """Read one name of a domain, or else the domain as a whole."""
    match node:
        case Select(operand=where, field=name, is_test=is_test):
            place = domain_of(where)
        case Call(function="_[_]", args=[where, Literal(value=str(name))]):
            place, is_test = domain_of(where), False
        case _:
            return None
    if place is not None:
        return Read(*place, name, node, is_test=is_test)
    place = domain_of(node)
    return Read(*place, "", node) if place else None


def domain_of(node: Node) -> tuple[Shelf, str] | None:
    """Return shelf and domain of `device.attributes["domain"]`, None for anything else."""
    match node:
        case Call(function="_[_]", args=[where, Literal(value=str(domain))]):
            shelf = shelf_of(where)
        case Select(operand=where, field=domain, is_test=False):
            shelf = shelf_of(where)
        case _:
            return None
    return (shelf, domain) if shelf else None


def shelf_of(node: Node) -> Shelf | None:
    match node:
        case Select(operand=Ident(name="device"), field="attributes" | "capacity" as shelf):
            return "attributes" if shelf == "attributes" else "capacity"
    return None
