"""What a method and a path ask for: a resource, a document about the API, or nothing there is.

    /api/v1/namespaces/NS/pods/NAME/status        /apis/GROUP/VERSION/RESOURCE/NAME

Source: API concepts, "Resource URIs".
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote

from dibs.api import failures, kinds
from dibs.api.calls import Call, Caller
from dibs.api.kinds import Resource

# No name and no path of ours is longer.
_LONGEST = 2048

_READING = ("GET", "HEAD")
_ON_ONE = {"GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_ON_MANY = {"GET": "list", "HEAD": "list", "POST": "create", "DELETE": "deletecollection"}


@dataclass(frozen=True, slots=True)
class Document:
    """A path that is no resource: discovery, OpenAPI, health, version."""

    steps: tuple[str, ...]
    method: str


def read(method: str, path: str, *, is_watch: bool, caller: Caller) -> Call | Document:
    """Raises Failure: 404 for what isn't there, 405 for what can't be done to it."""
    if len(path) > _LONGEST or "\0" in path:
        raise failures.nothing_here()
    steps = tuple(unquote(step) for step in path.strip("/").split("/"))
    match steps:
        case ("api", version, *rest) if rest:
            return _resource(method, "", version, rest, is_watch, caller)
        case ("apis", group, version, *rest) if rest and group:
            return _resource(method, group, version, rest, is_watch, caller)
    if method not in _READING:
        raise failures.wrong_method()
    return Document(steps, method)


def _resource(
    method: str, group: str, version: str, rest: list[str], is_watch: bool, caller: Caller
) -> Call:
    namespace, plural, name, door = _parts(rest)
    resource = kinds.find(group, version, plural)
    if resource is None or (namespace and not resource.namespaced):
        raise failures.nothing_here()
    if resource.namespaced and name and not namespace:
        raise failures.nothing_here()
    verb = _verb(method, resource, name, door)
    if is_watch and verb in ("list", "get"):
        verb = "watch"
    call = Call(verb, resource, version, namespace, name, door, caller)
    _allowed(call)
    return call


def _parts(rest: list[str]) -> tuple[str, str, str, str]:
    """Namespace, resource, name, subresource. A namespace has resources, and doors of its own."""
    namespace = ""
    is_inside = (
        len(rest) > 2
        and rest[0] == "namespaces"
        and not (len(rest) == 3 and _namespaces().subresource(rest[2]))
    )
    if is_inside:
        namespace, rest = rest[1], rest[2:]
    if len(rest) > 3 or "" in rest or (is_inside and not namespace):
        raise failures.nothing_here()
    plural, name, door = [*rest, "", ""][:3]
    return namespace, plural, name, door


def _namespaces() -> Resource:
    found = kinds.find("", "v1", "namespaces")
    assert found
    return found


def _verb(method: str, resource: Resource, name: str, door: str) -> str:
    if door:
        if resource.subresource(door) is None:
            raise failures.nothing_here()
        verb = "create" if method == "POST" else _ON_ONE.get(method)
    else:
        verb = (_ON_ONE if name else _ON_MANY).get(method)
    if verb is None:
        raise failures.wrong_method()
    return verb


def _allowed(call: Call) -> None:
    door = call.resource.subresource(call.subresource) if call.subresource else None
    verbs = door.verbs if door else call.resource.verbs
    if call.verb not in verbs:
        raise failures.wrong_method()
    if call.resource.namespaced and call.verb == "create" and not call.namespace:
        raise failures.wrong_method()
