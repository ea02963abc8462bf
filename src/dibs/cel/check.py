"""The type checker: every node gets a type, every call the overloads that fit, or a fault.

Which overload runs is decided here when one is left; with an attribute as argument, whose type
nobody knows, several may be, and the values decide. Source: the CEL specification, "gradual
type checking"; fault texts are cel-go's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dibs.cel import messages, types, unify
from dibs.cel.ast import (
    Call,
    Fold,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Message,
    Node,
    Select,
    qualified_name,
)
from dibs.cel.declare import Overload
from dibs.cel.environment import Environment
from dibs.cel.faults import Fault, Source, Span
from dibs.cel.runtime import UInt
from dibs.cel.types import Type

_LITERAL_TYPES = {
    bool: types.BOOL,
    int: types.INT,
    UInt: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    type(None): types.NULL,
}


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a call is: the function's full name, the overloads that fit, receiver and arguments.

    `optional.of(x)` is written like a method and is none: then `target` is None.
    """

    function: str
    overloads: tuple[Overload, ...]
    target: Node | None
    args: tuple[Node, ...]

    @property
    def operands(self) -> tuple[Node, ...]:
        return self.args if self.target is None else (self.target, *self.args)


@dataclass(frozen=True, slots=True)
class Checked:
    """An expression and what is known of its nodes, by their numbers."""

    source: Source
    root: Node
    environment: Environment
    types: dict[int, Type]
    calls: dict[int, Resolution]
    # Identifiers and selections that name a type: `int`, `net.IP`.
    type_values: dict[int, Type]

    def type_of(self, node: Node) -> Type:
        return self.types[node.id]


def check(source: Source, root: Node, environment: Environment) -> tuple[Checked, list[Fault]]:
    """Check an expression. The faults are in the order they were met."""
    checker = _Checker(source, environment)
    checker.check(root)
    closed = unify.close(checker.bindings, checker.types)
    checked = Checked(source, root, environment, closed, checker.calls, checker.type_values)
    return checked, checker.faults


