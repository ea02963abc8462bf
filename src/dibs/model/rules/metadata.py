"""The rules of `metadata`, of template metadata and of condition lists.

Names, labels, annotations, owners and finalizers, as for every kind of Kubernetes. What the
server fills in itself (namespace of the request, uid, resourceVersion) is not asked for here.
Source: apimachinery, object metadata and conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dibs.model.meta import Condition, ObjectMeta, OwnerReference
from dibs.model.rules import faults, fields, limits
from dibs.model.rules.fields import Faults
from dibs.values import names

NameFaults = Callable[[str], tuple[str, ...]]

_STATUSES = ("False", "True", "Unknown")
_ORPHAN = "orphan"
_FOREGROUND = "foregroundDeletion"


def created(meta: ObjectMeta, *, namespaced: bool, name_faults: NameFaults) -> Faults:
    yield from _names(meta, name_faults)
    if meta.namespace and not namespaced:
        yield faults.forbidden("metadata.namespace", "not allowed on this type")
    if meta.namespace and namespaced:
        yield from fields.label(meta.namespace, "metadata.namespace")
    if meta.generation < 0:
        yield faults.invalid("metadata.generation", meta.generation, fields.NEGATIVE)
    yield from _free_parts(meta)


def updated(meta: ObjectMeta, old: ObjectMeta) -> Faults:
    """What may not change. Left empty, a field that the server sets counts as unchanged."""
    if old.deletion_timestamp is not None:
        added = sorted(set(meta.finalizers) - set(old.finalizers))
        if added:
            listed = ", ".join(f'"{each}"' for each in added)
            yield faults.forbidden(
                "metadata.finalizers",
                "no new finalizers can be added if the object is being deleted, "
                f"found new finalizers []string{{{listed}}}",
            )
    if 0 < meta.generation < old.generation:
        yield faults.invalid("metadata.generation", meta.generation, "must not be decremented")
    yield from fields.immutable(meta.name, old.name, "metadata.name")
    yield from fields.immutable(meta.namespace, old.namespace, "metadata.namespace")
    for new, before, name in (
        (meta.uid, old.uid, "uid"),
        (meta.creation_timestamp, old.creation_timestamp, "creationTimestamp"),
        (meta.deletion_timestamp, old.deletion_timestamp, "deletionTimestamp"),
        (
            meta.deletion_grace_period_seconds,
            old.deletion_grace_period_seconds,
            "deletionGracePeriodSeconds",
        ),
    ):
        if new not in ("", None):
            yield from fields.immutable(new, before, f"metadata.{name}")
    yield from _free_parts(meta)


def of_template(meta: ObjectMeta, path: str) -> Faults:
    """Only labels and annotations reach the generated claim."""
    yield from _annotations(meta.annotations, f"{path}.annotations")
    yield from _labels(meta.labels, f"{path}.labels")
    for name, value in (
        ("name", meta.name),
        ("generateName", meta.generate_name),
        ("namespace", meta.namespace),
        ("selfLink", meta.self_link),
        ("uid", meta.uid),
        ("resourceVersion", meta.resource_version),
        ("generation", meta.generation),
        ("creationTimestamp", meta.creation_timestamp),
        ("deletionTimestamp", meta.deletion_timestamp),
        ("deletionGracePeriodSeconds", meta.deletion_grace_period_seconds),
        ("ownerReferences", meta.owner_references),
        ("finalizers", meta.finalizers),
        ("managedFields", meta.managed_fields),
    ):
        if value:
            yield faults.forbidden(f"{path}.{name}", "cannot be set")


def conditions(items: tuple[Condition, ...], path: str, limit: int) -> Faults:
    if len(items) > limit:
        yield faults.too_many(path, len(items), limit)
    seen: set[str] = set()
    for index, item in enumerate(items):
        if item.type in seen:
            yield faults.duplicate(f"{path}[{index}].type", item.type)
        seen.add(item.type)
        yield from _condition(item, f"{path}[{index}]")


def _condition(item: Condition, path: str) -> Faults:
    yield from fields.label_key(item.type, f"{path}.type")
    yield from fields.choice(item.status, f"{path}.status", _STATUSES)
    if item.observed_generation < 0:
        text = "must be greater than or equal to zero"
        yield faults.invalid(f"{path}.observedGeneration", item.observed_generation, text)
    if not item.last_transition_time:
        yield faults.required(f"{path}.lastTransitionTime", "must be set")
    if not item.reason:
        yield faults.required(f"{path}.reason", "must be set")
    else:
        shape = names.faults_of_condition_reason(item.reason)
        yield from fields.texts(shape, f"{path}.reason", item.reason)
        yield from fields.at_most(item.reason, f"{path}.reason", limits.REASON_LENGTH)
    yield from fields.at_most(item.message, f"{path}.message", limits.MESSAGE_LENGTH)


def _names(meta: ObjectMeta, name_faults: NameFaults) -> Faults:
    if meta.generate_name:
        # The server appends five characters: a hyphen at the end is not the end.
        prefix = meta.generate_name
        whole = prefix[:-1] + "a" if prefix.endswith("-") and len(prefix) > 1 else prefix
        yield from fields.texts(name_faults(whole), "metadata.generateName", prefix)
    if meta.name:
        yield from fields.texts(name_faults(meta.name), "metadata.name", meta.name)
    elif not meta.generate_name:
        yield faults.required("metadata.name", "name or generateName is required")


def _free_parts(meta: ObjectMeta) -> Faults:
    yield from _labels(meta.labels, "metadata.labels")
    yield from _annotations(meta.annotations, "metadata.annotations")
    yield from _owners(meta.owner_references)
    path = "metadata.finalizers"
    for finalizer in meta.finalizers:
        yield from fields.label_key(finalizer, path)
    if _ORPHAN in meta.finalizers and _FOREGROUND in meta.finalizers:
        text = f"finalizer {_ORPHAN} and {_FOREGROUND} cannot be both set"
        yield faults.invalid(path, meta.finalizers, text)


def _labels(labels: Mapping[str, str], path: str) -> Faults:
    for key, value in sorted(labels.items()):
        yield from fields.label_key(key, path)
        yield from fields.label_value(value, path)


def _annotations(annotations: Mapping[str, str], path: str) -> Faults:
    for key in sorted(annotations):
        yield from fields.texts(names.faults_of_label_key(key.lower()), path, key)
    total = sum(names.size(key) + names.size(value) for key, value in annotations.items())
    if total > limits.ANNOTATIONS_LENGTH:
        yield faults.too_long(path, limits.ANNOTATIONS_LENGTH)


def _owners(owners: tuple[OwnerReference, ...]) -> Faults:
    path = "metadata.ownerReferences"
    controller, is_told = "", False
    for owner in owners:
        yield from _owner(owner, path)
        if not owner.controller:
            continue
        this = f"{owner.kind}/{owner.name}"
        # Once is enough: the value that is told with it is the whole list.
        if controller and not is_told:
            is_told = True
            text = (
                "Only one reference can have Controller set to true. "
                f'Found "true" in references for {controller} and {this}'
            )
            yield faults.invalid(path, owners, text)
        controller = controller or this


def _owner(owner: OwnerReference, path: str) -> Faults:
    group, _, version = owner.api_version.rpartition("/")
    if not version:
        yield faults.invalid(f"{path}.apiVersion", owner.api_version, "version must not be empty")
    for name, value in (("kind", owner.kind), ("name", owner.name), ("uid", owner.uid)):
        if not value:
            yield faults.invalid(f"{path}.{name}", value, "must not be empty")
    if not group and version == "v1" and owner.kind == "Event":
        yield faults.invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner")
