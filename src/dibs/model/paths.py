"""Paths into a tree: as steps, and as Kubernetes writes them.

`spec.devices[0].attributes[dra.net/mtu].int`: a dot before the field of an object, brackets around
an index or the key of a map. Which of the two a name is, a path's reader finds out from the tree.
"""

from __future__ import annotations

import re

Step = str | int
Steps = tuple[Step, ...]


def field(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def entry(path: str, key: Step) -> str:
    """The path of a list item or of an entry of a map."""
    return f"{path}[{key}]"


def joined(root: str, path: str) -> str:
    """Return `path` below `root`: "items[3]" and "spec" make "items[3].spec"."""
    if not root or not path:
        return root or path
    return root + path if path.startswith("[") else f"{root}.{path}"


def plain(steps: Steps) -> str:
    """Write steps of a tree whose types are unknown: what looks like a field name gets a dot."""
    path = ""
    for step in steps:
        is_name = isinstance(step, str) and step.isidentifier()
        path = field(path, str(step)) if is_name else entry(path, step)
    return path


# A key ends at the bracket that is followed by another step or by the end: keys may hold brackets.
_STEP = re.compile(r"\[(.*?)\](?=[.\[]|$)|\.?([^.\[]+)|(.)", re.DOTALL)


def steps(path: str) -> tuple[str, ...]:
    """Return the names, keys and indices of a path as texts."""
    return tuple(
        next(part for part in step.groups() if part is not None) for step in _STEP.finditer(path)
    )


def follow(tree: object, path: str) -> Steps:
    """Return the longest part of `path` that exists in `tree`, with list indices as numbers."""
    found: list[Step] = []
    for step in steps(path):
        if isinstance(tree, dict) and step in tree:
            tree = tree[step]
            found.append(step)
        elif isinstance(tree, list) and step.isdecimal() and int(step) < len(tree):
            tree = tree[int(step)]
            found.append(int(step))
        else:
            break
    return tuple(found)
