"""JSON patch: a list of operations, each on one place, all or none.

The operations are the library's; bounds and words are ours. Operations are done one by one, so that
copies of copies are stopped before they fill the memory.
Source: RFC 6902; the API server's bound of 10,000 operations.
"""

from __future__ import annotations

from typing import Any

import jsonpatch
import jsonpointer

from dibs.api.patches.refused import Refused, bad_request, invalid

Tree = dict[str, Any]

MAX_OPERATIONS = 10_000
# What all copies of one patch may add, about: as much as a request may bring.
MAX_COPIED_BYTES = 3 * 1024 * 1024
# An object deeper than this is none of ours; moves can build one out of little.
MAX_DEPTH = 100


def json_patch(tree: Tree, operations: object) -> Tree:
    """Return `tree` with the operations done in order.

    Raises Refused: 400 for what is no patch, 413 for too many operations, 422 for one that can't
    be done on this object, a failed test among them.
    """
    if not isinstance(operations, list):
        raise bad_request("a JSON patch must be a list of operations")
    if len(operations) > MAX_OPERATIONS:
        raise Refused(
            413,
            "RequestEntityTooLarge",
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, "
            f"got {len(operations)}",
        )
    result: Any = _copied(tree)
    copied = 0
    for index, operation in enumerate(operations):
        if not isinstance(operation, dict):
            raise bad_request(f"operation {index} of the JSON patch is no mapping")
        if _tests_absence(result, operation):
            continue
        copied += _size_of_copy(result, operation)
        if copied > MAX_COPIED_BYTES:
            raise invalid(f"the copies of the JSON patch exceed {MAX_COPIED_BYTES} bytes")
        result = _done(result, operation, index)
    if not isinstance(result, dict):
        raise invalid("the JSON patch leaves no object")
    if _is_deeper(result, MAX_DEPTH):
        raise invalid(f"the JSON patch nests the object deeper than {MAX_DEPTH} levels")
    return result


def _done(tree: Any, operation: Tree, index: int) -> Any:
    name = f"{operation.get('op')} operation {index} of the JSON patch"
    try:
        # The value is copied: what one operation puts in, a later one may change.
        return jsonpatch.apply_patch(tree, [_copied(operation)], in_place=True)
    except jsonpatch.InvalidJsonPatch as fault:
        raise bad_request(f"{name}: {fault}") from None
    except jsonpatch.JsonPatchTestFailed as fault:
        raise invalid(f"{name}: testing path {operation.get('path')} failed: {fault}") from None
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException) as fault:
        raise invalid(f"{name} does not apply: {fault}") from None
    except RecursionError:
        raise invalid(f"{name}: nested too deeply") from None


def _tests_absence(tree: Any, operation: Tree) -> bool:
    """Whether it tests that a field is null which isn't there: clients of Kubernetes do that."""
    path = operation.get("path")
    if operation.get("op") != "test" or operation.get("value", 0) is not None:
        return False
    if not isinstance(path, str):
        return False
    try:
        parent, name = jsonpointer.JsonPointer(path).to_last(tree)
    except jsonpointer.JsonPointerException:
        return False
    return isinstance(parent, dict) and name is not None and name not in parent


def _size_of_copy(tree: Any, operation: Tree) -> int:
    source = operation.get("from")
    if operation.get("op") != "copy" or not isinstance(source, str):
        return 0
    try:
        pointer = jsonpointer.JsonPointer(source)
    except jsonpointer.JsonPointerException:
        return 0  # told when it is done
    try:
        return len(repr(pointer.resolve(tree)))
    except jsonpointer.JsonPointerException:
        raise invalid(f"copy of the JSON patch does not apply: nothing is at {source}") from None
    except RecursionError:
        raise invalid("the JSON patch nests the object too deeply") from None


def _copied(tree: Any) -> Any:
    match tree:
        case dict():
            return {name: _copied(value) for name, value in tree.items()}
        case list():
            return [_copied(item) for item in tree]
        case _:
            return tree


def _is_deeper(tree: Any, depth: int) -> bool:
    """Level by level, for a tree that may be too deep to recurse into."""
    level = [tree]
    for _ in range(depth):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True
