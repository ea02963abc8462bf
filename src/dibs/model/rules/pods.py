"""The rules of a Pod that concern claims: what it names, what its containers use, its status.

All else in a Pod is left to the API server. Whether a named claim exists is lint's question.
Source: core/v1 validation; KEP-4381, 5004.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dibs.model.core import (
    Container,
    ContainerExtendedResourceRequest,
    ContainerResourceClaim,
    Pod,
    PodExtendedResourceClaimStatus,
    PodResourceClaim,
    PodResourceClaimStatus,
)
from dibs.model.rules import amounts, faults, fields
from dibs.model.rules.faults import FieldFault
from dibs.model.rules.fields import Faults
from dibs.values import names

_ONE_SOURCE = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
_TWO_SOURCES = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
_FIXED = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` "
    "(allow it to be set to 1 if it was previously negative)"
)
_NO_ENTRY = "must match the name of an entry in `spec.resourceClaims`"
_NO_TEMPLATE = "must name an entry of `spec.resourceClaims` with `resourceClaimTemplateName`"
_NO_CONTAINER = "must match the name of an entry in `spec.initContainers` or `spec.containers`"


def spec(item: Pod, old: Pod | None) -> Faults:
    seen: set[str] = set()
    for index, claim in enumerate(item.spec.resource_claims):
        path = f"spec.resourceClaims[{index}]"
        yield from _claim_name(claim, seen, item, f"{path}.name")
        yield from claim_source(claim, path)
    for container, path in _containers(item):
        claims = container.resources.claims
        yield from _uses(claims, seen, f"{path}.resources.claims")
        yield from amounts.requirements(container.resources, f"{path}.resources")
    for index, container in enumerate(item.spec.ephemeral_containers):
        if container.resources.claims:
            path = f"spec.ephemeralContainers[{index}].resources"
            yield faults.forbidden(path, "cannot be set for an Ephemeral Container")
    if item.spec.resources is not None and item.spec.resources.claims:
        text = "claims may not be set for Resources at pod-level"
        yield faults.forbidden("spec.resources.claims", text)
    group = item.spec.scheduling_group
    if group is not None and group.pod_group_name is not None:
        yield from fields.subdomain(group.pod_group_name, "spec.schedulingGroup.podGroupName")
    if old is not None and not _same_claims(item, old):
        yield faults.forbidden("spec", _FIXED)


def status(item: Pod, old: Pod) -> Faults:

    entries = {claim.name: claim for claim in item.spec.resource_claims}
    seen: set[str] = set()
    for index, made in enumerate(item.status.resource_claim_statuses):
        path = f"status.resourceClaimStatuses[{index}]"
        yield from made_claim(made, entries, path)
        if made.name in seen:
            yield faults.duplicate(f"{path}.name", made.name)
        seen.add(made.name)
    extended = item.status.extended_resource_claim_status
    before = old.status.extended_resource_claim_status
    here = "status.extendedResourceClaimStatus"
    if before is not None:
        yield from fields.immutable(extended, before, here)
    elif extended is not None:
        yield from _extended(extended, item, here)


def _claim_name(claim: PodResourceClaim, seen: set[str], owner: Pod, path: str) -> Faults:
    if not claim.name:
        yield faults.required(path)
        return
    if claim.name in seen:
        yield faults.duplicate(path, claim.name)
        return
    seen.add(claim.name)
    shape = names.faults_of_dns_label(claim.name)
    yield from fields.texts(shape, path, claim.name)
    if claim.resource_claim_template_name is not None and not shape and owner.metadata.name:
        # The generated claim is called after both, with random characters behind.
        whole = f"{owner.metadata.name}-{claim.name}"
        for fault in names.faults_of_dns_subdomain(whole):
            yield faults.invalid(path, whole, f"final ResourceClaim name: {fault}")


def claim_source(claim: PodResourceClaim, path: str) -> Faults:
    """The source of an entry of a Pod's or a PodGroup's spec.resourceClaims."""
    named, template = claim.resource_claim_name, claim.resource_claim_template_name
    if named is not None and template is not None:
        yield faults.invalid(path, claim, _TWO_SOURCES)
    if named is None and template is None:
        yield faults.invalid(path, claim, _ONE_SOURCE)
    if named is not None:
        yield from fields.subdomain(named, f"{path}.resourceClaimName")
    if template is not None:
        yield from fields.subdomain(template, f"{path}.resourceClaimTemplateName")


def _containers(item: Pod) -> Iterator[tuple[Container, str]]:
    for name, containers in (
        ("initContainers", item.spec.init_containers),
        ("containers", item.spec.containers),
    ):
        for index, container in enumerate(containers):
            yield container, f"spec.{name}[{index}]"


def _uses(claims: tuple[ContainerResourceClaim, ...], known: set[str], path: str) -> Faults:
    """A container uses a claim as a whole, or requests of it, each once."""
    whole: set[str] = set()
    parts: set[tuple[str, str]] = set()
    for index, use in enumerate(claims):
        here = f"{path}[{index}]"
        if not use.name:
            yield faults.required(here)
            continue
        if use.request and use.name not in whole:
            yield from fields.label(use.request, f"{here}.request")
        if use.name in whole or (not use.request and any(use.name == one for one, _ in parts)):
            yield faults.duplicate(here, use.name)
        elif (use.name, use.request) in parts:
            yield faults.duplicate(here, f"{use.name}/{use.request}")
        if use.request:
            parts.add((use.name, use.request))
        else:
            whole.add(use.name)
        if use.name not in known:
            yield _unknown(use.name, known, here)


def _unknown(name: str, known: set[str], path: str) -> FieldFault:
    rest = f": {', '.join(sorted(known))}" if known else " which is empty"
    text = f"must be one of the names in pod.spec.resourceClaims{rest}"
    return faults.not_found(path, name, text)


def _same_claims(item: Pod, old: Pod) -> bool:
    def uses(pod: Pod) -> list[tuple[str, tuple[ContainerResourceClaim, ...]]]:
        return [(path, container.resources.claims) for container, path in _containers(pod)]

    return item.spec.resource_claims == old.spec.resource_claims and uses(item) == uses(old)


def made_claim(
    made: PodResourceClaimStatus, entries: Mapping[str, PodResourceClaim], path: str
) -> Faults:
    """An entry of status.resourceClaimStatuses, of a Pod or a PodGroup."""
    entry = entries.get(made.name)
    if entry is None:
        yield faults.invalid(f"{path}.name", made.name, _NO_ENTRY)
    elif entry.resource_claim_template_name is None:
        yield faults.invalid(f"{path}.name", made.name, _NO_TEMPLATE)
    if made.resource_claim_name is not None:
        yield from fields.subdomain(made.resource_claim_name, f"{path}.resourceClaimName")


def _extended(value: PodExtendedResourceClaimStatus, owner: Pod, path: str) -> Faults:
    check_claim = fields.needed(fields.subdomain)
    yield from check_claim(value.resource_claim_name, f"{path}.resourceClaimName")
    if not value.request_mappings:
        yield faults.required(f"{path}.requestMappings")
    containers = {container.name for container, _ in _containers(owner)}

    def mapping(item: ContainerExtendedResourceRequest, here: str) -> Faults:
        if item.container_name not in containers:
            yield faults.invalid(f"{here}.containerName", item.container_name, _NO_CONTAINER)
        if not item.resource_name:
            yield faults.required(f"{here}.resourceName")
        yield from fields.label(item.request_name, f"{here}.requestName")

    yield from fields.each_once(
        value.request_mappings,
        f"{path}.requestMappings",
        None,
        mapping,
        lambda item: f"{item.container_name}/{item.resource_name}/{item.request_name}",
    )
