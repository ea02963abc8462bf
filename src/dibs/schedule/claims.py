"""Which claims a Pod uses: entries resolved, templates made into claims, and what is wrong there.

It follows the rules by which kube-controller-manager makes claims and kube-scheduler finds them.
Whether their devices are to be had is asked in `pods`.
Source: core/v1 PodSpec.resourceClaims, PodStatus.resourceClaimStatuses; KEP-4381, KEP-5729.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dibs.model.core import Pod, PodResourceClaim
from dibs.model.meta import ObjectMeta, OwnerReference
from dibs.model.objects import ResourceClaim, ResourceClaimConsumerReference, ResourceClaimTemplate
from dibs.model.workloads import PodGroup
from dibs.schedule import extended, groups, ids
from dibs.schedule.plan import ClaimUse, Objection
from dibs.schedule.snapshot import ENTRY_ANNOTATION, Key, Snapshot, key_of
from dibs.values import nearest
from dibs.values.mistake import Mistake

FINALIZER = "resource.kubernetes.io/delete-protection"
RESERVED_LIMIT = 256  # resource.k8s.io ResourceClaimReservedForMaxSize


@dataclass(frozen=True, slots=True)
class Resolved:
    """The claims of a Pod, in the order of its entries, and what stands in its way."""

    uses: tuple[ClaimUse, ...] = ()
    objections: tuple[Objection, ...] = ()


def of_pod(pod: Pod, snapshot: Snapshot) -> Resolved:
    """Resolve every entry. Raises Mistake for an entry that names both sources, or none."""
    uses: list[ClaimUse] = []
    objections: list[Objection] = []
    for index, entry in enumerate(pod.spec.resource_claims):
        check_source(pod, entry, index)
        found = resolve(pod, entry, snapshot)
        match found:
            case Objection():
                objections.append(found)
            case ClaimUse():
                uses.append(found)
                objections += usable(found.claim, pod)
    special = special_use(pod, snapshot)
    if pod.spec.node_name and special is not None:
        uses.append(special)
    elif not pod.spec.node_name and (left_over := list(extended.claims_of(pod, snapshot))):
        objections.append(unfinished(left_over[0], pod))
    return Resolved(tuple(uses), tuple(objections))


def unfinished(claim: ResourceClaim, pod: Pod) -> Objection:
    """What a special claim means that the Pod's status doesn't name: it is written with the
    binding, for which the devices may have to become ready first (KEP-5007)."""
    key = key_of(claim.metadata)
    allocation = claim.status.allocation
    results = allocation.devices.results if allocation is not None else ()
    awaited = dict.fromkeys(name for each in results for name in each.binding_conditions)
    if awaited and is_reserved(claim, pod):
        text = f"claim {key} has its devices, and the Pod is bound when they report "
        return Objection("claim", text + ", ".join(awaited), "see status.devices of the claim")
    text = f"claim {key} is left over from an attempt to place the Pod that did not succeed"
    return Objection("claim", text, "kube-scheduler deletes it and tries again")


def known_uses(pod: Pod, snapshot: Snapshot) -> tuple[ClaimUse, ...]:
    """The claims a Pod has already, entry by entry; faulty entries have none."""
    found = (resolve(pod, entry, snapshot) for entry in pod.spec.resource_claims)
    uses = tuple(use for use in found if isinstance(use, ClaimUse) and not use.is_new)
    special = special_use(pod, snapshot)
    return (*uses, special) if special is not None else uses


def special_use(pod: Pod, snapshot: Snapshot) -> ClaimUse | None:
    """The claim that the Pod has for extended resources (KEP-5004), as its status says."""
    status = pod.status.extended_resource_claim_status
    if status is None:
        return None
    key = Key(key_of(pod.metadata).namespace, status.resource_claim_name)
    claim = snapshot.claims.get(key)
    return ClaimUse("", claim, mappings=status.request_mappings) if claim is not None else None


def check_source(pod: Pod, entry: PodResourceClaim, index: int) -> None:
    named = [
        name for name in (entry.resource_claim_name, entry.resource_claim_template_name) if name
    ]
    if len(named) == 1:
        return
    both = "both resourceClaimName and resourceClaimTemplateName are set"
    none = "neither resourceClaimName nor resourceClaimTemplateName is set"
    raise Mistake(
        f"entry {entry.name!r}: {both if named else none}",
        path=f"Pod {key_of(pod.metadata)}: spec.resourceClaims[{index}]",
        remedy="keep one: a claim that is there already, or a template to make one from",
    )


def resolve(pod: Pod, entry: PodResourceClaim, snapshot: Snapshot) -> ClaimUse | Objection | None:
    """The claim of one entry; None when the Pod's status says that it needs none."""
    namespace = key_of(pod.metadata).namespace
    group = groups.sharing(pod, entry, snapshot)
    if entry.resource_claim_name:
        key = Key(namespace, entry.resource_claim_name)
        claim = snapshot.claims.get(key)
        if claim is None:
            near = look_alike(key, snapshot.claims)
            return Objection("claim", f"claim {key} does not exist", near)
        return ClaimUse(entry.name, claim, group=group)
    return generated(pod, entry, group, snapshot)


