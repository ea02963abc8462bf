"""Everything that is known at one moment, indexed once and never changed.

It decides what a set of objects means together: the namespace an object without one is in, what
the API server would fill in, the taints that rules put on devices, which nodes there are. It
decides no placement (`pods`), and builds neither pools nor the ledger (`supply`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

import msgspec

from dibs.model import defaults
from dibs.model.core import Namespace, Node, Pod
from dibs.model.meta import ObjectMeta
from dibs.model.objects import (
    Device,
    DeviceClass,
    DeviceTaintRule,
    DeviceTaintSelector,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
)
from dibs.model.workloads import PodGroup

# The resource name that every DeviceClass serves (KEP-5004), before the class's own name.
IMPLICIT = "deviceclass.resource.kubernetes.io/"
ENTRY_ANNOTATION = "resource.kubernetes.io/pod-claim-name"
HOSTNAME = "kubernetes.io/hostname"


class Key(NamedTuple):
    """How a namespaced object is found."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What there is. Mappings keep the order in which things are decided.

    `nodes` and `classes` by name; `pods` and `claims` oldest first, then by namespace and name;
    `slices` carry the taints of `rules` already. `nodes_are_implied` says that the input had no
    Node, so that the nodes are those which slices name. `served` are the resource names that
    containers may ask for, each with the class that serves it.
    """

    nodes: Mapping[str, Node] = field(default_factory=dict)
    pods: Mapping[Key, Pod] = field(default_factory=dict)
    claims: Mapping[Key, ResourceClaim] = field(default_factory=dict)
    templates: Mapping[Key, ResourceClaimTemplate] = field(default_factory=dict)
    classes: Mapping[str, DeviceClass] = field(default_factory=dict)
    slices: tuple[ResourceSlice, ...] = ()
    rules: tuple[DeviceTaintRule, ...] = ()
    namespaces: Mapping[str, Namespace] = field(default_factory=dict)
    groups: Mapping[Key, PodGroup] = field(default_factory=dict)
    served: Mapping[str, str] = field(default_factory=dict)
    nodes_are_implied: bool = False
    # Claims by the Pod that controls them: what a template's entry is looked up in.
    generated: Mapping[Key, tuple[Key, ...]] = field(default_factory=dict)
    # Claims by the PodGroup that controls them, and its entry (KEP-5729).
    shared: Mapping[tuple[Key, str], Key] = field(default_factory=dict)

    @classmethod
    def of(cls, objects: Iterable[object]) -> Snapshot:
        """Index objects of any kind; kinds that placement doesn't need are left out.

        Of two objects with one kind, namespace and name the later one counts: who reads input
        says that there were two.
        """
        nodes: list[Node] = []
        pods: list[Pod] = []
        claims: list[ResourceClaim] = []
        templates: list[ResourceClaimTemplate] = []
        classes: list[DeviceClass] = []
        slices: list[ResourceSlice] = []
        rules: list[DeviceTaintRule] = []
        namespaces: list[Namespace] = []
        groups: list[PodGroup] = []
        for thing in objects:
            match thing:
                case Node():
                    nodes.append(thing)
                case Pod():
                    pods.append(in_namespace(thing))
                case ResourceClaim():
                    claims.append(in_namespace(defaults.apply(thing)))
                case ResourceClaimTemplate():
                    templates.append(in_namespace(defaults.apply(thing)))
                case DeviceClass():
                    classes.append(thing)
                case ResourceSlice():
                    slices.append(thing)
                case DeviceTaintRule():
                    rules.append(thing)
                case Namespace():
                    namespaces.append(thing)
                case PodGroup():
                    groups.append(in_namespace(thing))
        slices.sort(key=lambda slice_: slice_.metadata.name)
        tainted = tuple(with_rules(slice_, rules) for slice_ in slices)
        aged = by_age(claims)
        return cls(
            nodes=by_name(nodes) or implied_nodes(tainted),
            pods=by_age(pods),
            claims=aged,
            templates=by_age(templates),
            classes=by_name(classes),
            slices=tainted,
            rules=tuple(rules),
            namespaces=by_name(namespaces),
            groups=by_age(groups),
            served=by_resource(classes),
            nodes_are_implied=not nodes,
            generated=by_controller(aged.values()),
            shared=by_group(aged.values()),
        )

    def with_claims(self, changed: Iterable[ResourceClaim]) -> Snapshot:
        """The same world with these claims new or in place of the old ones."""
        changed = tuple(changed)
        claims = dict(self.claims)
        claims.update((key_of(claim.metadata), claim) for claim in changed)
        # `generated` needs no update: a plan makes each Pod's claims once, while deciding on it.
        # Those of a group are made with its first Pod, and looked up for the others.
        of_groups = by_group(changed)
        shared = {**self.shared, **of_groups} if of_groups else self.shared
        return replace(self, claims=claims, shared=shared)

    def with_pod(self, pod: Pod) -> Snapshot:
        return replace(self, pods={**self.pods, key_of(pod.metadata): pod})


Named = TypeVar("Named", Node, DeviceClass, Namespace)
Spaced = TypeVar("Spaced", Pod, ResourceClaim, ResourceClaimTemplate, PodGroup)


def key_of(metadata: ObjectMeta) -> Key:
    return Key(metadata.namespace or "default", metadata.name)


def in_namespace(thing: Spaced) -> Spaced:
    """An object without a namespace is in `default`, as kubectl would put it."""
    if thing.metadata.namespace:
        return thing
    metadata = msgspec.structs.replace(thing.metadata, namespace="default")
    return msgspec.structs.replace(thing, metadata=metadata)


def by_name(things: Iterable[Named]) -> dict[str, Named]:
    return {thing.metadata.name: thing for thing in sorted(things, key=lambda t: t.metadata.name)}


def by_age(things: Iterable[Spaced]) -> dict[Key, Spaced]:
    return {key_of(thing.metadata): thing for thing in sorted(things, key=age_of)}


def age_of(thing: Spaced) -> tuple[bool, str, Key]:
    """Oldest first; what has no creation time isn't in a cluster yet, and comes after the rest."""
    created = thing.metadata.creation_timestamp
    return created is None, created or "", key_of(thing.metadata)