class _Checker:
    def __init__(self, source: Source, environment: Environment) -> None:
        self.source = source
        self.environment = environment
        self.faults: list[Fault] = []
        self.bindings: unify.Bindings = {}
        self.types: dict[int, Type] = {}
        self.calls: dict[int, Resolution] = {}
        self.type_values: dict[int, Type] = {}
        self.scopes: list[dict[str, Type]] = []
        self.parameters = 0

    def check(self, node: Node) -> Type:
        known = self.types.get(node.id)
        if known is not None:
            return known
        match node:
            case Literal(value=value):
                found = _LITERAL_TYPES[type(value)]
            case Ident():
                found = self.ident(node)
            case Select():
                found = self.select(node)
            case Call():
                found = self.call(node)
            case ListNode():
                found = self.list_literal(node)
            case MapNode():
                found = self.map_literal(node)
            case Message():
                found = self.message(node)
            case Fold():
                found = self.fold(node)
        self.types[node.id] = found
        return found

    def fault(self, text: str, at: int, span: Span) -> None:
        self.faults.append(self.source.fault(text, at, span))

    def assignable(self, given: Type, wanted: Type) -> bool:
        bindings = unify.assignable(self.bindings, (given,), (wanted,))
        if bindings is None:
            return False
        self.bindings = bindings
        return True

    def bound(self, each: Type) -> Type:
        return unify.substitute(self.bindings, each)

    def fresh(self) -> Type:
        self.parameters += 1
        return Type(f"_var{self.parameters}", is_parameter=True)

    def mismatch(self, node: Node, wanted: Type, given: Type) -> None:
        wanted, given = self.closed(wanted), self.closed(given)
        self.fault(f"expected type '{wanted}' but found '{given}'", node.at, node.span)

    def closed(self, each: Type) -> Type:
        return unify.substitute(self.bindings, each, closed=True)

    # --- names and selections -----------------------------------------------------------------

    def named(self, name: str) -> Type | None:
        """The type of a variable in scope, innermost first."""
        if not name.startswith("."):
            for scope in reversed(self.scopes):
                if name in scope:
                    return scope[name]
        variable = self.environment.variables.get(name.removeprefix("."))
        return variable.type if variable else None

    def type_value(self, node: Node, name: str) -> Type | None:
        named = self.environment.type_names.get(name.removeprefix("."))
        if named is None:
            return None
        self.type_values[node.id] = named
        return types.type_of(named)

    def ident(self, node: Ident) -> Type:
        found = self.named(node.name) or self.type_value(node, node.name)
        if found is None:
            text = f"undeclared reference to '{node.name}' (in container '')"
            self.fault(text, node.at, node.span)
            return unify.ERROR
        return found

    def select(self, node: Select) -> Type:
        name = qualified_name(node)
        if name is not None and self.named(name.split(".", 1)[0]) is None:
            found = self.type_value(node, name)
            if found is not None:
                return found
        found = self.field(node, node.operand, node.field)
        return types.BOOL if node.is_test else found

    def field(self, node: Node, operand: Node, field: str, is_optional: bool = False) -> Type:
        given = self.bound(self.check(operand))
        inner = given
        if given.name == "optional_type":
            inner, is_optional = given.params[0], True
        found = types.DYN
        if inner.name == "map" and inner.params:
            found = inner.params[1]
        elif inner.is_parameter:
            self.assignable(types.DYN, inner)
        elif inner.name in self.environment.objects:
            found = self.environment.objects[inner.name].get(field, unify.ERROR)
            if found == unify.ERROR:
                self.fault(f"undefined field '{field}'", node.at, node.span)
        elif inner.name.startswith("kubernetes."):
            text = f"unexpected failed resolution of '{inner}'"
            self.fault(text, node.at, node.span)
            found = unify.ERROR
        elif not unify.is_open(inner):
            text = f"type '{self.closed(inner)}' does not support field selection"
            self.fault(text, node.at, node.span)
        return types.optional_of(found) if is_optional else found

    # --- calls ----------------------------------------------------------------------------------

    def call(self, node: Call) -> Type:
        if node.function == "_?._":
            return self.optional_select(node)
        if node.function in ("_&&_", "_||_"):
            return self.logical(node)
        for arg in node.args:
            self.check(arg)
        target, function = node.target, node.function
        if target is not None:
            prefix = qualified_name(target)
            whole = f"{prefix}.{function}".removeprefix(".") if prefix else ""
            if whole in self.environment.functions:
                return self.resolved(node, whole, None)
            self.check(target)
        name = function.removeprefix(".") if target is None else function
        if name not in self.environment.functions:
            text = f"undeclared reference to '{function}' (in container '')"
            self.fault(text, node.at, node.span)
            return unify.ERROR
        return self.resolved(node, name, target)

    def logical(self, node: Call) -> Type:
        fits = [self.check_as(arg, types.BOOL) for arg in node.args]
        overloads = self.environment.functions[node.function]
        self.calls[node.id] = Resolution(node.function, overloads, None, tuple(node.args))
        return types.BOOL if all(fits) else unify.ERROR

    def optional_select(self, node: Call) -> Type:
        operand, key = node.args
        assert isinstance(key, Literal)
        self.check(key)
        found = self.field(node, operand, key.value, is_optional=True)
        self.calls[node.id] = Resolution(node.function, (), None, (operand, key))
        return found

    def resolved(self, node: Call, function: str, target: Node | None) -> Type:
        """Keep the overloads whose parameters the arguments fit."""
        operands = [*([target] if target is not None else []), *node.args]
        given = [self.bound(self.types[operand.id]) for operand in operands]
        fitting: list[Overload] = []
        result: Type | None = None
        for overload in self.environment.functions[function]:
            if overload.is_member != (target is not None) or len(overload.params) != len(given):
                continue
            if given and not _may_fit(given[0], overload.params[0]):
                continue
            params, declared = self.instantiated(overload)
            bindings = unify.assignable(self.bindings, given, params)
            if bindings is None:
                continue
            self.bindings = bindings
            fitting.append(overload)
            found = self.bound(declared)
            if result is None:
                result = found
            elif not unify.is_dynamic(result) and result != found:
                result = types.DYN
        self.calls[node.id] = Resolution(function, tuple(fitting), target, tuple(node.args))
        if result is None:
            self.no_overload(node, function, given, target is not None)
            return unify.ERROR
        return result

    def instantiated(self, overload: Overload) -> tuple[list[Type], Type]:
        """The signature with parameters of its own, so that two calls do not share them."""
        fresh: dict[Type, Type] = {}
        for each in (*overload.params, overload.result):
            for parameter in _parameters(each):
                if parameter not in fresh:
                    fresh[parameter] = self.fresh()
        if not fresh:
            return list(overload.params), overload.result
        params = [unify.substitute(fresh, each) for each in overload.params]
        return params, unify.substitute(fresh, overload.result)

    def no_overload(self, node: Call, function: str, given: list[Type], is_member: bool) -> None:
        names = [str(self.closed(each)) for each in given]
        signature = f"({', '.join(names)})"
        if is_member:
            signature = f"{names[0]}.({', '.join(names[1:])})"
        text = f"found no matching overload for '{function}' applied to '{signature}'"
        self.fault(text, node.at, node.span)

    # --- literals ---------------------------------------------------------------------------------

    def list_literal(self, node: ListNode) -> Type:
        element: Type | None = None
        for position, each in enumerate(node.elements):
            found = self.check(each)
            if position in node.optional:
                found = self.unwrapped(each, found)
            element = self.joined(element, found)
        return types.list_of(self.fresh() if element is None else element)

    def map_literal(self, node: MapNode) -> Type:
        key: Type | None = None
        value: Type | None = None
        for entry in node.entries:
            key = self.joined(key, self.check(entry.key))
            found = self.check(entry.value)
            if entry.is_optional:
                found = self.unwrapped(entry.value, found)
            value = self.joined(value, found)
        if key is None or value is None:
            return types.map_of(self.fresh(), self.fresh())
        return types.map_of(key, value)

    def unwrapped(self, node: Node, given: Type) -> Type:
        given = self.bound(given)
        if given.name == "optional_type":
            return given.params[0]
        if not unify.is_open(given):
            self.mismatch(node, types.optional_of(given), given)
        return given

    def joined(self, previous: Type | None, current: Type) -> Type:
        """The type of both; that they are the same is asked by `validate`, formats excepted."""
        if previous is None:
            return current
        if self.assignable(previous, current):
            return unify.most_general(self.bound(previous), self.bound(current))
        return types.DYN

    def message(self, node: Message) -> Type:
        name = node.type_name.removeprefix(".")
        declared = self.environment.objects.get(name)
        for each in node.fields:
            given = self.check(each.value)
            if declared is None:
                continue
            wanted = declared.get(each.name)
            if wanted is None:
                self.fault(f"undefined field '{each.name}'", each.at, each.span)
            elif not self.assignable(wanted, given):
                text = f"expected type of field '{each.name}' is '{wanted}' but provided type is "
                self.fault(f"{text}'{self.closed(given)}'", each.at, each.span)
        if declared is None:
            text = f"undeclared reference to '{node.type_name}' (in container '')"
            self.fault(text, node.at, node.span)
            return unify.ERROR
        return messages.RESULTS.get(name, Type(name))

    # --- loops ------------------------------------------------------------------------------------

    def fold(self, node: Fold) -> Type:
        given = self.bound(self.check(node.range))
        accumulated = self.check(node.init)
        first, second = self.loop_types(node, given)
        with self.scope({node.accu: accumulated}):
            loop = {node.iter_var: first}
            if node.iter_var2:
                loop[node.iter_var2] = second
            with self.scope(loop):
                self.check_as(node.condition, types.BOOL)
                self.check_as(node.step, accumulated)
            return self.bound(self.check(node.result))

    def check_as(self, node: Node, wanted: Type) -> bool:
        """Check a node and say whether it has the type; a fault if not."""
        given = self.check(node)
        if self.assignable(wanted, given):
            return True
        self.mismatch(node, wanted, given)
        return False

    def loop_types(self, node: Fold, given: Type) -> tuple[Type, Type]:
        if given.name == "list" and given.params:
            (element,) = given.params
            return (types.INT, element) if node.iter_var2 else (element, element)
        if given.name == "map" and given.params:
            return given.params[0], given.params[1]
        if given == types.DYN or given == unify.ERROR or given.is_parameter:
            self.assignable(types.DYN, given)
            return types.DYN, types.DYN
        text = (
            f"expression of type '{self.closed(given)}' cannot be range of a comprehension"
            " (must be list, map, or dynamic)"
        )
        self.fault(text, node.range.at, node.range.span)
        return unify.ERROR, unify.ERROR

    @contextmanager
    def scope(self, names: dict[str, Type]) -> Iterator[None]:
        self.scopes.append(names)
        yield
        self.scopes.pop()


def _may_fit(given: Type, wanted: Type) -> bool:
    """A quick look before the full question: two plain types of different names."""
    return (
        given.name == wanted.name
        or given.is_parameter
        or wanted.is_parameter
        or unify.go_together(given, wanted)
    )


def _parameters(each: Type) -> Iterator[Type]:
    if each.is_parameter:
        yield each
    for param in each.params:
        yield from _parameters(param)
