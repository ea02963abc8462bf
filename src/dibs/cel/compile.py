"""Checked tree → closures. What is constant is computed here, once.

Upstream computes constant lists, maps and conversions beforehand too and charges nothing for
them; when one of them fails, the expression does not compile ("program instantiation failed").
Source: cel-go, the interpreter's planner and its optimisations.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dibs.cel import ast, calls, chains, dispatch, folds, logic, messages, runtime, sizes
from dibs.cel.ast import Call, Fold, Ident, ListNode, Literal, MapNode, Message, Node, Select
from dibs.cel.chains import Step
from dibs.cel.check import Checked
from dibs.cel.code import Code, Evaluate, Instantiation, Run
from dibs.cel.libraries import regexes
from dibs.cel.runtime import EvaluationError, Optional, Value
from dibs.cel.types import Type

_CONVERSIONS = frozenset(
    ("bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint")
)
_STEPS = frozenset(("_[_]", "_[?_]", "_?._"))


@dataclass(frozen=True, slots=True)
class Compiled:
    """The root's code, each node's by number, and how many slots its names need.

    `bound` has the slot of each `cel.bind`, by number.
    """

    root: Code
    codes: dict[int, Code]
    slots: int
    bound: dict[int, int]


def compile_checked(checked: Checked) -> Compiled:
    """Compile. Raises `Instantiation` when a constant part can never be evaluated."""
    compiler = _Compiler(checked)
    root = compiler.code(checked.root)
    return Compiled(root, compiler.codes, compiler.slots, compiler.bound)


class _Compiler:
    def __init__(self, checked: Checked) -> None:
        self.checked = checked
        self.codes: dict[int, Code] = {}
        self.names: list[dict[str, Evaluate]] = []
        self.slots = 0
        self.bound: dict[int, int] = {}

    def code(self, node: Node) -> Code:
        known = self.codes.get(node.id)
        if known is None:
            try:
                known = self.codes[node.id] = self.made(node)
            except Instantiation as fault:
                fault.node = fault.node or node
                raise
        return known

    def made(self, node: Node) -> Code:
        match node:
            case Literal(value=value):
                return Code.constant(value)
            case Ident():
                return self.ident(node)
            case Select():
                return self.select(node)
            case Call():
                return self.call(node)
            case ListNode():
                return self.list_literal(node)
            case MapNode():
                return self.map_literal(node)
            case Message():
                return self.message(node)
            case Fold():
                return self.fold(node)

    # --- names and chains of selections -----------------------------------------------------------

    def ident(self, node: Ident) -> Code:
        if node.id in self.checked.type_values:
            return self.type_value(node)
        start, _ = self.start(node.name)

        def run(run: Run) -> Value:
            run.cost += 1
            return start(run)

        return Code(run, start)

    def type_value(self, node: Node) -> Code:
        named = self.checked.type_values[node.id].name
        if named in self.checked.environment.objects and not messages.is_known(named):
            raise Instantiation(f"reference to undefined type: {named}")
        return Code.constant(runtime.TypeValue(_RUNTIME_NAMES.get(named, named)))

    def start(self, name: str) -> tuple[Evaluate, str | None]:
        """How to fetch a name without charge; and the name, if it is one of the run's variables."""
        if not name.startswith("."):
            for scope in reversed(self.names):
                if name in scope:
                    return scope[name], None
        variable = name.removeprefix(".")

        def fetch(run: Run) -> Value:
            try:
                return run.variables[variable]
            except KeyError:
                raise EvaluationError(f"no such attribute(s): {variable}") from None

        return fetch, variable

    def select(self, node: Select) -> Code:
        if node.id in self.checked.type_values:
            return self.type_value(node)
        if node.is_test:
            return self.presence(node)
        return self.chain(node)

    def chain(self, node: Node) -> Code:
        root, steps = self.taken_apart(node)
        if isinstance(root, Ident) and root.id not in self.checked.type_values:
            start, variable = self.start(root.name)
            self.code(root)
            return chains.of_variable(start, variable, steps)
        return chains.of_value(self.code(root), steps)

    def presence(self, node: Select) -> Code:
        root, steps = self.taken_apart(node.operand)
        last = Step(node.field)
        if isinstance(root, Ident) and root.id not in self.checked.type_values:
            start, _ = self.start(root.name)
            return Code.of(chains.presence(start, steps, last, 0))
        begun = self.code(root)
        discount = 1 if begun.is_ternary else 0
        return Code.of(chains.presence(begun.run, steps, last, discount))

    def taken_apart(self, node: Node) -> tuple[Node, list[Step]]:
        """The node a chain starts from, and the steps from there."""
        steps: list[Step] = []
        while node.id not in self.checked.type_values:
            if isinstance(node, Select) and not node.is_test:
                steps.append(Step(node.field))
                node = node.operand
            elif isinstance(node, Call) and node.function in _STEPS and node.target is None:
                steps.append(self.index(node))
                node = node.args[0]
            else:
                break
        return node, steps[::-1]

    def index(self, node: Call) -> Step:
        is_optional = node.function != "_[_]"
        key = self.code(node.args[1])
        if not key.is_constant:
            return Step(None, key.bare, is_optional)
        return Step(_now(chains.usable_key, key.value), None, is_optional)

    # --- calls ------------------------------------------------------------------------------------

    def call(self, node: Call) -> Code:
        resolution = self.checked.calls[node.id]
        function = resolution.function
        if function in _STEPS:
            return self.chain(node)
        if function in ("_&&_", "_||_"):
            terms = [self.code(term).run for term in ast.flat(node, function)]
            return Code.of(logic.chain(terms, function == "_||_"))
        operands = [self.code(operand) for operand in resolution.operands]
        if function == "_?_:_":
            condition, truthy, falsy = operands
            return logic.ternary(condition.run, truthy.bare, falsy.bare)
        if function in ("_==_", "_!=_"):
            left, right = operands
            return Code.of(logic.equality(left, right, is_equal=function == "_==_"))
        if function in ("or", "orValue") and resolution.target is not None:
            unwraps, promised = function == "orValue", self.checked.types[node.id]
            return Code.of(_either(operands[0].run, operands[1].run, promised, unwraps=unwraps))
        if function == "@in" and operands[1].is_constant and len(resolution.overloads) == 1:
            items = operands[1].value
            if items == () and resolution.overloads[0].id == "in_list":
                return Code.constant(False)
            if resolution.overloads[0].id == "in_list" and logic.can_be_set(items):
                return Code.of(logic.membership(operands[0].run, items))
        given = [self.checked.types[operand.id] for operand in resolution.operands]
        if function in _CONVERSIONS and operands and operands[0].failure:
            raise Instantiation(operands[0].failure)
        if function in _CONVERSIONS and len(operands) == 1 and operands[0].is_constant:
            call = dispatch.dispatcher(function, resolution.overloads, given)
            return Code.constant(_now(call, operands[0].value))
        if function in ("matches", "find", "findAll") and operands[1].is_constant:
            if type(operands[1].value) is str:
                _now(regexes.compiled, operands[1].value)
        return calls.of(function, resolution.overloads, operands, given)

    # --- literals ---------------------------------------------------------------------------------

    def list_literal(self, node: ListNode) -> Code:
        parts = [self.code(each) for each in node.elements]
        if all(part.is_constant for part in parts):
            if node.optional:
                return _no_optional("list element", parts[min(node.optional)].value)
            return Code.constant(tuple(part.value for part in parts))
        runs = [(part.run, position in node.optional) for position, part in enumerate(parts)]

        def run(run: Run) -> Value:
            items: list[Value] = []
            try:
                for part, is_optional in runs:
                    value = part(run)
                    if not is_optional:
                        items.append(value)
                    elif _is_present(value, "list element"):
                        items.append(value.value)
            except EvaluationError:
                run.cost += sizes.LIST
                raise
            run.charge(sizes.LIST)
            return tuple(items)

        return Code.of(run)

    def map_literal(self, node: MapNode) -> Code:
        parts = [
            (self.code(entry.key), self.code(entry.value), entry.is_optional)
            for entry in node.entries
        ]
        if all(key.is_constant and value.is_constant for key, value, _ in parts):
            for _, value, is_optional in parts:
                if is_optional:
                    return _no_optional("map entry", value.value)
            pairs = [(key.value, value.value) for key, value, _ in parts]
            return Code.constant(_now(runtime.Map.of, pairs))
        runs = [(key.run, value.run, is_optional) for key, value, is_optional in parts]

        def run(run: Run) -> Value:
            entries: list[tuple[Value, Value]] = []
            try:
                for key, part, is_optional in runs:
                    name, value = key(run), part(run)
                    if not is_optional:
                        entries.append((name, value))
                    elif _is_present(value, "map entry"):
                        entries.append((name, value.value))
            except EvaluationError:
                run.cost += sizes.MAP
                raise
            run.charge(sizes.MAP)
            return runtime.Map.of(entries)

        return Code.of(run)

    def message(self, node: Message) -> Code:
        name = node.type_name.removeprefix(".")
        parts = [(each.name, self.code(each.value).run) for each in node.fields]

        def run(run: Run) -> Value:
            try:
                fields = {field: part(run) for field, part in parts}
            except EvaluationError:
                run.cost += sizes.MESSAGE
                raise
            run.charge(sizes.MESSAGE)
            return messages.build(name, fields)

        return Code.of(run)

    # --- loops ------------------------------------------------------------------------------------

    def fold(self, node: Fold) -> Code:
        if ast.is_bind(node):
            return self.bind(node)
        first = self.slot()
        scope = {node.iter_var: folds.slot_name(first)}
        second = -1
        if node.iter_var2:
            second = self.slot()
            scope[node.iter_var2] = folds.slot_name(second)
        loop = folds.Loop(self.code(node.range).run, first, second)
        with self.scope(scope):
            return Code.of(self.looped(node, loop))

    def looped(self, node: Fold, loop: folds.Loop) -> Evaluate:
        step = node.step
        assert isinstance(step, Call)
        match node.macro:
            case "all" | "exists":
                return folds.decided(loop, self.code(step.args[1]).run, node.macro == "exists")
            case "exists_one" | "existsOne":
                return folds.counted(loop, self.code(step.args[0]).run)
        kept = None
        if step.function == "_?_:_":
            kept = self.code(step.args[0]).run
            inner = step.args[1]
            assert isinstance(inner, Call)
            step = inner
        if step.function == "_+_":
            (element,) = ast.children(step.args[1])
            each = self.code(element)
            return folds.collected(loop, kept, each.run, is_constant=each.is_constant)
        *key, entry = (self.code(arg).run for arg in step.args[1:])
        return folds.entered(loop, kept, key[0] if key else None, entry)

    def bind(self, node: Fold) -> Code:
        slot = self.bound[node.id] = self.slot()
        name = folds.bound_name(slot, self.code(node.init).run)
        with self.scope({node.accu: name}):
            return Code.of(folds.bound(slot, self.code(node.result).run))

    def slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    @contextmanager
    def scope(self, names: dict[str, Evaluate]) -> Iterator[None]:
        self.names.append(names)
        yield
        self.names.pop()


