"""What an expression looks at: the paths from its variables, as far as they are written out.

Allocation asks one selector of thousands of devices that differ in a uuid it never reads; the
answer can be shared by all that agree on what it does read.
"""

from __future__ import annotations

from collections.abc import Iterator

from dibs.cel import ast
from dibs.cel.ast import Call, Fold, Ident, ListNode, Literal, Node, Select
from dibs.cel.check import Checked

Read = tuple[str, ...]

_STEPS = frozenset(("_[_]", "_[?_]", "_?._"))


def of(checked: Checked) -> frozenset[Read]:
    """All paths that are read; where a key is computed, the path to the map as a whole."""
    found: set[Read] = set()
    pending: list[tuple[Node, frozenset[str]]] = [(checked.root, frozenset())]
    seen: set[int] = set()
    while pending:
        node, hidden = pending.pop()
        if node.id in checked.type_values or node.id in seen:
            continue
        seen.add(node.id)
        path = _path(node)
        if path is not None and path[0] in checked.environment.variables and path[0] not in hidden:
            found.add(path)
            # Keys written in the chain were constants; there is nothing else below.
            continue
        if isinstance(node, Fold):
            pending.append((node.range, hidden))
            pending.append((node.init, hidden))
            inner = hidden | {node.accu, node.iter_var, node.iter_var2}
            pending.extend((each, inner) for each in (node.condition, node.step, node.result))
        else:
            pending.extend((child, hidden) for child in ast.children(node))
    return frozenset(found)


def pins(root: Node) -> Iterator[tuple[Read, frozenset[str]]]:
    """Paths that must lead to one of some texts, or the expression isn't true.

    Of the parts that are joined by && those that say `path == "text"` or `path in ["text", …]`.
    """
    pending = [root]
    while pending:
        node = pending.pop()
        if not isinstance(node, Call) or node.target is not None or len(node.args) != 2:
            continue
        one, other = node.args
        match node.function, one, other:
            case "_&&_", _, _:
                pending += (other, one)
            case ("_==_", Literal(value=str(text)), path) | (
                "_==_",
                path,
                Literal(value=str(text)),
            ):
                found = _path(path)
                if found is not None:
                    yield found, frozenset([text])
            case "@in", path, ListNode(elements=elements, optional=optional) if not optional:
                found = _path(path)
                texts = [each.value for each in elements if isinstance(each, Literal)]
                strings = frozenset(text for text in texts if isinstance(text, str))
                if found is not None and len(texts) == len(elements) and len(strings) == len(texts):
                    yield found, strings


def _path(node: Node) -> Read | None:
    """`device.attributes["d"].x` as names; None when it is no such path."""
    keys: list[Node | str] = []
    while True:
        if isinstance(node, Select):
            keys.append(node.field)
            node = node.operand
        elif isinstance(node, Call) and node.function in _STEPS and node.target is None:
            keys.append(node.args[1])
            node = node.args[0]
        else:
            break
    if not isinstance(node, Ident):
        return None
    names = [node.name.removeprefix(".")]
    for key in reversed(keys):
        name = key.value if isinstance(key, Literal) else key
        if not isinstance(name, str):
            # Not a name: what the shorter path leads to is read as a whole.
            return None
        names.append(name)
    return tuple(names)
