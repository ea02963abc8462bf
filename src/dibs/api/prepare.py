"""What the server does to an object before it is checked: fills in, wipes, keeps, counts.

One rule a door: a new object loses its status, an update at the main door keeps the old one, an
update at the status door keeps all else. Trees are of the stored version and never changed in
place. Source: the create and update strategies of each kind; api/meta/v1 ObjectMeta.
"""

from __future__ import annotations

import base64
from typing import Any

from dibs.api import failures, pods, stamps
from dibs.api.calls import Call, Tree, World
from dibs.api.kinds import Resource

# The most of a generated name that is kept, so that five characters fit behind it.
_LONGEST_PREFIX = 58


def for_create(call: Call, tree: Tree, world: World) -> Tree:
    """Return the new object with its metadata. Raises Failure for what no new object may have."""
    metadata = dict(tree.get("metadata") or {})
    _place(call, metadata)
    if metadata.get("resourceVersion"):
        raise failures.bad_request("resourceVersion should not be set on objects to be created")
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "managedFields"):
        metadata.pop(name, None)
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = metadata["generateName"][:_LONGEST_PREFIX] + world.suffix()
    _bare(metadata)
    metadata["uid"] = world.uid()
    metadata["creationTimestamp"] = stamps.seconds(world.now())
    metadata.pop("generation", None)
    if call.resource.generation:
        metadata["generation"] = 1
    return _filled(
        call.resource, _first_status(call.resource, {**tree, "metadata": metadata}), world
    )


def _place(call: Call, metadata: dict[str, Any]) -> None:
    """The namespace and the name of the path win; a body may not say otherwise."""
    if call.resource.namespaced:
        found = metadata.get("namespace") or call.namespace
        if found != call.namespace:
            raise failures.bad_request(
                f"the namespace of the provided object ({found}) does not match the namespace "
                f"sent on the request ({call.namespace})"
            )
        metadata["namespace"] = call.namespace
    elif not metadata.get("namespace"):
        metadata.pop("namespace", None)
    if call.name:
        found = metadata.get("name") or call.name
        if found != call.name:
            raise failures.bad_request(
                f"the name of the object ({found}) does not match the name on the URL ({call.name})"
            )
        metadata["name"] = call.name


def _first_status(resource: Resource, tree: Tree) -> Tree:
    match resource.qualified:
        case "pods":
            pod = pods.defaulted(tree)
            return {**pod, "status": pods.new_status(pod)}
        case "nodes":
            # The kubelet registers its node with a status.
            return tree
        case "namespaces":
            return {
                **tree,
                "metadata": _named(tree["metadata"]),
                "spec": {"finalizers": ["kubernetes"]},
                "status": {"phase": "Active"},
            }
        case "resourcepoolstatusrequests.resource.k8s.io":
            # Having a status is what says that it was answered (KEP-5677).
            return _without(tree, "status")
    return {**tree, "status": {}} if resource.has_status else tree


def _named(metadata: Tree) -> Tree:
    """A namespace is labelled with its name, whatever is done to its labels."""
    label = {"kubernetes.io/metadata.name": metadata.get("name", "")}
    return {**metadata, "labels": {**(metadata.get("labels") or {}), **label}}


def _filled(resource: Resource, tree: Tree, world: World) -> Tree:
    match resource.qualified:
        case "resourceslices.resource.k8s.io":
            now = stamps.seconds(world.now())
            spec = dict(tree.get("spec") or {})
            if any(device.get("taints") for device in spec.get("devices") or ()):
                spec["devices"] = [_stamped(device, now) for device in spec["devices"]]
                return {**tree, "spec": spec}
        case "devicetaintrules.resource.k8s.io":
            spec = dict(tree.get("spec") or {})
            if isinstance(spec.get("taint"), dict):
                spec["taint"] = {"timeAdded": stamps.seconds(world.now()), **spec["taint"]}
                return {**tree, "spec": spec}
        case "secrets":
            return _secret(tree)
        case "priorityclasses.scheduling.k8s.io":
            return {"preemptionPolicy": "PreemptLowerPriority", **tree}
    return tree