def generated(
    pod: Pod, entry: PodResourceClaim, group: PodGroup | None, snapshot: Snapshot
) -> ClaimUse | Objection | None:
    """The claim made from a template: recorded, found by its owner, or still to be made."""
    template = entry.resource_claim_template_name or ""
    namespace = key_of(pod.metadata).namespace
    for status in pod.status.resource_claim_statuses:
        if status.name == entry.name and not status.resource_claim_name:
            return None
        if status.name == entry.name:
            key = Key(namespace, status.resource_claim_name or "")
            claim = snapshot.claims.get(key)
            if claim is not None and not is_owned(claim, pod):
                return Objection("claim", f"claim {key} was made for another Pod")
            if claim is not None:
                return ClaimUse(entry.name, claim, template=template, group=group)
    if group is not None:
        if groups.needs_none(group, entry.name):
            return None
        claim = groups.claim_of(group, entry.name, snapshot)
    elif missing := group_missing(pod, snapshot):
        return missing
    else:
        claim = made_before(pod, entry.name, snapshot)
    if claim is not None:
        return ClaimUse(entry.name, claim, template=template, group=group)
    key = Key(namespace, template)
    if key not in snapshot.templates:
        near = look_alike(key, snapshot.templates)
        return Objection("template", f"claim template {key} does not exist", near)
    claim = from_template(snapshot.templates[key], pod, entry.name, group, snapshot)
    return ClaimUse(entry.name, claim, is_new=True, template=template, group=group)


def group_missing(pod: Pod, snapshot: Snapshot) -> Objection | None:
    """Whether it can't be told if the Pod has a claim of its own, or shares its group's."""
    key = groups.key_of_pod(pod)
    if key is None or key in snapshot.groups:
        return None
    near = nearest.question(key.name, {each.name for each in snapshot.groups})
    remedy = near or "create it, or add the output of: kubectl get podgroups -A -o yaml"
    return Objection("group", f"PodGroup {key} does not exist", remedy)


def is_owned(claim: ResourceClaim, pod: Pod) -> bool:
    """Whether the claim was made for this Pod, or for its PodGroup (KEP-5729)."""
    group = groups.key_of_pod(pod)
    for owner in claim.metadata.owner_references:
        if not owner.controller:
            continue
        if owner.kind == "PodGroup":
            return group is not None and owner.name == group.name
        return owner.name == pod.metadata.name and owner.uid == ids.pod_uid(pod)
    return False


def made_before(pod: Pod, entry: str, snapshot: Snapshot) -> ResourceClaim | None:
    """A claim of this entry whose name the Pod's status has lost (or that was written by us)."""
    for key in snapshot.generated.get(key_of(pod.metadata), ()):
        claim = snapshot.claims[key]
        if (
            claim.metadata.annotations.get(ENTRY_ANNOTATION) == entry
            and claim.metadata.deletion_timestamp is None
            and is_owned(claim, pod)
        ):
            return claim
    return None


