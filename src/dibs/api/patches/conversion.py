"""Objects and their schemas in the versions that owners wrote in.

The difference of the versions is `model.versions`'; here it is only asked for whole objects.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from dibs.api.patches.refused import bad_request
from dibs.api.schema import reading
from dibs.api.schema.shapes import ListOf, MapOf, Record
from dibs.model import versions

OtherShape = versions.OtherShape

Tree = dict[str, Any]


def head(tree: Tree) -> tuple[str, str]:
    """Return `apiVersion` and `kind`. Raises Refused."""
    version, kind = tree.get("apiVersion"), tree.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str) or not version or not kind:
        raise bad_request("the object must say its apiVersion and kind")
    return version, kind


def record(version: str, kind: str) -> Record:
    found = record_or_none(version, kind)
    if found is None:
        raise bad_request(f"invalid object type: {version}, Kind={kind}")
    return found


def record_or_none(version: str, kind: str) -> Record | None:
    """None for a version that is served no more, or not yet."""
    return reading.record_of(version, kind)


@cache
def nothing(version: str, kind: str) -> Tree:
    """Return the object before it is created. Nobody owns its structs: the API always has them.

    Not to be changed.
    """
    return {"apiVersion": version, "kind": kind, **_empty(record(version, kind))}


def _empty(shape: Record) -> Tree:
    tree: Tree = {}
    for name, field in shape.fields.items():
        if isinstance(field.shape, Record) and not field.is_pointer:
            tree[name] = _empty(field.shape)
        elif isinstance(field.shape, ListOf | MapOf) and field.is_always:
            tree[name] = None
    return tree


def convert(tree: Tree, version: str) -> Tree:
    """Return the object in another version of its group. Raises OtherShape."""
    here, kind = tree.get("apiVersion"), tree.get("kind")
    if here == version or not isinstance(here, str) or not isinstance(kind, str):
        return tree
    newest = versions.up(kind, here.rpartition("/")[2], tree)
    return {**versions.down(kind, version.rpartition("/")[2], newest), "apiVersion": version}
