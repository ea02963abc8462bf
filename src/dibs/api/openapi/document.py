"""The documents behind `/openapi/v3`: one a group-version, and the index of them.

They change only with the program, so each is made once and kept as bytes; the hash of the bytes is
the ETag and stands in the index, so that clients may keep a document as long as they like.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache

import msgspec

from dibs import __version__
from dibs.api import kinds
from dibs.api.openapi import operations
from dibs.api.openapi.schemas import Components


@cache
def document(group: str, version: str) -> bytes:
    """Return the OpenAPI 3.0 document of a served group-version ("" is core) as JSON."""
    components = Components()
    resources = list(kinds.served_in(group, version))
    paths = operations.paths(resources, version, components)
    tree = {
        "openapi": "3.0.0",
        "info": {"title": "dibs", "version": f"v{__version__}"},
        "paths": paths,
        "components": {
            "schemas": components.sorted(),
            "securitySchemes": {
                "BearerToken": {
                    "description": "A token of dibs, as `Authorization: Bearer …`.",
                    "type": "http",
                    "scheme": "bearer",
                }
            },
        },
        "security": [{"BearerToken": []}],
    }
    return msgspec.json.encode(tree)


@cache
def documents() -> Mapping[str, bytes]:
    """Return every document by its path below `/openapi/v3/`: `api/v1`, `apis/events.k8s.io/v1`."""
    return {
        operations.root(group, version).lstrip("/"): document(group, version)
        for group in kinds.GROUPS
        for version in kinds.versions_of(group)
    }


@cache
def index() -> bytes:
    """Return `/openapi/v3`: where each document is, with the hash of what it is now."""
    paths = {
        path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={etag(content)}"}
        for path, content in documents().items()
    }
    return msgspec.json.encode({"paths": paths})


def etag(content: bytes) -> str:
    """Return what follows `?hash=`; in quotes it is the ETag."""
    return hashlib.sha256(content).hexdigest().upper()