def by_controller(claims: Iterable[ResourceClaim]) -> dict[Key, tuple[Key, ...]]:
    owned: dict[Key, tuple[Key, ...]] = {}
    for claim in claims:
        key = key_of(claim.metadata)
        for owner in claim.metadata.owner_references:
            if owner.controller and owner.kind == "Pod":
                pod = Key(key.namespace, owner.name)
                owned[pod] = (*owned.get(pod, ()), key)
    return owned


def by_group(claims: Iterable[ResourceClaim]) -> dict[tuple[Key, str], Key]:
    owned: dict[tuple[Key, str], Key] = {}
    for claim in claims:
        entry = claim.metadata.annotations.get(ENTRY_ANNOTATION)
        if entry is None:
            continue
        for owner in claim.metadata.owner_references:
            if owner.controller and owner.kind == "PodGroup" and not is_deleted(claim):
                key = key_of(claim.metadata)
                owned[Key(key.namespace, owner.name), entry] = key
    return owned


def is_deleted(claim: ResourceClaim) -> bool:
    return claim.metadata.deletion_timestamp is not None


def by_resource(classes: Iterable[DeviceClass]) -> dict[str, str]:
    """The class behind each resource name: of several the youngest, then the first by name."""
    served: dict[str, str] = {}
    # The last one counts. One that was never in a cluster is the youngest of all.
    by_age = sorted(classes, key=lambda each: each.metadata.name, reverse=True)
    by_age.sort(key=lambda each: each.metadata.creation_timestamp or "~")
    for each in by_age:
        served[IMPLICIT + each.metadata.name] = each.metadata.name
        if each.spec.extended_resource_name:
            served[each.spec.extended_resource_name] = each.metadata.name
    return served


def implied_nodes(slices: Iterable[ResourceSlice]) -> dict[str, Node]:
    """The nodes that slices name, for inputs without any Node: a dump of slices has no more."""
    names: set[str] = set()
    for slice_ in slices:
        if slice_.spec.node_name:
            names.add(slice_.spec.node_name)
        names.update(device.node_name for device in slice_.spec.devices if device.node_name)
    return by_name(Node(metadata=ObjectMeta(name=name, labels={HOSTNAME: name})) for name in names)


def with_rules(slice_: ResourceSlice, rules: Iterable[DeviceTaintRule]) -> ResourceSlice:
    """The slice with the taints that rules put on its devices, after their own (KEP-5055)."""
    spec = slice_.spec
    concerned = [rule for rule in rules if selects_pool(rule.spec.device_selector, slice_)]
    if not concerned:
        return slice_
    devices = tuple(with_taints(device, concerned) for device in spec.devices)
    return msgspec.structs.replace(slice_, spec=msgspec.structs.replace(spec, devices=devices))


def selects_pool(selector: DeviceTaintSelector | None, slice_: ResourceSlice) -> bool:
    # An absent selector matches nothing, an empty one everything: the API's documentation of
    # DeviceTaintRuleSpec.deviceSelector. kube-scheduler takes absent for empty.
    if selector is None:
        return False
    return selector.driver in (None, slice_.spec.driver) and selector.pool in (
        None,
        slice_.spec.pool.name,
    )


def with_taints(device: Device, rules: Iterable[DeviceTaintRule]) -> Device:
    added = tuple(
        rule.spec.taint
        for rule in rules
        if rule.spec.device_selector is not None
        and rule.spec.device_selector.device in (None, device.name)
    )
    return msgspec.structs.replace(device, taints=device.taints + added) if added else device
