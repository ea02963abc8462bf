"""Everything that is known at one moment, indexed and never changed; and the next moment's.

It decides what a set of objects means together: the namespace an object without one is in, what
the API server would fill in, the taints that rules put on devices, which nodes there are. One
object more, changed or gone makes another snapshot, at the cost of what it touches. It decides no
placement (`pods`), and builds neither pools nor the ledger (`supply`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

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
from dibs.values.layered import Layered

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


Named = TypeVar("Named", Node, DeviceClass, Namespace, ResourceSlice, DeviceTaintRule)
Spaced = TypeVar("Spaced", Pod, ResourceClaim, ResourceClaimTemplate, PodGroup)

# An entry of a PodGroup: what its Pods share a claim for (KEP-5729).
GroupEntry: TypeAlias = tuple[Key, str]


def name_of(thing: Node | DeviceClass | Namespace | ResourceSlice | DeviceTaintRule) -> str:
    return thing.metadata.name


def age_of(thing: Pod | ResourceClaim | ResourceClaimTemplate | PodGroup) -> tuple[bool, str, Key]:
    """Oldest first; what has no creation time isn't in a cluster yet, and comes after the rest."""
    created = thing.metadata.creation_timestamp
    return created is None, created or "", key_of(thing.metadata)


def by_name(things: Iterable[Named] = ()) -> Layered[str, Named]:
    return Layered({thing.metadata.name: thing for thing in things}, name_of)


def by_age(things: Iterable[Spaced] = ()) -> Layered[Key, Spaced]:
    return Layered({key_of(thing.metadata): thing for thing in things}, age_of)


