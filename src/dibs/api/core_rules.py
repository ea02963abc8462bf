"""The rules of the kinds that stay trees, and of what the model doesn't look at in a Pod.

Each yields faults of a tree that has the shape of its kind. `old` is None for a new object.
Source: validation of core/v1, coordination.k8s.io, scheduling.k8s.io.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from dibs.api.calls import Tree
from dibs.api.kinds import Resource
from dibs.model.rules import FieldFault
from dibs.model.rules.amounts import NO_LIMIT, NOT_WHOLE
from dibs.model.rules.faults import duplicate, forbidden, invalid, required, too_long
from dibs.values import names
from dibs.values.quantity import Quantity

_IMMUTABLE = "field is immutable"
_DATA_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}", re.ASCII)
_MOST_DATA = 1024 * 1024
_HIGHEST_PRIORITY = 1_000_000_000
_NOTHING = Quantity.of(0)
# The resource that stands for a device class without a name of its own (KEP-5004).
_OF_A_CLASS = "deviceclass.resource.kubernetes.io/"


def faults(resource: Resource, tree: Tree, old: Tree | None) -> Iterable[FieldFault]:
    rule = _RULES.get(resource.qualified)
    return rule(tree, old) if rule else ()


# --- Pod ------------------------------------------------------------------------------------------

_SPEC_FIXED = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` "
    "(allow it to be set to 1 if it was previously negative)"
)


def _pod(tree: Tree, old: Tree | None) -> Iterator[FieldFault]:
    spec = tree.get("spec") or {}
    if old is not None:
        if _frozen(spec, old) != _frozen(old.get("spec") or {}, old):
            yield forbidden("spec", _SPEC_FIXED)
        return
    if not spec.get("containers"):
        yield required("spec.containers")
    seen: set[str] = set()
    for group in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(group) or ()):
            yield from _container(container, f"spec.{group}[{index}]", seen)
    yield from _amounts(spec.get("resources") or {}, "spec.resources")
    yield from _negative(spec.get("overhead") or {}, "spec.overhead")
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    needed = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if needed is not None and not needed.get("nodeSelectorTerms"):
        path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
        text = "must have at least one node selector term"
        yield required(f"{path}.nodeSelectorTerms", text)
    if spec.get("nodeName"):
        yield from _texts(names.faults_of_dns_subdomain, spec["nodeName"], "spec.nodeName")


def _container(container: Tree, path: str, seen: set[str]) -> Iterator[FieldFault]:
    name = container.get("name", "")
    if name:
        yield from _texts(names.faults_of_dns_label, name, f"{path}.name")
    if name in seen:
        yield duplicate(f"{path}.name", name)
    seen.add(name)
    if not container.get("image"):
        yield required(f"{path}.image")
    elif container["image"] != container["image"].strip():
        text = "must not have leading or trailing whitespace"
        yield invalid(f"{path}.image", container["image"], text)
    if resources := container.get("resources"):
        yield from _amounts(resources, f"{path}.resources")


def _amounts(resources: Tree, path: str) -> Iterator[FieldFault]:
    """What is asked for of each resource, and its limit. Extended resources are `model.rules`'."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for group, amounts in (("limits", limits), ("requests", requests)):
        yield from _negative(amounts, f"{path}.{group}")
        for name in amounts:
            if not names.is_extended_resource(name) and not _is_standard(name):
                text = "must be a standard resource for containers"
                yield invalid(f"{path}.{group}[{name}]", name, text)
    for name, amount in requests.items():
        if names.is_extended_resource(name):
            continue
        limit = limits.get(name)
        if _comes_whole(name) and limit is None:
            yield required(f"{path}.limits", NO_LIMIT)
        elif limit is None:
            continue
        elif _comes_whole(name) and Quantity.parse(str(amount)) != Quantity.parse(str(limit)):
            text = f"must be equal to {name} limit of {limit}"
            yield invalid(f"{path}.requests", amount, text)
        elif Quantity.parse(str(amount)) > Quantity.parse(str(limit)):
            text = f"must be less than or equal to {name} limit of {limit}"
            yield invalid(f"{path}.requests", amount, text)


def _negative(amounts: Tree, path: str) -> Iterator[FieldFault]:
    for name, amount in amounts.items():
        if names.is_extended_resource(name):
            continue
        found = Quantity.parse(str(amount))
        if found < _NOTHING:
            yield invalid(f"{path}[{name}]", amount, "must be greater than or equal to 0")
        elif name.startswith(_OF_A_CLASS) and not found.is_whole():
            yield invalid(f"{path}[{name}]", amount, NOT_WHOLE)


def _is_standard(name: str) -> bool:
    return names.is_node_allocatable(name) or name.startswith(_OF_A_CLASS)


def _comes_whole(name: str) -> bool:
    """Whether it can't be overcommitted: what is asked for is what is had."""
    return name.startswith(("hugepages-", _OF_A_CLASS))


