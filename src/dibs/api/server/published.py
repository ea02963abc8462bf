"""The documents that the server has about itself: discovery, OpenAPI, version, health.

They are made once, from `kinds` and `openapi`; nothing here changes while the server runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from dibs.api import discovery, failures, kinds
from dibs.api.calls import Tree
from dibs.api.openapi import document
from dibs.api.server import answers
from dibs.api.server.answers import Answer
from dibs.api.server.negotiation import JSON, Accepted
from dibs.api.server.routes import Document

_HEALTH = ("healthz", "livez", "readyz")


class Published:
    """`is_ready` says whether /readyz is answered with ok."""

    def __init__(self) -> None:
        self.is_ready = True

    def answer(self, what: Document, accepted: Accepted, headers: Mapping[str, str]) -> Answer:
        """Raises Failure (404) for a path that is nothing."""
        match what.steps:
            case ("api",) | ("apis",) if accepted.form == "discovery":
                tree = discovery.aggregated(what.steps == ("api",), accepted.version)
                return Answer(200, answers.of_tree(tree).body, accepted.type)
            case ("openapi", "v3", *rest):
                return self._openapi("/".join(rest), headers)
            case (name, *_) if name in _HEALTH:
                return self._health(name)
        tree_of = self._tree(what.steps)
        if tree_of is None:
            raise failures.nothing_here()
        return answers.of_tree(tree_of)

    def _tree(self, steps: tuple[str, ...]) -> Tree | None:
        match steps:
            case ("",):
                return {"paths": list(self._paths)}
            case ("version",):
                return discovery.version()
            case ("api",):
                return discovery.core_versions()
            case ("apis",):
                return discovery.groups()
            case ("api", version):
                return discovery.resources("", version)
            case ("apis", group):
                return discovery.group(group)
            case ("apis", group, version) if group:
                return discovery.resources(group, version)
        return None

    def _health(self, name: str) -> Answer:
        if name == "readyz" and not self.is_ready:
            return Answer(503, b"not ready", "text/plain; charset=utf-8")
        return Answer(200, b"ok", "text/plain; charset=utf-8")

    def _openapi(self, path: str, headers: Mapping[str, str]) -> Answer:
        body = document.documents().get(path) if path else document.index()
        if body is None:
            raise failures.nothing_here()
        tag = f'"{document.etag(body)}"'
        if headers.get("If-None-Match") == tag:
            return Answer(304, b"", JSON, {"ETag": tag})
        return Answer(200, body, JSON, {"ETag": tag, "Vary": "Accept"})

    @cached_property
    def _paths(self) -> tuple[str, ...]:
        groups = [group for group in kinds.GROUPS if group]
        named = [
            f"/apis/{group}{tail}"
            for group in groups
            for tail in ("", *(f"/{version}" for version in kinds.versions_of(group)))
        ]
        fixed = ("/api", "/api/v1", "/apis", *named, *(f"/{name}" for name in _HEALTH))
        return (*fixed, "/openapi/v3", "/version")
