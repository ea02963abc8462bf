"""Make a question smaller for as long as what is interesting about it stays.

Delta debugging over the question's JSON tree: entries of lists and keys of objects are left out
one by one, whole slices and claims first, until nothing more can go. What the API server would
refuse is not tried, so that the smallest question is a world that could be (worlds may have
faults from the start; they get no other ones).
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dibs.model import codec
from dibs.model.rules import check

Tree = dict[str, Any]
Path = tuple[str | int, ...]

_KINDS = {
    "slices": "ResourceSlice",
    "classes": "DeviceClass",
    "claims": "ResourceClaim",
    "allocated": "ResourceClaim",
}


def smallest(question: Mapping[str, Any], is_interesting: Callable[[Tree], bool]) -> Tree:
    """The question with all left out that needn't be there. It is interesting itself."""
    found: Tree = copy.deepcopy(dict(question))
    wrong = faults(found)
    while True:
        before = found
        # Long paths last: what holds much goes first. Of a list the last entry goes first, so
        # that the paths of the others stay what they are.
        for path in sorted(_paths(found), key=len):
            for less in _without(found, path):
                if faults(less) <= wrong and is_interesting(less):
                    found = less
                    break
        if found is before:
            return found


def faults(question: Mapping[str, Any]) -> Counter[str]:
    """For which reasons, and how often, the API server would refuse objects of the question."""
    found: Counter[str] = Counter()
    for key, kind in _KINDS.items():
        for tree in question.get(key) or ():
            decoded = codec.decode(tree, api_version="resource.k8s.io/v1", kind=kind)
            assert decoded.object is not None, decoded.faults
            found.update(fault.message for fault in decoded.faults)
            found.update(fault.body for fault in check.validate(decoded.object))
    return found


def _paths(question: Tree) -> Iterator[Path]:
    for key in _KINDS:
        yield from _inside(question.get(key), (key,))
    for feature, is_on in (question.get("features") or {}).items():
        # A feature that is off is what is odd.
        if not is_on:
            yield ("features", feature)


def _inside(tree: object, path: Path) -> Iterator[Path]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield (*path, key)
            yield from _inside(value, (*path, key))
    elif isinstance(tree, list):
        for index in reversed(range(len(tree))):
            yield (*path, index)
            yield from _inside(tree[index], (*path, index))


def _without(question: Tree, path: Path) -> Iterator[Tree]:
    """The question without what stands at the path, in one way or two; none if nothing does."""
    less = copy.deepcopy(question)
    parent: Any = less
    try:
        for step in path:
            parent, last = parent[step], parent
    except (KeyError, IndexError):
        return
    parent = last
    if path[0] == "features":
        parent[path[-1]] = True
        yield less
        return
    gone = parent.pop(path[-1])
    if not less.get("claims"):
        return  # who asks for nothing gets it
    if path[0] == "slices" and len(path) == 2:
        # A pool announces how many slices it has: without one it would be incomplete.
        yield _announcing_less(less, gone)
    yield less


def _announcing_less(question: Tree, gone: Tree) -> Tree:
    less = copy.deepcopy(question)
    for slice_ in less["slices"]:
        spec, its = slice_["spec"], gone["spec"]
        if spec["driver"] == its["driver"] and spec["pool"]["name"] == its["pool"]["name"]:
            spec["pool"]["resourceSliceCount"] = max(1, spec["pool"]["resourceSliceCount"] - 1)
    return less
