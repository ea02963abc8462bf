"""Tree → text that parses to the same tree: parentheses where they are needed, macros as written.

For messages and for tests (`parse(unparse(node)) == node`); the layout of the source is lost.
"""

from __future__ import annotations

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
    flat,
)
from dibs.cel.runtime import UInt, Value

# How tightly each kind of expression holds together.
TERNARY, OR, AND, RELATION, SUM, PRODUCT, UNARY, MEMBER = range(8)

_BINARY = {
    "_||_": ("||", OR),
    "_&&_": ("&&", AND),
    **{f"_{sign}_": (sign, RELATION) for sign in ("<", "<=", ">", ">=", "==", "!=")},
    "@in": ("in", RELATION),
    "_+_": ("+", SUM),
    "_-_": ("-", SUM),
    "_*_": ("*", PRODUCT),
    "_/_": ("/", PRODUCT),
    "_%_": ("%", PRODUCT),
}
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def unparse(node: Node) -> str:
    return _text(node)[0]


def _text(node: Node) -> tuple[str, int]:
    """The text of a node, and how tightly it holds together."""
    match node:
        case Literal(value=value):
            return literal(value), MEMBER
        case Ident(name=name):
            return name, MEMBER
        case Select(operand=operand, field=field, is_test=is_test):
            text = f"{_at_least(operand, MEMBER)}.{field}"
            return (f"has({text})" if is_test else text), MEMBER
        case Call():
            return _call(node)
        case ListNode(elements=elements, optional=optional):
            parts = [("?" if i in optional else "") + unparse(e) for i, e in enumerate(elements)]
            return f"[{', '.join(parts)}]", MEMBER
        case MapNode(entries=entries):
            parts = [
                f"{'?' if entry.is_optional else ''}{unparse(entry.key)}: {unparse(entry.value)}"
                for entry in entries
            ]
            return f"{{{', '.join(parts)}}}", MEMBER
        case Message(type_name=name, fields=fields):
            parts = [
                f"{'?' if each.is_optional else ''}{each.name}: {unparse(each.value)}"
                for each in fields
            ]
            return f"{name}{{{', '.join(parts)}}}", MEMBER
        case Fold(written=written):
            assert written is not None
            return _call(written)


def _at_least(node: Node, wanted: int) -> str:
    text, level = _text(node)
    return text if level >= wanted else f"({text})"


def _call(node: Call) -> tuple[str, int]:
    function, args = node.function, node.args
    if function in _BINARY:
        return _binary(node)
    match function, args:
        case "_?_:_", [condition, truthy, falsy]:
            if written := _optional_macro(node):
                return _call(written)
            parts = (_at_least(condition, OR), _at_least(truthy, OR), unparse(falsy))
            return "{} ? {} : {}".format(*parts), TERNARY
        case "!_" | "-_", [operand]:
            text = _at_least(operand, MEMBER)
            # `-1` is a literal and `--x` is x: parentheses keep them apart.
            if text[0] in "-!" or text[0].isdigit() or text[0] == ".":
                text = f"({text})"
            return function[0] + text, UNARY
        case "_[_]", [operand, key]:
            return f"{_at_least(operand, MEMBER)}[{unparse(key)}]", MEMBER
        case "_[?_]", [operand, key]:
            return f"{_at_least(operand, MEMBER)}[?{unparse(key)}]", MEMBER
        case "_?._", [operand, Literal(value=field)]:
            return f"{_at_least(operand, MEMBER)}.?{field}", MEMBER
    before = f"{_at_least(node.target, MEMBER)}." if node.target is not None else ""
    return f"{before}{function}({', '.join(map(unparse, args))})", MEMBER


def _optional_macro(node: Call) -> Call | None:
    """`optMap` and `optFlatMap` become a ternary around a bound name."""
    body = node.args[1]
    if isinstance(body, Call) and body.function == "optional.of" and len(body.args) == 1:
        body = body.args[0]
    if isinstance(body, Fold) and body.macro in ("optMap", "optFlatMap"):
        return body.written
    return None


def _binary(node: Call) -> tuple[str, int]:
    sign, level = _BINARY[node.function]
    left, right = node.args
    if level in (OR, AND):
        if _is_balanced(node):
            terms = [_at_least(term, level + 1) for term in flat(node, node.function)]
            return f" {sign} ".join(terms), level
        return f"{_at_least(left, level + 1)} {sign} {_at_least(right, level + 1)}", level
    return f"{_at_least(left, level)} {sign} {_at_least(right, level + 1)}", level


def _is_balanced(node: Call) -> bool:
    """Whether the tree is the one that a chain without parentheses becomes."""
    return _operators(node, node.function) >= 0


def _operators(node: Node, function: str) -> int:
    """How many operators a balanced tree has; -1 when it is not balanced."""
    if not isinstance(node, Call) or node.function != function:
        return 0
    left, right = (_operators(arg, function) for arg in node.args)
    total = left + right + 1
    return total if left >= 0 and right >= 0 and left == total // 2 else -1


def literal(value: Value) -> str:
    """A constant as it is written."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case UInt():
            return f"{int(value)}u"
        case bytes():
            return 'b"' + "".join(f"\\x{byte:02x}" for byte in value) + '"'
        case str():
            return '"' + "".join(_ESCAPES.get(char, char) for char in value) + '"'
    return repr(value)
