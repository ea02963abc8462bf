"""Fields that a body has and its kind hasn't, and fields that it has twice.

The API server warns of them or refuses the body, as `fieldValidation` asks; the words are those it
uses. Nothing is looked for inside of what only a driver understands.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from dibs.api.patches.refused import bad_request
from dibs.api.schema.shapes import ListOf, MapOf, Record, Shape
from dibs.model import json_reader, paths

Tree = dict[str, Any]

# More than these are not told; nobody reads them.
MAX_TOLD = 100


def unknown_fields(tree: object, record: Record) -> list[str]:
    """Return `unknown field "spec.foo"` for each, in the order of the body."""
    found: list[str] = []
    for path in _unknown(tree, record, ""):
        found.append(f'unknown field "{path}"')
        if len(found) == MAX_TOLD:
            break
    return found


def _unknown(value: object, shape: Shape, path: str) -> Iterator[str]:
    match shape, value:
        case Record(), dict():
            for name, part in value.items():
                at = f"{path}.{name}" if path else name
                known = shape.fields.get(name)
                if known is not None:
                    yield from _unknown(part, known.shape, at)
                elif not (shape.kind and name in ("apiVersion", "kind")):
                    yield at
        case MapOf(item), dict() if not _is_leaf(item):
            for name, part in value.items():
                yield from _unknown(part, item, f"{path}.{name}")
        case ListOf(item), list() if not _is_leaf(item):
            for index, part in enumerate(value):
                yield from _unknown(part, item, f"{path}[{index}]")


def _is_leaf(shape: Shape) -> bool:
    return not isinstance(shape, Record | MapOf | ListOf)


def parse_json(content: bytes) -> tuple[Any, list[str]]:
    """Return the value and `duplicate field "spec.foo"` for each key that stands twice.

    The last one counts. Raises Refused (400) for what is no JSON.
    """
    try:
        tree: Any = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise bad_request(f"the body is no JSON: {fault}") from None
    except RecursionError:
        raise bad_request("the body is no JSON that can be read: nested too deeply") from None
    if not json_reader.may_repeat_keys(content, tree):
        return tree, []
    repeats = json_reader.survey(content.decode()).repeats[:MAX_TOLD]
    return tree, [f'duplicate field "{paths.plain(each.steps)}"' for each in repeats]
