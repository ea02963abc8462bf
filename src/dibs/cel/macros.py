"""Calls that are not calls: `has`, `all`, `map`, `cel.bind` … expanded while parsing.

Expansion is cel-go's, node by node, since the price of an expression is the price of what it
expands to (spec: the cost of macros). What is written stays in `Fold.written`.
Sources: CEL specification, "macros"; cel-go ext: two-variable comprehensions, bindings,
optional types, lists (`sortBy`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dibs.cel.ast import (
    ACCUMULATOR,
    UNUSED,
    Call,
    Fold,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Node,
    Select,
)
from dibs.cel.runtime import Value

_SORT_INPUT = "@sortBy_input"


class BadMacro(Exception):
    """The macro cannot be expanded so; `spot` is the argument at fault."""

    def __init__(self, message: str, spot: Node) -> None:
        super().__init__(message)
        self.message = message
        self.spot = spot


@dataclass(slots=True)
class Numbers:
    """Hands out the numbers of nodes."""

    last: int = 0

    def next(self) -> int:
        self.last += 1
        return self.last


@dataclass(slots=True)
class Maker:
    """Makes the nodes of one expansion: all stand where the macro call stands."""

    numbers: Numbers
    written: Call
    args: list[Node] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.args = self.written.args

    @property
    def target(self) -> Node:
        assert self.written.target is not None
        return self.written.target

    def literal(self, value: Value) -> Literal:
        return Literal(value, id=self.numbers.next(), at=self.written.at, span=self.written.span)

    def ident(self, name: str) -> Ident:
        return Ident(name, id=self.numbers.next(), at=self.written.at, span=self.written.span)

    def accumulator(self) -> Ident:
        return self.ident(ACCUMULATOR)

    def call(self, function: str, *args: Node, target: Node | None = None) -> Call:
        place = self.written
        return Call(
            function, target, list(args), id=self.numbers.next(), at=place.at, span=place.span
        )

    def list_of(self, *elements: Node) -> ListNode:
        return ListNode(
            list(elements), id=self.numbers.next(), at=self.written.at, span=self.written.span
        )

    def empty_map(self) -> MapNode:
        return MapNode([], id=self.numbers.next(), at=self.written.at, span=self.written.span)

    def fold(self, names: list[str], init: Node, condition: Node, step: Node, result: Node) -> Fold:
        return Fold(
            names[0],
            names[1] if len(names) > 1 else "",
            self.target,
            ACCUMULATOR,
            init,
            condition,
            step,
            result,
            self.written.function,
            self.written,
            id=self.numbers.next(),
            at=self.written.at,
            span=self.written.span,
        )

    def bind(self, name: str, value: Node, body: Node) -> Fold:
        return Fold(
            UNUSED,
            "",
            self.list_of(),
            name,
            value,
            self.literal(False),
            self.ident(name),
            body,
            self.written.function,
            self.written,
            id=self.numbers.next(),
            at=self.written.at,
            span=self.written.span,
        )

    def names(self, count: int) -> list[str]:
        """Read the loop variables from the first arguments."""
        return loop_names(self.args[:count])


def expand(numbers: Numbers, call: Call) -> Node | None:
    """Expand a macro call; None when it is an ordinary call. Raises `BadMacro`."""
    key = (call.function, call.target is not None, len(call.args))
    macro = _MACROS.get(key)
    return macro(Maker(numbers, call)) if macro else None


def loop_names(args: list[Node]) -> list[str]:
    names: list[str] = []
    for arg in args:
        if not isinstance(arg, Ident) or arg.name.startswith("."):
            raise BadMacro("argument must be a simple name", arg)
        if arg.name in ("__result__", ACCUMULATOR):
            raise BadMacro("iteration variable overwrites accumulator variable", arg)
        if arg.name in names:
            raise BadMacro(f"duplicate variable name: {arg.name}", arg)
        names.append(arg.name)
    return names


def _has(make: Maker) -> Node:
    (arg,) = make.args
    if not isinstance(arg, Select) or arg.is_test:
        raise BadMacro("invalid argument to has() macro", arg)
    written = make.written
    return Select(
        arg.operand, arg.field, True, id=make.numbers.next(), at=written.at, span=written.span
    )


def _all(variables: int) -> Callable[[Maker], Node]:
    def expanded(make: Maker) -> Node:
        return make.fold(
            make.names(variables),
            make.literal(True),
            make.call("@not_strictly_false", make.accumulator()),
            make.call("_&&_", make.accumulator(), make.args[variables]),
            make.accumulator(),
        )

    return expanded


def _exists(variables: int) -> Callable[[Maker], Node]:
    def expanded(make: Maker) -> Node:
        return make.fold(
            make.names(variables),
            make.literal(False),
            make.call("@not_strictly_false", make.call("!_", make.accumulator())),
            make.call("_||_", make.accumulator(), make.args[variables]),
            make.accumulator(),
        )

    return expanded


def _exists_one(variables: int) -> Callable[[Maker], Node]:
    def expanded(make: Maker) -> Node:
        more = make.call("_+_", make.accumulator(), make.literal(1))
        return make.fold(
            make.names(variables),
            make.literal(0),
            make.literal(True),
            make.call("_?_:_", make.args[variables], more, make.accumulator()),
            make.call("_==_", make.accumulator(), make.literal(1)),
        )

    return expanded


def _collected(make: Maker, names: list[str], kept: Node | None, each: Node) -> Node:
    """`map`, `filter` and `transformList`: a list that grows by one a turn."""
    step: Node = make.call("_+_", make.accumulator(), make.list_of(each))
    if kept is not None:
        step = make.call("_?_:_", kept, step, make.accumulator())
    return make.fold(names, make.list_of(), make.literal(True), step, make.accumulator())


def _map(make: Maker) -> Node:
    return _collected(make, make.names(1), None, make.args[1])


def _map_some(make: Maker) -> Node:
    return _collected(make, make.names(1), make.args[1], make.args[2])


def _filter(make: Maker) -> Node:
    return _collected(make, make.names(1), make.args[1], make.args[0])


def _transform_list(make: Maker) -> Node:
    kept = make.args[2] if len(make.args) == 4 else None
    return _collected(make, make.names(2), kept, make.args[-1])


def _transform_map(make: Maker) -> Node:
    names = make.names(2)
    inserted = [make.args[-1]]
    if make.written.function == "transformMap":
        inserted.insert(0, make.ident(names[0]))
    step: Node = make.call("cel.@mapInsert", make.accumulator(), *inserted)
    if len(make.args) == 4:
        step = make.call("_?_:_", make.args[2], step, make.accumulator())
    return make.fold(names, make.empty_map(), make.literal(True), step, make.accumulator())


def _bind(make: Maker) -> Node | None:
    name = make.args[0]
    if not isinstance(make.target, Ident) or make.target.name != "cel":
        return None
    if not isinstance(name, Ident):
        raise BadMacro("cel.bind() variable names must be simple identifiers", name)
    return make.bind(name.name, make.args[1], make.args[2])


def _opt_map(make: Maker) -> Node:
    """`o.optMap(v, e)`; the optional is evaluated twice, as upstream does and charges."""
    name = make.args[0]
    if not isinstance(name, Ident):
        text = f"{make.written.function}() variable name must be a simple identifier"
        raise BadMacro(text, name)
    value = make.call("value", target=make.target)
    body: Node = make.bind(name.name, value, make.args[1])
    if make.written.function == "optMap":
        body = make.call("optional.of", body)
    return make.call(
        "_?_:_", make.call("hasValue", target=make.target), body, make.call("optional.none")
    )


def _sort_by(make: Maker) -> Node:
    """`x.sortBy(e, key)`: bind x, map it to its keys, sort x by them."""
    if isinstance(make.target, Literal | MapNode):
        kinds = "list, identifier, comprehension, call or select expression"
        raise BadMacro(f"sortBy can only be applied to a {kinds}", make.target)
    keys = _collected(
        Maker(
            make.numbers,
            Call(
                "map",
                make.ident(_SORT_INPUT),
                make.args,
                id=make.written.id,
                at=make.written.at,
                span=make.written.span,
            ),
        ),
        make.names(1),
        None,
        make.args[1],
    )
    body = make.call("@sortByAssociatedKeys", keys, target=make.ident(_SORT_INPUT))
    return make.bind(_SORT_INPUT, make.target, body)


_Macro = Callable[[Maker], "Node | None"]
_MACROS: dict[tuple[str, bool, int], _Macro] = {
    ("has", False, 1): _has,
    ("all", True, 2): _all(1),
    ("all", True, 3): _all(2),
    ("exists", True, 2): _exists(1),
    ("exists", True, 3): _exists(2),
    ("exists_one", True, 2): _exists_one(1),
    ("exists_one", True, 3): _exists_one(2),
    ("existsOne", True, 3): _exists_one(2),
    ("map", True, 2): _map,
    ("map", True, 3): _map_some,
    ("filter", True, 2): _filter,
    ("transformList", True, 3): _transform_list,
    ("transformList", True, 4): _transform_list,
    ("transformMap", True, 3): _transform_map,
    ("transformMap", True, 4): _transform_map,
    ("transformMapEntry", True, 3): _transform_map,
    ("transformMapEntry", True, 4): _transform_map,
    ("bind", True, 3): _bind,
    ("optMap", True, 2): _opt_map,
    ("optFlatMap", True, 2): _opt_map,
    ("sortBy", True, 2): _sort_by,
}
