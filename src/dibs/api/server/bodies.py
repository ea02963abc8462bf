"""The body of a request: read in time and within bounds, and turned into a tree.

JSON and protobuf for objects, JSON or YAML for patches and applied objects. What the tree means is
left to others; that it is one, and not too deep, is settled here.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import msgspec
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from dibs.api import check, failures, patching
from dibs.api.calls import Call, Tree
from dibs.api.openapi import strict
from dibs.api.patches.refused import Refused
from dibs.api.patching import Patch
from dibs.api.protobuf import decode
from dibs.api.server.limits import Load
from dibs.model import paths, yaml_reader
from dibs.model.yaml_reader import Unreadable

JSON = "application/json"
YAML = ("application/yaml", "application/x-yaml", "text/yaml")
PROTOBUF = "application/vnd.kubernetes.protobuf"
_ACCEPTED = (JSON, YAML[0], PROTOBUF)


@dataclass(frozen=True, slots=True)
class Body:
    """`duplicates` are fields that stand twice: `duplicate field "spec.x"`."""

    tree: Tree
    duplicates: tuple[str, ...] = ()


async def content(request: web.BaseRequest, load: Load) -> bytes:
    """Return the bytes. Raises Failure: 413 too large, 408 too slow, 400 broken off."""
    bounds = load.limits
    if (request.content_length or 0) > bounds.body_bytes:
        raise failures.too_large(bounds.body_bytes)
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(bounds.body_s):
            async for part in request.content.iter_any():
                if size + len(part) > bounds.body_bytes:
                    raise failures.too_large(bounds.body_bytes)
                load.has_come(len(part))
                size += len(part)
                parts.append(part)
    except TimeoutError:
        raise failures.too_slow(bounds.body_s) from None
    except (HttpProcessingError, web.RequestPayloadError) as fault:
        raise failures.bad_request(f"the body can't be read: {fault}") from None
    finally:
        load.coming_bytes -= size
    return b"".join(parts)


async def an_object(request: web.BaseRequest, load: Load, api_version: str, kind: str) -> Body:
    """Return the object in the body, which is of that kind. Raises Failure: 400, 413, 415."""
    data = await content(request, load)
    return _object(_media(request), data, load, api_version, kind)


async def options(request: web.BaseRequest, load: Load) -> Tree | None:
    """Return the DeleteOptions in the body, None when it is empty."""
    data = await content(request, load)
    if not data.strip():
        return None
    tree = _object(_media(request), data, load, "v1", "DeleteOptions").tree
    return check.fitted("v1", "DeleteOptions", tree)


async def a_patch(request: web.BaseRequest, load: Load) -> Patch:
    """Raises Failure: 415 for a type that is no patch."""
    media = _media(request)
    if media not in patching.TYPES:
        raise failures.wrong_media_type(media, patching.TYPES)
    data = await content(request, load)
    if media != patching.APPLY:
        tree, duplicates = _json(data)
        return Patch(media, _shallow(tree, load), duplicates)
    tree, duplicates = _json_or_yaml(data)
    return Patch(media, _shallow(tree, load), duplicates)


def _json_or_yaml(data: bytes) -> tuple[Any, tuple[str, ...]]:
    """Most clients apply JSON, which is read a hundred times faster."""
    try:
        return _json(data)
    except failures.Failure:
        return _yaml(data)


def _media(request: web.BaseRequest) -> str:
    return request.headers.get("Content-Type", JSON).partition(";")[0].strip().lower()


def _object(media: str, data: bytes, load: Load, api_version: str, kind: str) -> Body:
    if media == PROTOBUF:
        try:
            return Body(_mapping(decode.decode(data, api_version, kind)))
        except Refused as refused:
            raise failures.Failure(refused.code, refused.reason, refused.message) from None
    if media == JSON:
        tree, duplicates = _json(data)
    elif media in YAML:
        tree, duplicates = _yaml(data)
    else:
        raise failures.wrong_media_type(media, _ACCEPTED)
    return Body(_mapping(_shallow(tree, load)), duplicates)


def _json(data: bytes) -> tuple[Any, tuple[str, ...]]:
    try:
        tree, duplicates = strict.parse_json(data)
    except Refused as refused:
        raise failures.Failure(refused.code, refused.reason, refused.message) from None
    return tree, tuple(duplicates)


def _yaml(data: bytes) -> tuple[Any, tuple[str, ...]]:
    try:
        reading = yaml_reader.read(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise failures.bad_request("the body is not UTF-8") from None
    except Unreadable as fault:
        where = f"line {fault.line}, column {fault.column}"
        raise failures.bad_request(f"the body is no YAML: {where}: {fault.message}") from None
    try:
        msgspec.json.encode(reading.tree)
    except UnicodeEncodeError:
        raise failures.bad_request("the body has halves of characters (\\ud800…)") from None
    repeats = tuple(f'duplicate field "{paths.plain(each.steps)}"' for each in reading.repeats)
    return reading.tree, repeats


def _mapping(tree: object) -> Tree:
    if not isinstance(tree, dict):
        what = "nothing" if tree is None else f"a {type(tree).__name__}"
        raise failures.bad_request(f"the body must be an object of the API, not {what}")
    return tree


def _shallow(tree: Any, load: Load) -> Any:
    """Raise Failure (400) when the tree is nested deeper than anything of ours."""
    level = [tree] if isinstance(tree, dict | list) else []
    for _ in range(load.limits.depth):
        if not level:
            return tree
        level = [
            inner
            for each in level
            for inner in (each.values() if isinstance(each, dict) else each)
            if isinstance(inner, dict | list)
        ]
    raise failures.bad_request(f"the body is nested deeper than {load.limits.depth} levels")


def kind_of(call: Call) -> tuple[str, str]:
    """Return the apiVersion and the kind of the body that a call's door takes."""
    door = call.resource.subresource(call.subresource) if call.subresource else None
    if door is None or not door.kind:
        return call.resource.api_version(call.version), call.resource.kind
    version = door.version or call.version
    return (f"{door.group}/{version}" if door.group else version), door.kind