class Snapshot(msgspec.Struct, frozen=True):
    """What there is. Mappings keep the order in which things are decided.

    `nodes` and `classes` by name; `pods` and `claims` oldest first, then by namespace and name.
    `published` are the slices as drivers publish them, `tainted` the same with the taints of
    `rules`. Where the input has no Node and `implies_nodes` is set, the nodes are those which
    slices name. `served` are the resource names that containers may ask for, each with the class
    that serves it.
    """

    nodes: Layered[str, Node] = msgspec.field(default_factory=by_name)
    pods: Layered[Key, Pod] = msgspec.field(default_factory=by_age)
    claims: Layered[Key, ResourceClaim] = msgspec.field(default_factory=by_age)
    templates: Layered[Key, ResourceClaimTemplate] = msgspec.field(default_factory=by_age)
    classes: Layered[str, DeviceClass] = msgspec.field(default_factory=by_name)
    published: Layered[str, ResourceSlice] = msgspec.field(default_factory=by_name)
    tainted: Layered[str, ResourceSlice] = msgspec.field(default_factory=by_name)
    rules: tuple[DeviceTaintRule, ...] = ()
    namespaces: Layered[str, Namespace] = msgspec.field(default_factory=by_name)
    groups: Layered[Key, PodGroup] = msgspec.field(default_factory=by_age)
    served: Mapping[str, str] = msgspec.field(default_factory=dict)
    implies_nodes: bool = True
    nodes_are_implied: bool = True
    # Claims by the Pod that controls them, oldest first: what a template's entry is looked up in.
    generated: Layered[Key, tuple[Key, ...]] = msgspec.field(default_factory=Layered)
    # Claims by the PodGroup that controls them, and its entry, oldest first (KEP-5729).
    shared: Layered[GroupEntry, tuple[Key, ...]] = msgspec.field(default_factory=Layered)

    @classmethod
    def of(cls, objects: Iterable[object], *, implies_nodes: bool = True) -> Snapshot:
        """Index objects of any kind; kinds that placement doesn't need are left out.

        Of two objects with one kind, namespace and name the later one counts: who reads input
        says that there were two. Who watches a cluster, where a node that isn't there yet is no
        node, doesn't let slices imply any.
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
        named = by_name(classes)
        sorted_rules = tuple(by_name(rules).values())
        published = by_name(slices)
        tainted = published
        if rules:
            tainted = by_name(with_rules(each, sorted_rules) for each in published.values())
        aged = by_age(claims)
        is_implied = implies_nodes and not nodes
        return cls(
            nodes=implied_nodes(published.values()) if is_implied else by_name(nodes),
            pods=by_age(pods),
            claims=aged,
            templates=by_age(templates),
            classes=named,
            published=published,
            tainted=tainted,
            rules=sorted_rules,
            namespaces=by_name(namespaces),
            groups=by_age(groups),
            served=by_resource(named.values()),
            implies_nodes=implies_nodes,
            nodes_are_implied=is_implied,
            generated=Layered(indexed(aged.values(), controlling_pods)),
            shared=Layered(indexed(aged.values(), group_entries)),
        )

    @property
    def slices(self) -> tuple[ResourceSlice, ...]:
        """By name, with the taints of rules."""
        return tuple(self.tainted.values())

    def with_object(self, thing: object) -> Snapshot:
        """With an object new, or in place of the one of its kind, namespace and name."""
        match thing:
            case Node():
                return self.with_node(thing)
            case Pod():
                return self.with_pod(in_namespace(thing))
            case ResourceClaim():
                return self.with_claims([in_namespace(defaults.apply(thing))])
            case ResourceClaimTemplate():
                template = in_namespace(defaults.apply(thing))
                templates = self.templates.plus(key_of(template.metadata), template)
                return replace(self, templates=templates)
            case DeviceClass():
                return self._with_classes(self.classes.plus(thing.metadata.name, thing))
            case ResourceSlice():
                return self.with_slice(thing)
            case DeviceTaintRule():
                return self._with_rules(by_name((*self.rules, thing)), [thing])
            case Namespace():
                return replace(self, namespaces=self.namespaces.plus(thing.metadata.name, thing))
            case PodGroup():
                group = in_namespace(thing)
                return replace(self, groups=self.groups.plus(key_of(group.metadata), group))
        return self

    def without_object(self, kind: type, key: Key) -> Snapshot:
        """Without that object, if it was there. Kinds without namespaces have an empty one."""
        if kind is Node:
            return self.without_node(key.name)
        if kind is Pod:
            return replace(self, pods=self.pods.minus(key))
        if kind is ResourceClaim:
            return self.without_claim(key)
        if kind is ResourceClaimTemplate:
            return replace(self, templates=self.templates.minus(key))
        if kind is DeviceClass:
            return self._with_classes(self.classes.minus(key.name))
        if kind is ResourceSlice:
            return self.without_slice(key.name)
        if kind is DeviceTaintRule:
            return self._with_rules(by_name(self.rules).minus(key.name), [])
        if kind is Namespace:
            return replace(self, namespaces=self.namespaces.minus(key.name))
        if kind is PodGroup:
            return replace(self, groups=self.groups.minus(key))
        return self

    # --- one kind each ---------------------------------------------------------------------------

    def with_claims(self, changed: Iterable[ResourceClaim]) -> Snapshot:
        """The same world with these claims new or in place of the old ones."""
        claims, generated, shared = self.claims, self.generated, self.shared
        for claim in changed:
            key = key_of(claim.metadata)
            old = claims.get(key)
            claims = claims.plus(key, claim)
            if old is None or not is_owned_alike(old, claim):
                generated = reindexed(generated, claims, old, claim, controlling_pods)
                shared = reindexed(shared, claims, old, claim, group_entries)
        return replace(self, claims=claims, generated=generated, shared=shared)

    def without_claim(self, key: Key) -> Snapshot:
        old = self.claims.get(key)
        if old is None:
            return self
        claims = self.claims.minus(key)
        generated = reindexed(self.generated, claims, old, None, controlling_pods)
        shared = reindexed(self.shared, claims, old, None, group_entries)
        return replace(self, claims=claims, generated=generated, shared=shared)

    def with_pod(self, pod: Pod) -> Snapshot:
        return replace(self, pods=self.pods.plus(key_of(pod.metadata), pod))

    def with_node(self, node: Node) -> Snapshot:
        known = by_name() if self.nodes_are_implied else self.nodes
        return replace(self, nodes=known.plus(node.metadata.name, node), nodes_are_implied=False)

    def without_node(self, name: str) -> Snapshot:
        if self.nodes_are_implied:
            return self
        nodes = self.nodes.minus(name)
        if nodes or not self.implies_nodes:
            return replace(self, nodes=nodes)
        return replace(self, nodes=implied_nodes(self.published.values()), nodes_are_implied=True)

    def with_slice(self, slice_: ResourceSlice) -> Snapshot:
        name = slice_.metadata.name
        old = self.published.get(name)
        after = replace(
            self,
            published=self.published.plus(name, slice_),
            tainted=self.tainted.plus(name, with_rules(slice_, self.rules)),
        )
        return after._naming(nodes_named(old) if old is not None else (), nodes_named(slice_))

    def without_slice(self, name: str) -> Snapshot:
        old = self.published.get(name)
        if old is None:
            return self
        published = self.published.minus(name)
        after = replace(self, published=published, tainted=self.tainted.minus(name))
        return after._naming(nodes_named(old), ())

    def _naming(self, old: Iterable[str], new: Iterable[str]) -> Snapshot:
        """After a slice that named the old nodes names the new ones."""
        lost, won = set(old) - set(new), set(new) - set(old)
        if not self.nodes_are_implied or not (lost or won):
            return self
        if lost:
            # Another slice may still name them.
            return replace(self, nodes=implied_nodes(self.published.values()))
        return replace(self, nodes=self.nodes.union({name: implied_node(name) for name in won}))

    def _with_classes(self, classes: Layered[str, DeviceClass]) -> Snapshot:
        return replace(self, classes=classes, served=by_resource(classes.values()))

    def _with_rules(
        self, rules: Layered[str, DeviceTaintRule], new: Iterable[DeviceTaintRule]
    ) -> Snapshot:
        """Slices that neither the old nor the new rules select stay the very same."""
        sorted_rules = tuple(rules.values())
        changed = [each for each in self.rules if rules.get(each.metadata.name) is not each]
        changed += new
        selectors = [rule.spec.device_selector for rule in changed]
        tainted = self.tainted.union(
            {
                name: with_rules(slice_, sorted_rules)
                for name, slice_ in self.published.items()
                if any(selects_pool(selector, slice_) for selector in selectors)
            }
        )
        return replace(self, rules=sorted_rules, tainted=tainted)


def key_of(metadata: ObjectMeta) -> Key:
    return Key(metadata.namespace or "default", metadata.name)


def key_of_object(thing: object) -> Key:
    """The key of an object of any kind; cluster-wide kinds have no namespace."""
    match thing:
        case Pod() | ResourceClaim() | ResourceClaimTemplate() | PodGroup():
            return key_of(thing.metadata)
    return Key("", str(getattr(getattr(thing, "metadata", None), "name", "")))


def in_namespace(thing: Spaced) -> Spaced:
    """An object without a namespace is in `default`, as kubectl would put it."""
    if thing.metadata.namespace:
        return thing
    metadata = replace(thing.metadata, namespace="default")
    return replace(thing, metadata=metadata)


# --- who owns claims -----------------------------------------------------------------------------

Owner = TypeVar("Owner")
Owners: TypeAlias = Callable[[ResourceClaim], Iterator[Owner]]


def controlling_pods(claim: ResourceClaim) -> Iterator[Key]:
    for owner in claim.metadata.owner_references:
        if owner.controller and owner.kind == "Pod":
            yield Key(key_of(claim.metadata).namespace, owner.name)


def group_entries(claim: ResourceClaim) -> Iterator[GroupEntry]:
    entry = claim.metadata.annotations.get(ENTRY_ANNOTATION)
    if entry is None or is_deleted(claim):
        return
    for owner in claim.metadata.owner_references:
        if owner.controller and owner.kind == "PodGroup":
            yield Key(key_of(claim.metadata).namespace, owner.name), entry


def indexed(claims: Iterable[ResourceClaim], owners: Owners[Owner]) -> dict[Owner, tuple[Key, ...]]:
    """The claims of each owner, in the order in which they come."""
    owned: dict[Owner, tuple[Key, ...]] = {}
    for claim in claims:
        if claim.metadata.owner_references:
            for owner in owners(claim):
                owned[owner] = (*owned.get(owner, ()), key_of(claim.metadata))
    return owned


def reindexed(
    index: Layered[Owner, tuple[Key, ...]],
    claims: Mapping[Key, ResourceClaim],
    old: ResourceClaim | None,
    new: ResourceClaim | None,
    owners: Owners[Owner],
) -> Layered[Owner, tuple[Key, ...]]:
    """The index after one claim is another, or came, or went; `claims` are those there are now."""
    if old is not None and old.metadata.owner_references:
        key = key_of(old.metadata)
        for owner in owners(old):
            rest = tuple(each for each in index.get(owner, ()) if each != key)
            index = index.plus(owner, rest) if rest else index.minus(owner)
    if new is not None and new.metadata.owner_references:
        for owner in owners(new):
            owned = [claims[each] for each in index.get(owner, ())]
            in_order = sorted((*owned, new), key=age_of)
            index = index.plus(owner, tuple(key_of(each.metadata) for each in in_order))
    return index


def is_owned_alike(old: ResourceClaim, new: ResourceClaim) -> bool:
    """Whether nothing has changed by which owners find it."""
    before, now = old.metadata, new.metadata
    return (
        before.owner_references == now.owner_references
        and before.annotations.get(ENTRY_ANNOTATION) == now.annotations.get(ENTRY_ANNOTATION)
        and before.creation_timestamp == now.creation_timestamp
        and is_deleted(old) == is_deleted(new)
    )


def is_deleted(claim: ResourceClaim) -> bool:
    return claim.metadata.deletion_timestamp is not None


def by_resource(classes: Iterable[DeviceClass]) -> dict[str, str]:
    """The class behind each resource name: of several the youngest, then the first by name."""
    served: dict[str, str] = {}
    # The last one counts. One that was never in a cluster is the youngest of all.
    oldest_first = sorted(classes, key=name_of, reverse=True)
    oldest_first.sort(key=lambda each: each.metadata.creation_timestamp or "~")
    for each in oldest_first:
        served[IMPLICIT + each.metadata.name] = each.metadata.name
        if each.spec.extended_resource_name:
            served[each.spec.extended_resource_name] = each.metadata.name
    return served


# --- slices --------------------------------------------------------------------------------------


def implied_nodes(slices: Iterable[ResourceSlice]) -> Layered[str, Node]:
    """The nodes that slices name, for inputs without any Node: a dump of slices has no more."""
    names = {name for slice_ in slices for name in nodes_named(slice_)}
    return by_name(implied_node(name) for name in names)


def implied_node(name: str) -> Node:
    return Node(metadata=ObjectMeta(name=name, labels={HOSTNAME: name}))


def nodes_named(slice_: ResourceSlice) -> set[str]:
    named = {device.node_name for device in slice_.spec.devices if device.node_name}
    return named | {slice_.spec.node_name} if slice_.spec.node_name else named


def with_rules(slice_: ResourceSlice, rules: Iterable[DeviceTaintRule]) -> ResourceSlice:
    """The slice with the taints that rules put on its devices, after their own (KEP-5055)."""
    spec = slice_.spec
    concerned = [rule for rule in rules if selects_pool(rule.spec.device_selector, slice_)]
    if not concerned:
        return slice_
    devices = tuple(with_taints(device, concerned) for device in spec.devices)
    return replace(slice_, spec=replace(spec, devices=devices))


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
    return replace(device, taints=device.taints + added) if added else device
