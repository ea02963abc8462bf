"""JSON merge patch: what the patch says is put over the object, null takes away.

Source: RFC 7386.
"""

from __future__ import annotations

from typing import Any

from dibs.api.patches.refused import bad_request

Tree = dict[str, Any]


def merge(tree: Tree, patch: object) -> Tree:
    """Return `tree` with `patch` merged in. Raises Refused when the patch is no mapping."""
    if not isinstance(patch, dict):
        raise bad_request("a merge patch must be a JSON object")
    return _merged(tree, patch)


def _merged(tree: Tree, patch: Tree) -> Tree:
    result = dict(tree)
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict):
            old = result.get(name)
            result[name] = _merged(old if isinstance(old, dict) else {}, value)
        else:
            result[name] = value
    return result