def from_template(
    template: ResourceClaimTemplate,
    pod: Pod,
    entry: str,
    group: PodGroup | None,
    snapshot: Snapshot,
) -> ResourceClaim:
    """The claim that the resourceclaim controller makes for one entry of a Pod, or of its group."""
    key = key_of(pod.metadata if group is None else group.metadata)
    name = ids.claim_name(key, entry, snapshot.claims)
    metadata = ObjectMeta(
        name=name,
        generate_name=ids.claim_prefix(key.name, entry),
        namespace=key.namespace,
        uid=ids.uid("ResourceClaim", Key(key.namespace, name)),
        labels=template.spec.metadata.labels,
        annotations={**template.spec.metadata.annotations, ENTRY_ANNOTATION: entry},
        owner_references=(owner(pod) if group is None else groups.owner(group),),
    )
    return ResourceClaim(metadata=metadata, spec=template.spec.spec)


def owner(pod: Pod) -> OwnerReference:
    return OwnerReference(
        api_version="v1",
        kind="Pod",
        name=pod.metadata.name,
        uid=ids.pod_uid(pod),
        controller=True,
        block_owner_deletion=True,
    )


def usable(claim: ResourceClaim, pod: Pod) -> list[Objection]:
    """What keeps a Pod from reserving this claim."""
    key = key_of(claim.metadata)
    if pod.spec.node_name and is_reserved(claim, pod):
        return []  # in use: a deletion waits for the Pod
    if claim.metadata.deletion_timestamp is not None:
        return [Objection("claim", f"claim {key} is being deleted")]
    if not is_reserved(claim, pod) and len(claim.status.reserved_for) >= RESERVED_LIMIT:
        text = f"claim {key} is reserved for {len(claim.status.reserved_for)} consumers already"
        return [Objection("claim", f"{text}, {RESERVED_LIMIT} at most")]
    return []


def without_class(claim: ResourceClaim, classes: Iterable[str]) -> list[Objection]:
    """One objection for each request whose device class isn't there."""
    known = set(classes)
    objections = []
    for request in claim.spec.devices.requests:
        asked = [(request.name, request.exactly)] if request.exactly else []
        named = [(name, exact.device_class_name) for name, exact in asked]
        named += [
            (f"{request.name}/{sub.name}", sub.device_class_name) for sub in request.first_available
        ]
        for name, wanted in named:
            if wanted not in known:
                text = f"claim {key_of(claim.metadata)}, request {name}: device class {wanted}"
                remedy = nearest.question(wanted, known) or "create it"
                objections.append(Objection("class", f"{text} does not exist", remedy))
    return objections


def consumer(pod: Pod, group: PodGroup | None = None) -> ResourceClaimConsumerReference:
    """The entry of status.reservedFor for a Pod, or for the group that it shares the claim with.

    core's API group is written as none.
    """
    if group is not None:
        return groups.consumer(group)
    return ResourceClaimConsumerReference(
        resource="pods", name=pod.metadata.name, uid=ids.pod_uid(pod)
    )


def is_reserved(claim: ResourceClaim, pod: Pod) -> bool:
    return any(is_reserved_by(reference, pod) for reference in claim.status.reserved_for)


def is_reserved_by(reference: ResourceClaimConsumerReference, pod: Pod) -> bool:
    """Whether a consumer is the Pod, or its group."""
    is_own = reference.resource == "pods" and reference.uid == ids.pod_uid(pod)
    return is_own or groups.is_consumer(reference, pod)


def look_alike(wanted: Key, known: Iterable[Key]) -> str:
    """A remedy: names that look like the wanted one, or namespaces that have exactly it."""
    elsewhere = sorted(str(key) for key in known if key.name == wanted.name)
    if elsewhere:
        return f"{', '.join(elsewhere[:3])} is in another namespace, where a Pod can't use it"
    names = {key.name for key in known if key.namespace == wanted.namespace}
    return nearest.question(wanted.name, names) or "create it"
