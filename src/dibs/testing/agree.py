"""Whether two answers of the conformance protocol say the same, and if not, where they differ.

Outcomes must be equal and, if allocated, so must the allocations: quantities by value, the order
of maps ignored, that of lists kept; absent, null and empty members are equal, except inside opaque
parameters, which are the driver's own. Shares are told apart by order of appearance. Messages and
reasons are for people and not compared.
"""

from __future__ import annotations

from collections.abc import Mapping

from dibs.values.quantity import NotAQuantity, Quantity

Tree = object

# Members whose values are quantities, or maps of them.
_AMOUNTS = ("consumedCapacity",)
_OPAQUE = ("parameters",)


def agree(one: Mapping[str, Tree], other: Mapping[str, Tree]) -> str | None:
    """Return why the answers differ ("allocations[0].devices: …"), or None when they agree."""
    if one.get("outcome") != other.get("outcome"):
        return f"outcome: {_said(one)} and {_said(other)}"
    if one.get("outcome") != "allocated":
        return None
    left, right = (
        _plain(one.get("allocations") or [], {}),
        _plain(other.get("allocations") or [], {}),
    )
    return _difference(left, right, "allocations")


def _said(answer: Mapping[str, Tree]) -> str:
    message = answer.get("message")
    return f"{answer.get('outcome')} ({message})" if message else str(answer.get("outcome"))


def _plain(tree: Tree, shares: dict[str, str], key: str = "") -> Tree:
    """The tree without empty members, amounts as numbers, shares numbered."""
    if key in _OPAQUE:
        return tree
    if key in _AMOUNTS and isinstance(tree, dict):
        return {name: _amount(text) for name, text in tree.items()}
    if key == "shareID" and isinstance(tree, str) and tree:
        return shares.setdefault(tree, f"share-{len(shares) + 1}")
    if isinstance(tree, dict):
        members = ((name, _plain(value, shares, name)) for name, value in sorted(tree.items()))
        return {name: value for name, value in members if not _is_empty(value)}
    if isinstance(tree, list):
        return [_plain(value, shares) for value in tree]
    return tree


def _is_empty(value: Tree) -> bool:
    return value is None or value == "" or value == [] or value == {}


def _amount(text: Tree) -> Tree:
    try:
        return Quantity.parse(str(text))
    except NotAQuantity:
        return text


def _difference(left: Tree, right: Tree, path: str) -> str | None:
    if isinstance(left, dict) and isinstance(right, dict):
        for name in sorted(left.keys() | right.keys()):
            if why := _difference(left.get(name), right.get(name), f"{path}.{name}"):
                return why
        return None
    if isinstance(left, list) and isinstance(right, list):
        for index, (mine, theirs) in enumerate(zip(left, right, strict=False)):
            if why := _difference(mine, theirs, f"{path}[{index}]"):
                return why
        if len(left) != len(right):
            return f"{path}: {len(left)} and {len(right)} entries"
        return None
    # 1 and True are equal in Python, but not in JSON.
    if type(left) is type(right) and left == right:
        return None
    return f"{path}: {left} and {right}"
