"""Between the version a client speaks and the one that is stored; and what a body says it is.

The shapes of v1beta1 are `model.versions`'; all other served versions of a kind look the same but
for the `apiVersion` on top. events.k8s.io shows the events of core in other words.
"""

from __future__ import annotations

from typing import Any

from dibs.api import failures, kinds
from dibs.api.calls import Tree
from dibs.api.kinds import EVENTS, Resource
from dibs.model import versions


def looks_as_stored(resource: Resource, version: str) -> bool:
    """Whether objects of the version differ from the stored ones in `apiVersion` alone."""
    if resource.group == EVENTS:
        return False
    return not (resource.group == kinds.RESOURCE and version == "v1beta1")


def claimed(resource: Resource, version: str, tree: Tree) -> Tree:
    """Return the tree with the head of its kind and version. Raises Failure (400) if it has
    another one."""
    wanted = resource.api_version(version)
    found = tree.get("apiVersion") or wanted
    if found != wanted:
        raise failures.bad_request(
            f"the API version in the data ({found}) does not match the expected API version "
            f"({wanted})"
        )
    kind = tree.get("kind") or resource.kind
    if kind != resource.kind:
        raise failures.bad_request(
            f"{kind} in version {wanted!r} cannot be handled as a {resource.kind}"
        )
    if not isinstance(tree.get("metadata") or {}, dict):
        raise failures.bad_request("metadata: expected a mapping")
    return {**tree, "apiVersion": wanted, "kind": resource.kind}


def up(resource: Resource, version: str, tree: Tree) -> Tree:
    """Return the tree as it is stored. Raises Failure (400) for the shape of another version."""
    if resource.group == EVENTS:
        return _event_up(tree)
    try:
        shaped = versions.up(resource.kind, version, tree)
    except versions.OtherShape:
        raise failures.bad_request(
            f'{resource.kind} in version "{version}" cannot be handled as a {resource.kind}: '
            "it has the shape of another version"
        ) from None
    return {**shaped, "apiVersion": resource.api_version()}


def down(resource: Resource, version: str, tree: Tree) -> Tree:
    """Return a stored tree as the version has it."""
    if resource.group == EVENTS:
        return _event_down(tree)
    if version == resource.stored_version:
        return tree
    return {
        **versions.down(resource.kind, version, tree),
        "apiVersion": resource.api_version(version),
    }


# --- events.k8s.io/v1 and the events of core ------------------------------------------------------

_EVENT_NAMES = {
    "note": "message",
    "regarding": "involvedObject",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_CORE_NAMES = {core: name for name, core in _EVENT_NAMES.items()}


def _event_up(tree: Tree) -> Tree:
    renamed: dict[str, Any] = {_EVENT_NAMES.get(key, key): tree[key] for key in tree}
    return {**renamed, "apiVersion": "v1"}


def _event_down(tree: Tree) -> Tree:
    renamed: dict[str, Any] = {_CORE_NAMES.get(key, key): tree[key] for key in tree}
    return {**renamed, "apiVersion": f"{EVENTS}/v1"}
