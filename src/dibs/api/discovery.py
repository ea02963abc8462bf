"""What the server says it serves, in the new way (one document) and the old (one a group-version).

Made from `kinds` alone. Source: apidiscovery.k8s.io/v2; meta/v1 APIGroupList, APIResourceList.
"""

from __future__ import annotations

import platform
from functools import cache

import dibs
from dibs.api import kinds
from dibs.api.calls import Tree
from dibs.api.kinds import Resource, Subresource, group_version

# The release whose API this is.
MAJOR, MINOR = "1", "37"
AGGREGATED_VERSIONS = ("v2", "v2beta1")


def version() -> Tree:
    return {
        "major": MAJOR,
        "minor": MINOR,
        "gitVersion": f"v{MAJOR}.{MINOR}.0+dibs.{dibs.__version__}",
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"python{platform.python_version()}",
        "compiler": platform.python_implementation().lower(),
        "platform": f"{platform.system().lower()}/{platform.machine()}",
    }


# --- one document ---------------------------------------------------------------------------------


@cache
def aggregated(of_core: bool, discovery_version: str) -> Tree:
    """Return the APIGroupDiscoveryList of /api (core) or /apis (all other groups)."""
    groups = [group for group in kinds.GROUPS if (group == "") == of_core]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"apidiscovery.k8s.io/{discovery_version}",
        "metadata": {},
        "items": [_group_discovery(group) for group in groups],
    }


def _group_discovery(group: str) -> Tree:
    versions = [
        {
            "version": each,
            "resources": [_resource(one, each) for one in kinds.served_in(group, each)],
            "freshness": "Current",
        }
        for each in kinds.versions_of(group)
    ]
    return {"metadata": {"name": group} if group else {}, "versions": versions}


def _resource(resource: Resource, version: str) -> Tree:
    found: Tree = {
        "resource": resource.plural,
        "responseKind": _kind(resource.group, version, resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        found["shortNames"] = list(resource.short_names)
    if resource.categories:
        found["categories"] = list(resource.categories)
    if resource.subresources:
        found["subresources"] = [
            {
                "subresource": each.name,
                "responseKind": _kind(*_door_kind(resource, each, version)),
                "verbs": list(each.verbs),
            }
            for each in resource.subresources
        ]
    return found


def _door_kind(resource: Resource, door: Subresource, version: str) -> tuple[str, str, str]:
    if not door.kind:
        return resource.group, version, resource.kind
    return door.group, door.version or version, door.kind


def _kind(group: str, version: str, kind: str) -> Tree:
    return {"group": group, "version": version, "kind": kind}


# --- document by document -------------------------------------------------------------------------


def core_versions() -> Tree:
    versions = list(kinds.versions_of(""))
    return {"kind": "APIVersions", "versions": versions, "serverAddressByClientCIDRs": []}


@cache
def groups() -> Tree:
    named = [_group(group) for group in kinds.GROUPS if group]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": named}


def group(name: str) -> Tree | None:
    """Return the APIGroup, None if there is none of that name."""
    if not name or name not in kinds.GROUPS:
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name)}


def _group(name: str) -> Tree:
    versions = [
        {"groupVersion": group_version(name, each), "version": each}
        for each in kinds.versions_of(name)
    ]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def resources(group: str, version: str) -> Tree | None:
    """Return the APIResourceList of a group-version, None if it isn't served."""
    served = list(kinds.served_in(group, version))
    if not served:
        return None
    listed = [entry for each in served for entry in _legacy(each, version)]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version(group, version),
        "resources": listed,
    }


def _legacy(resource: Resource, version: str) -> list[Tree]:
    main: Tree = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        main["shortNames"] = list(resource.short_names)
    if resource.categories:
        main["categories"] = list(resource.categories)
    doors = []
    for each in resource.subresources:
        group, door_version, kind = _door_kind(resource, each, version)
        door: Tree = {
            "name": f"{resource.plural}/{each.name}",
            "singularName": "",
            "namespaced": resource.namespaced,
            "kind": kind,
            "verbs": list(each.verbs),
        }
        if each.kind:
            door |= {"group": group, "version": door_version}
        doors.append(door)
    return [main, *doors]
