"""What an expression can cost at most, computed before anything is evaluated.

Admission refuses more than 1 000 000, so the figure has to be upstream's to the unit, its slips
included: paths to values share memory the way Go's slices do, and so a loop over
`m.exists(k, v, …)` can take the key for a value. Source: cel-go, the checker's cost rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dibs.cel import ast, forecast, runtime, sizes, types
from dibs.cel.ast import Call, Fold, Ident, ListNode, Literal, MapNode, Message, Node, Select
from dibs.cel.check import Checked
from dibs.cel.environment import Shape
from dibs.cel.forecast import Forecast, Operand
from dibs.cel.sizes import ONE, UNKNOWN, Size, add, exactly, multiply
from dibs.cel.types import Type

_SCALARS = frozenset(
    (types.BOOL, types.INT, types.UINT, types.DOUBLE, types.TIMESTAMP, types.DURATION)
)
ITEMS, KEYS, VALUES, INDICES = "@items", "@keys", "@values", "@indices"


def max_cost(checked: Checked) -> int:
    """The most one evaluation can cost; 2^64 - 1 when nothing bounds it."""
    return _Estimate(checked).cost(checked.root)


class _Path:
    """A path from a variable to a value: a Go slice, whose spare room is shared by its copies."""

    __slots__ = ("cells", "length")

    def __init__(self, cells: list[str | None], length: int) -> None:
        self.cells = cells
        self.length = length

    def plus(self, name: str) -> _Path:
        cells = self.cells
        if self.length == len(cells):
            room = max(2 * self.length, self.length + 1)
            cells = [*cells, *[None] * (room - self.length)]
        cells[self.length] = name
        return _Path(cells, self.length + 1)

    def names(self) -> list[str | None]:
        return self.cells[: self.length]


_NOWHERE = _Path([], 0)


@dataclass(slots=True)
class _Inside:
    """The sizes of what is in a list or map made by the expression itself."""

    kind: str
    key: Size
    value: Size

    def union(self, other: _Inside) -> _Inside:
        return _Inside(self.kind, self.key.union(other.key), self.value.union(other.value))


@dataclass(slots=True)
class _Local:
    """A loop variable, accumulator or bound name."""

    path: _Path
    size: Size | None
    inside: _Inside | None


class _Estimate:
    def __init__(self, checked: Checked) -> None:
        self.checked = checked
        self.costs: dict[int, int] = {}
        self.locals: dict[str, list[_Local]] = {}
        self.paths: dict[int, _Path] = {}
        self.sizes: dict[int, Size] = {}
        self.insides: dict[int, _Inside] = {}

    def cost(self, node: Node) -> int:
        known = self.costs.get(node.id)
        if known is None:
            known = self.costs[node.id] = self.computed_cost(node)
        return known

    def computed_cost(self, node: Node) -> int:
        match node:
            case Literal():
                return 0
            case Ident():
                self.paths[node.id] = self.path_of_name(node.name)
                return 1
            case Select() if node.id in self.checked.type_values:
                return 1
            case Select():
                return self.select(node)
            case Call():
                return self.call(node)
            case ListNode():
                return self.list_literal(node)
            case MapNode():
                return self.map_literal(node)
            case Message():
                return add(sizes.MESSAGE, *(self.cost(each.value) for each in node.fields))
            case Fold():
                return self.bind(node) if ast.is_bind(node) else self.fold(node)

    def type_of(self, node: Node) -> Type:
        return self.checked.types[node.id]

    # --- paths, sizes, and what is inside -------------------------------------------------------

    def path_of_name(self, name: str) -> _Path:
        local = self.local(name)
        return local.path if local else _Path([name.removeprefix(".")], 1)

    def local(self, name: str) -> _Local | None:
        stack = self.locals.get(name)
        return stack[-1] if stack else None

    def path(self, node: Node) -> _Path:
        if isinstance(node, Ident):
            local = self.local(node.name)
            if local:
                return local.path
        return self.paths.get(node.id, _NOWHERE)

    def size(self, node: Node) -> Size:
        return self.known_size(node) or UNKNOWN

    def known_size(self, node: Node) -> Size | None:
        known = self.sizes.get(node.id) or _written_size(node)
        if known is not None:
            return known
        shape = self.shape(self.path(node).names())
        if shape is not None:
            known = self.sizes[node.id] = Size(0, shape.size)
            return known
        if _is_scalar(self.type_of(node)):
            return ONE
        local = self.local(node.name) if isinstance(node, Ident) else None
        return local.size if local else None

    def shape(self, path: list[str | None]) -> Shape | None:
        """What the environment assumes of the value at the end of a path."""
        if not path:
            return None
        variable = self.checked.environment.variables.get(path[0] or "")
        shape = variable.shape if variable else None
        for name in path[1:]:
            if shape is None:
                return None
            if name in (ITEMS, VALUES):
                shape = shape.item
            elif name == KEYS:
                shape = shape.key
            else:
                named = shape.fields.get(name or "")
                shape = named or (shape.item if shape.names_items else None)
        return shape

    def inside(self, node: Node) -> _Inside | None:
        known = self.insides.get(node.id)
        if known is None and isinstance(node, Ident):
            local = self.local(node.name)
            return local.inside if local else None
        return known

    def same_as(self, node: Node, source: Node) -> None:
        size, inside = self.known_size(source), self.inside(source)
        if size is not None:
            self.sizes[node.id] = size
        if inside is not None:
            self.insides[node.id] = inside

    # --- nodes ----------------------------------------------------------------------------------

    def select(self, node: Select) -> int:
        cost = self.cost(node.operand)
        if node.is_test:
            return cost
        given = self.type_of(node.operand)
        if given.name == "map" or given.name in self.checked.environment.objects:
            cost = add(cost, 1)
        self.paths[node.id] = self.path(node.operand).plus(node.field)
        return cost

    def call(self, node: Call) -> int:
        resolution = self.checked.calls[node.id]
        if resolution.function == "dyn":
            cost = self.cost(node.args[0])
            self.same_as(node, node.args[0])
            return add(cost, 1)
        arg_costs, operands = [], []
        for arg in node.args:
            arg_costs.append(self.cost(arg))
            # At once: a later argument may overwrite the path to this one.
            operands.append(self.operand(arg))
        if node.function == "_?._":
            return add(1, *arg_costs)
        if node.function in ("_&&_", "_||_"):
            return add(*arg_costs)
        if node.function == "_?_:_":
            return self.ternary(node, arg_costs, operands)
        cost = add(*arg_costs)
        if resolution.target is not None:
            cost = add(cost, self.cost(resolution.target))
            operands.insert(0, self.operand(resolution.target))
        price, size = self.price(node, operands)
        if size is not None:
            self.sizes[node.id] = size
        return add(cost, price)

    def operand(self, node: Node) -> Operand:
        element = None
        given = self.type_of(node)
        if given.name == "list":
            names = self.path(node).names()
            shape = self.shape([*names, ITEMS]) if names else None
            element = Size(0, shape.size) if shape else None
        return Operand(self.size(node), given, node, element)

    def price(self, node: Call, operands: list[Operand]) -> tuple[int, Size | None]:
        """The dearest of the overloads that fit, and a size that covers all results."""
        dearest, size = 0, None
        resolution = self.checked.calls[node.id]
        for overload in resolution.overloads:
            one: Forecast = forecast.of_call(resolution.function, overload, operands)
            dearest = max(dearest, one.cost)
            if one.size is not None:
                size = one.size if size is None else size.union(one.size)
            if overload.id in ("index_list", "index_map"):
                inside = self.inside(node.args[0])
                size = inside.value if inside else None
                step = ITEMS if overload.id == "index_list" else VALUES
                self.paths[node.id] = self.path(node.args[0]).plus(step)
            elif overload.id in ("add_string", "add_bytes", "add_list"):
                left, right = self.inside(node.args[0]), self.inside(node.args[1])
                if left and right:
                    self.insides[node.id] = left.union(right)
            if size is None:
                size = self.known_size(node)
        return dearest, size

    def ternary(self, node: Call, costs: list[int], operands: list[Operand]) -> int:
        _, truthy, falsy = node.args
        self.sizes[node.id] = operands[1].size.union(operands[2].size)
        one, other = self.inside(truthy), self.inside(falsy)
        if one and other:
            self.insides[node.id] = one.union(other)
        return add(costs[0], max(costs[1], costs[2]))

    def list_literal(self, node: ListNode) -> int:
        cost = sizes.LIST
        value = Size(sizes.MOST if node.elements else 0, 0)
        for each in node.elements:
            cost = add(cost, self.cost(each))
            value = value.union(self.size(each))
        self.insides[node.id] = _Inside("list", ONE, value)
        return cost

    def map_literal(self, node: MapNode) -> int:
        cost = sizes.MAP
        key = value = Size(sizes.MOST if node.entries else 0, 0)
        for entry in node.entries:
            cost = add(cost, self.cost(entry.key), self.cost(entry.value))
            key = key.union(self.size(entry.key))
            value = value.union(self.size(entry.value))
        self.insides[node.id] = _Inside("map", key, value)
        return cost

    # --- loops ----------------------------------------------------------------------------------

    def bind(self, node: Fold) -> int:
        cost = add(self.cost(node.range), self.cost(node.init))
        with self.scope({node.accu: self.as_local(node.init)}):
            cost = add(cost, self.cost(node.result))
            self.same_as(node, node.result)
        return cost

    def fold(self, node: Fold) -> int:
        cost = add(self.cost(node.range), self.cost(node.init))
        with self.scope({node.accu: self.as_local(node.init)}):
            with self.scope(self.loop_locals(node)):
                turn = add(self.cost(node.condition), self.cost(node.step))
            cost = add(cost, self.cost(node.result))
        count = self.size(node.range)
        if isinstance(node.init, Literal):
            self.sizes[node.id] = self.size(node.init)
        else:
            self.sizes[node.id] = count
            inside = self.inside(node.step)
            if inside:
                self.insides[node.id] = inside
        return add(cost, multiply(count.high, turn))

    def as_local(self, node: Node) -> _Local:
        return _Local(self.path(node), self.known_size(node), self.inside(node))

    def loop_locals(self, node: Fold) -> dict[str, _Local]:
        inside = self.inside(node.range)
        path = self.path(node.range)
        is_list = (inside.kind if inside else self.type_of(node.range).name) == "list"
        key, value = (inside.key, inside.value) if inside else (None, None)
        if not node.iter_var2:
            size = value if is_list else key
            return {node.iter_var: _Local(path.plus(ITEMS if is_list else KEYS), size, None)}
        # In this order, and on the same path: the value's step overwrites the key's.
        first = _Local(path.plus(INDICES if is_list else KEYS), key, None)
        second = _Local(path.plus(ITEMS if is_list else VALUES), value, None)
        return {node.iter_var: first, node.iter_var2: second}

    @contextmanager
    def scope(self, names: dict[str, _Local]) -> Iterator[None]:
        for name, local in names.items():
            self.locals.setdefault(name, []).append(local)
        yield
        for name in names:
            self.locals[name].pop()


def _written_size(node: Node) -> Size | None:
    """The size of a literal, which is plain to see."""
    match node:
        case Literal(value=value):
            return exactly(runtime.size_of(value))
        case ListNode(elements=elements):
            return exactly(len(elements))
        case MapNode(entries=entries):
            return exactly(len(entries))
    return None


def _is_scalar(each: Type) -> bool:
    if each.name == "optional_type":
        return _is_scalar(each.params[0])
    return each in _SCALARS
