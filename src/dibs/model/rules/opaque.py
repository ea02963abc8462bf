"""The rules of driver parameters and other raw JSON: an object, not too long, not too deep.

What the parameters mean is known to the driver alone. Their length is that of compact JSON.
"""

from __future__ import annotations

import json
from typing import Any

from dibs.model.objects import OpaqueDeviceConfiguration
from dibs.model.rules import faults, fields, limits
from dibs.model.rules.fields import Faults
from dibs.values import names

OMITTED = "<value omitted>"


def configuration(
    value: OpaqueDeviceConfiguration | None, path: str, *, is_stored: bool = False
) -> Faults:
    """`path` is that of the entry; its only member is `opaque`."""
    here = f"{path}.opaque"
    if value is None:
        yield faults.required(here)
        return
    yield from fields.driver(value.driver, f"{here}.driver")
    yield from raw(
        value.parameters, f"{here}.parameters", limits.PARAMETERS_LENGTH, is_stored=is_stored
    )


def raw(tree: Any, path: str, limit: int, *, is_stored: bool = False) -> Faults:
    """What was stored before the limit came (1.32) stays good."""
    if tree is None:
        yield faults.required(path)
    elif _is_deep(tree):
        text = f"must not be nested more than {limits.PARAMETERS_DEPTH} levels"
        yield faults.invalid(path, OMITTED, text)
    elif not is_stored and _length(tree) > limit:
        yield faults.too_long(path, limit)
    elif not isinstance(tree, dict):
        yield faults.invalid(path, OMITTED, "must be a valid JSON object")


def _is_deep(tree: Any) -> bool:
    """Whether a tree is deeper than allowed; level by level, so that depth costs no stack."""
    level = [tree]
    for _ in range(limits.PARAMETERS_DEPTH):
        level = [
            child
            for node in level
            if isinstance(node, dict | list | tuple)
            for child in (node.values() if isinstance(node, dict) else node)
        ]
        if not level:
            return False
    return True


def _length(tree: Any) -> int:
    text = json.dumps(tree, ensure_ascii=False, separators=(",", ":"), default=str)
    return names.size(text)
