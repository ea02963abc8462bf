"""Looking into objects that come as JSON trees, of which nothing is promised."""

from __future__ import annotations

from typing import Any


def at(tree: Any, *path: str) -> Any:
    """Return what stands at a path; None where there is nothing, or something else on the way."""
    for step in path:
        if not isinstance(tree, dict):
            return None
        tree = tree.get(step)
    return tree
