"""The paths of one group-version: what can be asked there, with which answers.

Made from the registry of resources (`api.kinds`), so that what is told is what is served. Every
refusal is a Status. Operations carry the names and actions that tools for Kubernetes look for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dibs.api.kinds import Resource, Subresource, group_version
from dibs.api.openapi import parameters, schemas
from dibs.api.openapi.schemas import Components
from dibs.api.schema import reading
from dibs.api.schema.shapes import Record

Tree = dict[str, Any]

_REFUSALS = {
    400: "The request is malformed.",
    401: "Who asks is not known.",
    403: "Who asks may not.",
    404: "There is no such object, or no such namespace.",
    405: "That can't be done here.",
    406: "No answer has the wanted form.",
    409: "The object exists, has changed since, or somebody else owns a field.",
    410: "What was asked for is too old.",
    413: "The request is too large.",
    415: "The body has a type that is not understood.",
    422: "The object breaks the rules of its kind.",
    429: "Too many requests at once.",
    500: "A fault of the server.",
    503: "The server can't answer now.",
    504: "It took too long.",
}
_READ = (400, 401, 403, 404, 405, 406, 410, 429, 500, 503, 504)
_WRITE = (400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 429, 500, 503, 504)
_BODIES = ("application/json", "application/yaml")
_PATCH_BODIES = {
    "application/merge-patch+json": schemas.PATCH,
    "application/strategic-merge-patch+json": schemas.PATCH,
    "application/json-patch+json": schemas.JSON_PATCH,
    "application/apply-patch+yaml": schemas.PATCH,
}


def paths(resources: list[Resource], version: str, components: Components) -> dict[str, Tree]:
    """Return every path of the resources in this version, with its operations."""
    result: dict[str, Tree] = {}
    for resource in resources:
        record = reading.record_of(resource.api_version(version), resource.kind)
        assert record, f"no schema for {resource.kind}"
        place = _Place(resource, version, record, components)
        result |= dict(place.paths())
    return dict(sorted(result.items()))


def root(group: str, version: str) -> str:
    return f"/apis/{group}/{version}" if group else f"/api/{version}"


@dataclass(frozen=True, slots=True)
class _Place:
    """One resource in one version, and where its schemas go."""

    resource: Resource
    version: str
    record: Record
    components: Components

    def paths(self) -> Iterator[tuple[str, Tree]]:
        start = root(self.resource.group, self.version)
        plural, verbs = self.resource.plural, self.resource.verbs
        home, shared = f"{start}/{plural}", [parameters.PRETTY]
        if self.resource.namespaced:
            if "list" in verbs:
                everywhere = {"get": self._listing("ForAllNamespaces")}
                yield home, {**everywhere, "parameters": shared}
            home = f"{start}/namespaces/{{namespace}}/{plural}"
            shared = [parameters.NAMESPACE, *shared]
        collection = {
            "get": self._listing() if "list" in verbs else None,
            "post": self._create() if "create" in verbs else None,
            "delete": self._delete_all() if "deletecollection" in verbs else None,
        }
        yield home, _present(collection, shared)
        item = {
            "get": self._get() if "get" in verbs else None,
            "put": self._update() if "update" in verbs else None,
            "patch": self._patch() if "patch" in verbs else None,
            "delete": self._delete() if "delete" in verbs else None,
        }
        if any(item.values()):
            yield f"{home}/{{name}}", _present(item, [parameters.NAME, *shared])
        for each in self.resource.subresources:
            yield f"{home}/{{name}}/{each.name}", self._sub(each, [parameters.NAME, *shared])

    def _sub(self, door: Subresource, shared: list[Tree]) -> Tree:
        other = None
        if door.kind:
            gv = group_version(door.group, door.version or self.version)
            other = reading.record_of(gv, door.kind)
            assert other, f"no schema for {door.kind}"
        operations = {
            "get": self._get(door) if "get" in door.verbs else None,
            "put": self._update(door) if "update" in door.verbs else None,
            "patch": self._patch(door) if "patch" in door.verbs else None,
            "post": self._create(door, other) if "create" in door.verbs else None,
        }
        return _present(operations, shared)

    # --- operations ------------------------------------------------------------------------------

    def _listing(self, where: str = "") -> Tree:
        answers = {200: self.components.of_list(self.record)}
        what = f"List objects of kind {self.record.kind}, or watch them."
        return self._operation("list", what, answers, _READ, parameters.LIST, where=where)

    def _get(self, door: Subresource | None = None) -> Tree:
        answers = {200: self._ref()}
        what = f"Read {_of(door)}one {self.record.kind}."
        query = (parameters.VERSION,)
        return self._operation("get", what, answers, _READ, query, door)

    def _create(self, door: Subresource | None = None, other: Record | None = None) -> Tree:
        record = other or self.record
        body = self.components.of_record(record)
        result = body if door is None or door.name == "token" else self._or_status(body)
        what = f"Create {'a' if door else 'one'} {record.kind}{f' ({door.name})' if door else ''}."
        operation = self._operation(
            "post", what, dict.fromkeys((200, 201, 202), result), _WRITE, parameters.WRITE, door,
            record,
        )  # fmt: skip
        return {**operation, "requestBody": _body(dict.fromkeys(_BODIES, body))}

    def _update(self, door: Subresource | None = None) -> Tree:
        answers = dict.fromkeys((200, 201), self._ref())
        what = f"Replace {_of(door)}one {self.record.kind}."
        operation = self._operation("put", what, answers, _WRITE, parameters.WRITE, door)
        return {**operation, "requestBody": _body(dict.fromkeys(_BODIES, self._ref()))}

    def _patch(self, door: Subresource | None = None) -> Tree:
        answers = dict.fromkeys((200, 201), self._ref())
        what = f"Change {_of(door)}one {self.record.kind} in part."
        operation = self._operation("patch", what, answers, _WRITE, parameters.PATCH, door)
        bodies = {
            content: self.components.of_patch(name) for content, name in _PATCH_BODIES.items()
        }
        return {**operation, "requestBody": _body(bodies)}

    def _delete(self) -> Tree:
        answers = dict.fromkeys((200, 202), self._or_status(self._ref()))
        what = f"Delete one {self.record.kind}."
        operation = self._operation("delete", what, answers, _WRITE, parameters.DELETE)
        return {**operation, "requestBody": self._options()}

    def _delete_all(self) -> Tree:
        answers = {200: self._or_status(self.components.of_list(self.record))}
        what = f"Delete all objects of kind {self.record.kind} that are selected."
        refusals = (*_WRITE[:6], 410, *_WRITE[6:])
        operation = self._operation(
            "deletecollection", what, answers, refusals, parameters.DELETE_ALL
        )
        return {**operation, "requestBody": self._options()}

    def _options(self) -> Tree:
        record = reading.record_of("v1", "DeleteOptions")
        assert record
        options = self.components.of_record(record)
        return {**_body(dict.fromkeys(_BODIES, options)), "required": False}

    def _ref(self) -> Tree:
        return self.components.of_record(self.record)

    def _or_status(self, schema: Tree) -> Tree:
        return {"anyOf": [schema, self.components.of_status()]}

    def _operation(
        self, action: str, what: str, answers: dict[int, Tree], refusals: tuple[int, ...],
        query: tuple[Tree, ...], door: Subresource | None = None, record: Record | None = None,
        where: str = "",
    ) -> Tree:  # fmt: skip
        record = record or self.record
        assert record.group_version is not None
        group, _, version = record.group_version.rpartition("/")
        status = self.components.of_status()
        responses = {str(code): _answer("Done.", schema) for code, schema in answers.items()}
        responses |= {str(code): _answer(_REFUSALS[code], status) for code in refusals}
        return {
            "description": what,
            "operationId": self._name(action, door) + where,
            "parameters": list(query),
            "responses": responses,
            "tags": [self._tag()],
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": {
                "group": group,
                "kind": record.kind,
                "version": version,
            },
        }

    def _tag(self) -> str:
        return f"{self.resource.group.partition('.')[0] or 'core'}_{self.version}"

    def _name(self, action: str, door: Subresource | None) -> str:
        """`createResourceV1NamespacedResourceClaim`, as code generators know it."""
        verb = {
            "get": "read", "post": "create", "put": "replace",
            "deletecollection": "deletecollection",
        }.get(action, action)  # fmt: skip
        group = (self.resource.group.partition(".")[0] or "core").capitalize()
        scope = "Namespaced" if self.resource.namespaced else ""
        end = door.name.capitalize() if door else ""
        return f"{verb}{group}{self.version.capitalize()}{scope}{self.resource.kind}{end}"


def _of(door: Subresource | None) -> str:
    return f"the {door.name} of " if door else ""


def _present(operations: dict[str, Tree | None], shared: list[Tree]) -> Tree:
    found = {method: operation for method, operation in operations.items() if operation}
    return {**found, "parameters": shared}


def _answer(description: str, schema: Tree) -> Tree:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _body(contents: dict[str, Tree]) -> Tree:
    content = {content: {"schema": schema} for content, schema in contents.items()}
    return {"content": content, "required": True}