def _stamped(device: Tree, now: str) -> Tree:
    if not device.get("taints"):
        return device
    return {**device, "taints": [{"timeAdded": now, **taint} for taint in device["taints"]]}


def _secret(tree: Tree) -> Tree:
    """`stringData` is written, never read: it goes into `data`."""
    if tree.get("stringData"):
        plain = {
            key: base64.b64encode(text.encode()).decode()
            for key, text in tree["stringData"].items()
        }
        tree = {**tree, "data": {**(tree.get("data") or {}), **plain}}
    return {"type": "Opaque", **_without(tree, "stringData")}


# --- changes --------------------------------------------------------------------------------------

# What only the server writes; left out or not, it stays.
_SERVERS = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
)
_OF_STATUS_DOOR = ("labels", "annotations", "ownerReferences", "finalizers")


def for_update(call: Call, tree: Tree, old: Tree, world: World) -> Tree:
    """Return what an update comes to: at the main door without its status, at another only that."""
    metadata = dict(tree.get("metadata") or {})
    _place(call, metadata)
    _bare(metadata)
    before = old["metadata"]
    for name in _SERVERS:
        _keep(metadata, before, name)
    if "generateName" in before:
        metadata.setdefault("generateName", before["generateName"])
    metadata["resourceVersion"] = before["resourceVersion"]
    if call.resource.qualified == "namespaces":
        metadata = _named(metadata)
    new = {**tree, "metadata": metadata}
    if call.subresource == "status":
        return _status_door(call.resource, new, old)
    if call.resource.has_status:
        new = _without(new, "status")
        if "status" in old:
            new["status"] = old["status"]
    if call.resource.qualified == "namespaces" and call.subresource != "finalize":
        new["spec"] = old.get("spec") or {}
    new = _filled(call.resource, _retimed(call.resource, new, old, world), world)
    if call.resource.qualified == "pods":
        new = pods.kept(pods.defaulted(new), old)
    if call.resource.generation and _spec(new) != _spec(old):
        new["metadata"] = {**metadata, "generation": int(before.get("generation") or 0) + 1}
    return new


def _status_door(resource: Resource, new: Tree, old: Tree) -> Tree:
    metadata = dict(new["metadata"])
    # The kubelet annotates its node while it writes the status.
    if resource.qualified != "nodes":
        for name in _OF_STATUS_DOOR:
            _keep(metadata, old["metadata"], name)
    kept = {key: value for key, value in old.items() if key not in ("metadata", "status")}
    changed: Tree = {**kept, "metadata": metadata}
    if "status" in new:
        changed["status"] = new["status"]
    elif resource.qualified != "resourcepoolstatusrequests.resource.k8s.io":
        changed["status"] = {}
    return changed


def _retimed(resource: Resource, new: Tree, old: Tree, world: World) -> Tree:
    """A taint rule whose effect changes begins anew, unless its time was changed too (KEP-5055)."""
    if resource.qualified != "devicetaintrules.resource.k8s.io":
        return new
    taint, before = (_spec(new) or {}).get("taint") or {}, (_spec(old) or {}).get("taint") or {}
    if taint.get("effect") == before.get("effect") or (
        taint.get("timeAdded") not in (None, before.get("timeAdded"))
    ):
        return new
    return {
        **new,
        "spec": {**new["spec"], "taint": {**taint, "timeAdded": stamps.seconds(world.now())}},
    }


def _spec(tree: Tree) -> Any:
    return tree.get("spec")


def _bare(metadata: dict[str, Any]) -> None:
    """What is empty is not there, as in Go's JSON."""
    for name in _OF_STATUS_DOOR:
        if name in metadata and not metadata[name]:
            del metadata[name]


def _keep(metadata: dict[str, Any], before: Tree, name: str) -> None:
    if name in before:
        metadata[name] = before[name]
    else:
        metadata.pop(name, None)


def _without(tree: Tree, name: str) -> Tree:
    return {key: value for key, value in tree.items() if key != name}
