"""Every way in which a request can fail, each in the words and codes of Kubernetes.

A `Failure` is raised anywhere below `server` and becomes a `Status` there, once. kubectl prints
the message after `Error from server (Reason):`; clients decide by code and reason.
Source: apimachinery, meta/v1 Status and its reasons.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dibs.api.calls import Asked
from dibs.api.kinds import Resource
from dibs.api.patches.refused import Cause, Refused
from dibs.model.rules import FieldFault

# A Status repeats every cause in its message; a thousand faults are told as these many.
_MAX_CAUSES = 100

MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


@dataclass(frozen=True, slots=True)
class Details:
    """What `details` says of the object: `kind` is the plural, or the kind of an invalid one."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    retry_after_s: int = 0


class Failure(Exception):
    """A request that is answered with a Status of `code` and `reason`."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Details | None = None,
        causes: tuple[Cause, ...] = (),
        *,
        continue_token: str = "",
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.causes = causes
        # Where a list may go on that can't show the moment it began with.
        self.continue_token = continue_token


def status(failure: Failure) -> dict[str, Any]:
    """Return the tree of the Status that answers with the failure."""
    tree: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": _sayable(failure.message),
        "reason": failure.reason,
        "code": failure.code,
    }
    if failure.continue_token:
        tree["metadata"] = {"continue": failure.continue_token}
    if details := _details(failure):
        tree["details"] = details
    return tree


def _details(failure: Failure) -> dict[str, Any]:
    about = failure.details or Details()
    found: dict[str, Any] = {
        "name": _sayable(about.name),
        "group": about.group,
        "kind": about.kind,
        "uid": about.uid,
        "causes": [
            {
                "reason": each.reason,
                "message": _sayable(each.message),
                "field": _sayable(each.field),
            }
            for each in failure.causes
        ],
        "retryAfterSeconds": about.retry_after_s,
    }
    return {key: value for key, value in found.items() if value}


def _sayable(text: str) -> str:
    """What a client sent may hold halves of characters, which are no UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()


def _about(resource: Resource, name: str) -> Details:
    return Details(name=name, group=resource.group, kind=resource.plural)


# --- the object -----------------------------------------------------------------------------------


def not_found(resource: Resource, name: str) -> Failure:
    text = f'{resource.qualified} "{name}" not found'
    return Failure(404, "NotFound", text, _about(resource, name))


def already_exists(resource: Resource, name: str) -> Failure:
    text = f'{resource.qualified} "{name}" already exists'
    return Failure(409, "AlreadyExists", text, _about(resource, name))


def conflict(resource: Resource, name: str, why: str = MODIFIED) -> Failure:
    text = f'Operation cannot be fulfilled on {resource.qualified} "{name}": {why}'
    return Failure(409, "Conflict", text, _about(resource, name))


def forbidden(resource: Resource, name: str, why: str) -> Failure:
    named = f' "{name}"' if name else ""
    text = f"{resource.qualified}{named} is forbidden: {why}"
    return Failure(403, "Forbidden", text, _about(resource, name))


def cannot(user: str, asked: Asked, why: str = "") -> str:
    """`User "x" cannot list resource "pods" in API group "" in the namespace "default"`."""
    named = f"{asked.resource}/{asked.subresource}" if asked.subresource else asked.resource
    where = f'in the namespace "{asked.namespace}"' if asked.namespace else "at the cluster scope"
    text = (
        f'User "{user}" cannot {asked.verb} resource "{named}" in API group "{asked.group}" {where}'
    )
    return f"{text}: {why}" if why else text


def invalid(resource: Resource, name: str, faults: Iterable[FieldFault]) -> Failure:
    """Name every fault, those of a wrong field and those of a change that may not be."""
    causes = tuple(Cause(each.type.value, each.body, each.path) for each in faults)
    return invalid_because(resource, name, causes)


def invalid_because(resource: Resource, name: str, causes: tuple[Cause, ...]) -> Failure:
    shown = causes[:_MAX_CAUSES]
    texts = [f"{each.field}: {each.message}" for each in shown]
    if len(causes) > len(shown):
        texts.append(f"and {len(causes) - len(shown)} more")
    body = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    about = Details(name=name, group=resource.group, kind=resource.kind)
    return Failure(422, "Invalid", f'{kind} "{name}" is invalid: {body}', about, shown)


def of_patch(resource: Resource, name: str, refused: Refused) -> Failure:
    """What a patch or a body was refused for, with the object it was meant for."""
    about = _about(resource, name)
    return Failure(refused.code, refused.reason, refused.message, about, refused.causes)


# --- the request ----------------------------------------------------------------------------------


def bad_request(message: str) -> Failure:
    return Failure(400, "BadRequest", message)


def unauthorized() -> Failure:
    return Failure(401, "Unauthorized", "Unauthorized")


def nothing_here() -> Failure:
    """A path, a group or a version that nobody serves."""
    return Failure(404, "NotFound", "the server could not find the requested resource")


def wrong_method() -> Failure:
    text = "the server does not allow this method on the requested resource"
    return Failure(405, "MethodNotAllowed", text)


def not_acceptable(types: Iterable[str]) -> Failure:
    listed = ", ".join(types)
    text = f"only the following media types are accepted: {listed}"
    return Failure(406, "NotAcceptable", text)


def object_too_large(resource: Resource, name: str, size: int, limit: int) -> Failure:
    text = f'{resource.qualified} "{name}" would take {size} bytes, and may have {limit}'
    return Failure(413, "RequestEntityTooLarge", text, _about(resource, name))


def wrong_media_type(given: str, types: Iterable[str]) -> Failure:
    listed = ", ".join(types)
    text = (
        "the body of the request was in an unknown format - "
        f"accepted media types include: {listed}; this was {given or 'none'}"
    )
    return Failure(415, "UnsupportedMediaType", text)


def too_large(limit: int) -> Failure:
    text = f"Request entity too large: limit is {limit}"
    return Failure(413, "RequestEntityTooLarge", text)


def expired(message: str, continue_token: str = "") -> Failure:
    """The revision asked for was compacted; clients list anew."""
    return Failure(410, "Expired", message, continue_token=continue_token)


def too_new(asked: int, current: int) -> Failure:
    """A revision that isn't there yet; clients wait and try again."""
    text = f"Too large resource version: {asked}, current: {current}"
    cause = (Cause("ResourceVersionTooLarge", "Too large resource version", ""),)
    return Failure(504, "Timeout", text, Details(retry_after_s=1), cause)


def too_many(message: str, retry_after_s: int = 1) -> Failure:
    return Failure(429, "TooManyRequests", message, Details(retry_after_s=retry_after_s))


def unavailable(message: str) -> Failure:
    return Failure(503, "ServiceUnavailable", message, Details(retry_after_s=1))


def not_stored(message: str) -> Failure:
    """The disk did not take it; nothing was written."""
    return Failure(500, "InternalError", f"nothing was written: {message}")


def too_slow(seconds: float) -> Failure:
    text = f"the body of the request did not come in within {seconds:g} s"
    return Failure(408, "Timeout", text)


def bug() -> Failure:
    text = "Internal error occurred: this is a bug of dibs, and its log says where"
    return Failure(500, "InternalError", text)