# Types whose value prints another name than the checker's.
_RUNTIME_NAMES = {
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
    "null": "null_type",
}


def _now(call: object, *values: Value) -> Value:
    """Make a call on constants; its failure is the expression's."""
    assert callable(call)
    try:
        return call(*values)
    except EvaluationError as error:
        raise Instantiation(error.text) from None


def _is_present(value: Value, what: str) -> bool:
    if type(value) is not Optional:
        raise EvaluationError(_not_optional(what, value))
    return value.present


def _no_optional(what: str, value: Value) -> Code:
    """No constant is an optional, so `[?constant]` fails whenever it is asked for."""
    return Code.failing(_not_optional(what, value))


def _not_optional(what: str, value: Value) -> str:
    shown = runtime.as_text(value)
    return f"cannot initialize optional {what} from non-optional value {shown}"


def _either(optional: Evaluate, other: Evaluate, promised: Type, *, unwraps: bool) -> Evaluate:
    """`o.or(p)`, `o.orValue(v)`: the other only when it is needed; what is no optional stays."""

    def run(run: Run) -> Value:
        value = optional(run)
        if type(value) is not Optional:
            # Not if it belies the type that the checker has promised: all else relies on that.
            if not runtime.fits(value, promised):
                raise runtime.no_overload()
            return value
        if value.present:
            return value.value if unwraps else value
        return other(run)

    return run
