"""Objects as the rows of a Table, which is what `kubectl get` asks for.

`columns` has what is in the cells. Rows carry the object, its metadata, or nothing, as asked.
Source: meta.k8s.io/v1 Table, PartialObjectMetadata.
"""

from __future__ import annotations

from typing import Any, Literal

from dibs.api import columns, convert
from dibs.api.calls import Call, Tree
from dibs.api.cells import Moment

Include = Literal["None", "Metadata", "Object"]
INCLUDES: tuple[Include, ...] = ("None", "Metadata", "Object")
API_VERSION = "meta.k8s.io/v1"


def table(
    call: Call,
    trees: list[Tree],
    moment: Moment,
    include: Include,
    metadata: dict[str, object],
    *,
    with_columns: bool = True,
) -> Tree:
    """Return the Table of stored trees; the columns can be left out after the first of a watch."""
    return {
        "kind": "Table",
        "apiVersion": API_VERSION,
        "metadata": metadata,
        "columnDefinitions": _definitions(call) if with_columns else None,
        "rows": [_row(call, tree, moment, include) for tree in trees],
    }


def _definitions(call: Call) -> list[dict[str, Any]]:
    return [
        {
            "name": column.name,
            "type": column.type,
            "format": "name" if column.name == "Name" else "",
            "description": column.doc,
            "priority": int(column.is_wide),
        }
        for column in columns.of(call.resource)
    ]


def _row(call: Call, tree: Tree, moment: Moment, include: Include) -> dict[str, Any]:
    row: dict[str, Any] = {
        "cells": [column.read(tree, moment) for column in columns.of(call.resource)]
    }
    if include == "Object":
        row["object"] = convert.down(call.resource, call.version, tree)
    elif include == "Metadata":
        row["object"] = partial(tree)
    return row


def partial(tree: Tree) -> Tree:
    """Return the object's metadata alone, as its own kind of object."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": API_VERSION,
        "metadata": tree["metadata"],
    }
