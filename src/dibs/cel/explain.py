"""Why an expression came out as it did: the smallest part that decided, and what it saw.

The parts are evaluated again, one by one, so this is for people and not for every device. Texts
are plain English for the common shapes; for others the part and its values stand for themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dibs.cel import ast, runtime, wording
from dibs.cel.ast import Call, Fold, Ident, ListNode, Literal, Node, Select
from dibs.cel.check import Checked
from dibs.cel.code import Run
from dibs.cel.compile import Compiled
from dibs.cel.faults import Span
from dibs.cel.folds import UNSET
from dibs.cel.prices import LIMIT
from dibs.cel.runtime import EvaluationError, Map, Value
from dibs.cel.wording import Seen, Verdict

# What the evaluation of all parts may cost together: a person waits.
_MOST_SPENT = LIMIT


@dataclass(frozen=True, slots=True)
class Missing:
    """A key that was asked for: the path to it, and the keys that are there instead."""

    path: tuple[str, ...]
    present: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Why:
    """`text` at `span` decided, with `operands`; `parts` are its arms when several did together."""

    verdict: Verdict
    text: str
    span: Span
    phrase: str
    operands: tuple[Seen, ...] = ()
    parts: tuple[Why, ...] = ()
    missing: Missing | None = None


def why(checked: Checked, compiled: Compiled, activation: Mapping[str, Value]) -> Why:
    """Find what decided. Never raises: an error is what decided, too."""
    return _Inquiry(checked, compiled, activation).decided(checked.root)


def failed(checked: Checked, text: str) -> Why:
    """The answer when evaluation could not even begin."""
    return Why("error", checked.source.text, checked.root.span, text)


class _Inquiry:
    def __init__(
        self, checked: Checked, compiled: Compiled, activation: Mapping[str, Value]
    ) -> None:
        self.source = checked.source.text
        self.compiled = compiled
        self.activation = activation
        self.run = Run(activation, compiled.slots)
        # Names that `cel.bind` gives to a path.
        self.aliases: dict[str, tuple[str, ...]] = {}
        self.spent = 0

    def decided(self, node: Node) -> Why:
        answer = self.value(node)
        match node:
            case Call(function="_&&_" | "_||_"):
                return self.terms(node, answer)
            case Call(function="_?_:_", args=[condition, truthy, falsy]):
                chosen = self.value(condition)
                if isinstance(chosen, bool):
                    return self.decided(truthy if chosen else falsy)
                return self.decided(condition)
            case Call(function="!_", args=[operand]) if not isinstance(answer, EvaluationError):
                return self.negated(node, operand, answer)
            case Fold() if ast.is_bind(node):
                self.run.slots[self.compiled.bound[node.id]] = UNSET
                if path := self.path(node.init):
                    self.aliases[node.accu] = path
                return self.decided(node.result)
        if isinstance(answer, EvaluationError):
            return self.error(node, answer)
        return self.leaf(node, answer)

    def value(self, node: Node) -> Value | EvaluationError:
        """Evaluate a part; an error is returned. Each may cost as much as the whole may."""
        code = self.compiled.codes.get(node.id)
        if code is None:
            return None
        if self.spent > _MOST_SPENT:
            return EvaluationError("takes too long to look into")
        self.run.cost = 0
        try:
            return code.run(self.run)
        except EvaluationError as error:
            return error
        finally:
            self.spent += self.run.cost

    def text(self, node: Node) -> str:
        return self.source[node.span.start : node.span.end]

    # --- logic --------------------------------------------------------------------------------

    def terms(self, node: Call, answer: Value | EvaluationError) -> Why:
        terms = ast.flat(node, node.function)
        decisive = node.function == "_||_"
        if answer is decisive:
            return self.first(node, [term for term in terms if self.value(term) is decisive])
        if isinstance(answer, EvaluationError):
            return self.first(node, [term for term in terms if not _is_bool(self.value(term))])
        parts = tuple(self.decided(term) for term in terms)
        verdict = _verdict(answer)
        phrase = wording.joined(verdict, [part.phrase for part in parts])
        return Why(verdict, self.text(node), node.span, phrase, (), parts)

    def first(self, node: Node, deciding: list[Node]) -> Why:
        """The first of the terms that decided; none is left if looking takes too long."""
        if deciding:
            return self.decided(deciding[0])
        return Why("error", self.text(node), node.span, "takes too long to look into")

    def negated(self, node: Call, operand: Node, answer: Value) -> Why:
        """`!x`: false because x is true, of which it is said what x saw."""
        inner = self.decided(operand)
        phrase = f"{self.text(operand)} is false"
        if answer is False:
            phrase = f"{inner.phrase}, which the selector excludes"
        return Why(_verdict(answer), self.text(node), node.span, phrase, inner.operands)

    # --- errors -------------------------------------------------------------------------------

    def error(self, node: Node, error: EvaluationError) -> Why:
        """Go down to the part whose own parts are fine."""
        for child in self.below(node):
            found = self.value(child)
            if isinstance(found, EvaluationError):
                return self.error(child, found)
        missing = self.missing_of(node)
        operands = tuple(self.seen(child) for child in self.below(node))
        phrase = error.text
        if isinstance(node, Call) and error.text.startswith("no such overload") and operands:
            phrase = wording.misfit(node.function, operands)
        elif isinstance(node, Fold) and operands:
            phrase = f"{wording.told(operands[0])}, which is no list or map"
        return Why("error", self.text(node), node.span, phrase, operands, (), missing)

    def below(self, node: Node) -> tuple[Node, ...]:
        """Parts that can be evaluated on their own: not those inside of a loop."""
        if isinstance(node, Fold):
            return (node.range,)
        return tuple(child for child in ast.children(node) if child.span != node.span)

    def missing_of(self, node: Node) -> Missing | None:
        path = self.path(node)
        if path is None or len(path) < 2:
            return None
        holder = self.at(path[:-1])
        if not isinstance(holder, Map) or path[-1] in holder:
            return None
        return Missing(path, tuple(str(key) for key in holder))

    def at(self, path: tuple[str, ...]) -> Value:
        value: Value = self.activation
        for name in path:
            if not isinstance(value, Mapping) or name not in value:
                return runtime.EMPTY_MAP
            value = value[name]
        return value

    # --- what is true or false by itself ----------------------------------------------------------

    def leaf(self, node: Node, answer: Value) -> Why:
        verdict = _verdict(answer)
        wants = "selector wants" if verdict == "false" else "which is"
        operands: tuple[Seen, ...] = ()
        missing = None
        phrase = f"{self.text(node)} is {verdict}"
        match node:
            case Call(function=function, args=[left, right]) if function in wording.SIGNS:
                left, sign, right = self.compared(left, function, right)
                operands = (self.seen(left), self.seen(right))
                phrase = wording.says(operands, sign, verdict)
            case Call(function="@in", args=[left, right]):
                missing = self.absent(left, right) if verdict == "false" else None
                operands = (self.seen(left), self.seen(right))
                phrase = f"{wording.told(operands[0])}, {wants} one of "
                phrase += operands[1].value
                if not isinstance(right, ListNode):
                    says = "which includes" if verdict == "true" else "selector wants it to include"
                    phrase = f"{wording.told(operands[1])}, {says} "
                    phrase += operands[0].value
            case Call(target=target, args=args, function=function) if target is not None:
                operands = tuple(self.seen(each) for each in (target, *args))
                verb = wording.VERBS.get(function)
                if verb and len(operands) == 2:
                    says = f"selector wants {verb[0]}" if verdict == "false" else verb[1]
                    phrase = f"{wording.told(operands[0])}, {says} "
                    phrase += operands[1].value
            case Select(is_test=True):
                missing = self.absent_field(node) if verdict == "false" else None
                phrase = f"{node.field} is {'not ' if verdict == 'false' else ''}there"
            case Select() | Ident():
                operands = (self.seen(node),)
                phrase = wording.told(operands[0])
                phrase += ", selector wants true" if verdict == "false" else ""
            case Fold(written=Call(target=target)) if target is not None:
                operands = (self.seen(node.range),)
                macro = self.source[target.span.end + 1 : node.span.end]
                says = f"selector wants {macro}" if verdict == "false" else f"so {macro} holds"
                phrase = f"{wording.told(operands[0])}, {says}"
        return Why(verdict, self.text(node), node.span, phrase, operands, (), missing)

    def compared(self, left: Node, function: str, right: Node) -> tuple[Node, str, Node]:
        """The sides with the sign between them; `a.compareTo(b) >= 0` is `a >= b`."""
        if isinstance(left, Literal) and not isinstance(right, Literal):
            left, right, function = right, left, wording.MIRRORED[function]
        match left, right:
            case Call(function="compareTo", target=target, args=[other]), Literal(
                value=int(number)
            ):
                sign = wording.COMPARED.get((function, number))
                if sign and target is not None:
                    return target, sign, other
        return left, wording.SIGNS[function], right

    def absent(self, key: Node, holder: Node) -> Missing | None:
        path = self.path(holder)
        name = self.value(key)
        if path is None or not isinstance(name, str):
            return None
        found = self.at(path)
        return Missing((*path, name), tuple(map(str, found))) if isinstance(found, Map) else None

    def absent_field(self, node: Select) -> Missing | None:
        path = self.path(node.operand)
        found = self.at(path) if path else None
        if path is None or not isinstance(found, Map):
            return None
        return Missing((*path, node.field), tuple(map(str, found)))

    def path(self, node: Node) -> tuple[str, ...] | None:
        """`device.capacity["d"].memory` as names, from the variable on."""
        path = _path(node)
        return (*self.aliases.get(path[0], path[:1]), *path[1:]) if path else None

    def seen(self, node: Node) -> Seen:
        return Seen(self.text(node), _shown(self.value(node)))


def _path(node: Node) -> tuple[str, ...] | None:
    """`device.capacity["d"].memory` as names."""
    names: list[str] = []
    while True:
        match node:
            case Select(operand=operand, field=name):
                names.append(name)
                node = operand
            case Call(function="_[_]" | "_?._" | "_[?_]", args=[operand, Literal(value=str(name))]):
                names.append(name)
                node = operand
            case Ident(name=name):
                return (name, *reversed(names))
            case _:
                return None


def _is_bool(value: Value) -> bool:
    return value is True or value is False


def _verdict(value: Value) -> Verdict:
    return "false" if value is False else "true"


def _shown(value: Value) -> str:
    if isinstance(value, EvaluationError):
        return f"an error ({value.text})"
    if isinstance(value, runtime.Quantity):
        return value.as_written
    if isinstance(value, runtime.Semver):
        return str(value)
    return runtime.shown(value, 80)
