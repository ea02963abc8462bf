"""Whether what somebody applies is of its kind: only known fields, right types, no doubles.

Server-side apply must know of each field who owns it, so it refuses what the schema doesn't know
where other writes would warn. Limits and rules of the API are asked later, of the merged object.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dibs.api.patches import entries, fieldsets, typed
from dibs.api.patches.refused import bad_request
from dibs.api.schema.shapes import ListOf, MapOf, Record, Scalar, Shape

Tree = dict[str, Any]

_MOST_TOLD = 20
_WANTED = {
    "int32": "numeric", "int64": "numeric", "double": "numeric", "bool": "boolean",
    "Quantity": "any scalar", "IntOrString": "any scalar",
}  # fmt: skip


def check(tree: Tree, record: Record) -> None:
    """Raises Refused (400) with what is wrong, each with its path."""
    found = []
    for fault in _faults(tree, record, ""):
        found.append(fault)
        if len(found) == _MOST_TOLD:
            break
    if not found:
        return
    metadata = entries.metadata_of(tree)
    who = f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}"
    what = f"{tree.get('apiVersion')}, Kind={tree.get('kind')}"
    detail = found[0] if len(found) == 1 else "errors:\n" + "\n".join(f"  {it}" for it in found)
    raise bad_request(f"failed to create typed patch object ({who}; {what}): {detail}")


def _faults(value: Any, shape: Shape, path: str) -> Iterator[str]:
    if value is None:
        return
    match shape:
        case Record():
            if not isinstance(value, dict):
                yield f"{path}: expected map, got {_shown(value)}"
                return
            for name, part in value.items():
                known = shape.fields.get(name)
                if known is not None:
                    yield from _faults(part, known.shape, f"{path}.{name}")
                elif not (shape.kind and name in ("apiVersion", "kind")):
                    yield f"{path}.{name}: field not declared in schema"
        case MapOf(item):
            if not isinstance(value, dict):
                yield f"{path}: expected map, got {_shown(value)}"
                return
            for name, part in value.items():
                yield from _faults(part, item, f"{path}.{name}")
        case ListOf():
            if not isinstance(value, list):
                yield f"{path}: expected list, got {_shown(value)}"
                return
            yield from _faults_of_list(value, shape, path)
        case Scalar(name):
            yield from _faults_of_scalar(value, name, path)


def _faults_of_list(items: list[Any], shape: ListOf, path: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, item in enumerate(items):
        at = f"{path}[{index}]"
        if shape.kind != "atomic":
            try:
                name = typed.element(item, shape)
            except typed.Untypable as fault:
                yield f"{path}: element {index}: {fault}"
                return
            at = f"{path}{fieldsets.shown((name,))}"
            if name in seen:
                yield f"{path}: duplicate entries for key {fieldsets.shown((name,))}"
            seen.add(name)
        yield from _faults(item, shape.item, at)


def _faults_of_scalar(value: Any, name: str, path: str) -> Iterator[str]:
    if name in ("Raw", "FieldsV1"):
        if not isinstance(value, dict):
            yield f"{path}: expected map, got {_shown(value)}"
        return
    wanted = _WANTED.get(name, "string")
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    fits = {
        "numeric": is_number,
        "boolean": isinstance(value, bool),
        "any scalar": is_number or isinstance(value, str | bool),
        "string": isinstance(value, str),
    }
    if not fits[wanted]:
        yield f"{path}: expected {wanted}, got {_shown(value)}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