def _frozen(spec: Tree, old: Tree) -> Tree:
    """The spec without what may change."""
    kept = {
        key: value
        for key, value in spec.items()
        if key not in ("activeDeadlineSeconds", "tolerations", "schedulingGates")
    }
    for group in ("initContainers", "containers"):
        if group in kept:
            kept[group] = [{**each, "image": ""} for each in kept[group]]
    before = (old.get("spec") or {}).get("tolerations") or []
    now = spec.get("tolerations") or []
    # Those that were there stay; how long they hold may change.
    kept["tolerations"] = [_key(each) for each in before if _key(each) in map(_key, now)]
    gates = [each["name"] for each in (old.get("spec") or {}).get("schedulingGates") or ()]
    kept["gates"] = [
        each["name"] for each in spec.get("schedulingGates") or () if each["name"] not in gates
    ]
    return kept


def _key(toleration: Tree) -> Tree:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


# --- the others -----------------------------------------------------------------------------------


def _config_map(tree: Tree, old: Tree | None) -> Iterator[FieldFault]:
    plain, binary = tree.get("data") or {}, tree.get("binaryData") or {}
    for path, data in (("data", plain), ("binaryData", binary)):
        yield from _data_keys(data, path)
    for key in sorted(plain.keys() & binary.keys()):
        yield invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
    if _size(plain) + _size(binary) > _MOST_DATA:
        yield too_long("", _MOST_DATA)
    if old is not None and old.get("immutable"):
        for name in ("data", "binaryData"):
            if (tree.get(name) or {}) != (old.get(name) or {}):
                yield forbidden(name, "field is immutable when `immutable` is set")
        if not tree.get("immutable"):
            yield forbidden("immutable", "field is immutable when `immutable` is set")


def _secret(tree: Tree, old: Tree | None) -> Iterator[FieldFault]:
    data = tree.get("data") or {}
    yield from _data_keys(data, "data")
    if _size(data) > _MOST_DATA * 4 // 3:
        yield too_long("data", _MOST_DATA)
    if old is None:
        return
    if tree.get("type") != old.get("type"):
        yield invalid("type", tree.get("type"), _IMMUTABLE)
    if old.get("immutable"):
        if data != (old.get("data") or {}):
            yield forbidden("data", "field is immutable when `immutable` is set")
        if not tree.get("immutable"):
            yield forbidden("immutable", "field is immutable when `immutable` is set")


def _data_keys(data: Mapping[str, Any], path: str) -> Iterator[FieldFault]:
    for key in data:
        if not _DATA_KEY.fullmatch(key) or key in (".", ".."):
            text = (
                "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
                "(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name')"
            )
            yield invalid(f"{path}[{key}]", key, text)


def _size(data: Mapping[str, str]) -> int:
    return sum(len(value) for value in data.values())


def _priority_class(tree: Tree, old: Tree | None) -> Iterator[FieldFault]:
    value = tree.get("value", 0)
    if old is not None:
        for name, default in (("value", 0), ("preemptionPolicy", "PreemptLowerPriority")):
            if tree.get(name, default) != old.get(name, default):
                yield forbidden(name, "may not be changed in an update.")
        return
    if tree["metadata"].get("name", "").startswith("system-"):
        text = "priority class names with 'system-' prefix are reserved for system use only"
        yield forbidden("metadata.name", text)
    if value > _HIGHEST_PRIORITY:
        text = f"maximum allowed value of a user defined priority is {_HIGHEST_PRIORITY}"
        yield forbidden("value", text)


def _event(tree: Tree, old: Tree | None) -> Iterator[FieldFault]:
    about = (tree.get("involvedObject") or {}).get("namespace") or "default"
    if old is None and about != tree["metadata"].get("namespace"):
        yield invalid("involvedObject.namespace", about, "does not match event.namespace")


def _lease(tree: Tree, old: Tree | None) -> Iterator[FieldFault]:
    spec = tree.get("spec") or {}
    if spec.get("leaseDurationSeconds") is not None and spec["leaseDurationSeconds"] <= 0:
        yield invalid(
            "spec.leaseDurationSeconds", spec["leaseDurationSeconds"], "must be greater than 0"
        )
    transitions = spec.get("leaseTransitions")
    if transitions is not None and transitions < 0:
        text = "must be greater than or equal to 0"
        yield invalid("spec.leaseTransitions", transitions, text)


def _quota(tree: Tree, old: Tree | None) -> Iterator[FieldFault]:
    for name, amount in ((tree.get("spec") or {}).get("hard") or {}).items():
        path = f"spec.hard[{name}]"
        if Quantity.parse(str(amount)) < Quantity.of(0):
            yield invalid(path, amount, "must be greater than or equal to 0")
        yield from _texts(names.faults_of_label_key, name, path)


def _texts(check: Callable[[str], tuple[str, ...]], value: str, path: str) -> Iterator[FieldFault]:
    for text in check(value):
        yield invalid(path, value, text)


_RULES: dict[str, Callable[[Tree, Tree | None], Iterator[FieldFault]]] = {
    "pods": _pod,
    "configmaps": _config_map,
    "secrets": _secret,
    "events": _event,
    "events.events.k8s.io": _event,
    "resourcequotas": _quota,
    "leases.coordination.k8s.io": _lease,
    "priorityclasses.scheduling.k8s.io": _priority_class,
}
