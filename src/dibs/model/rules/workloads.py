"""The rules of a PodGroup's and a Workload's claims; their scheduling is hardly looked at.

Source: validation of scheduling.k8s.io, KEP-5729 (claims), KEP-4671 (gang.minCount).
"""

from __future__ import annotations

from dibs.model.core import PodResourceClaim
from dibs.model.rules import faults, fields, limits, pods
from dibs.model.rules.fields import Faults
from dibs.model.workloads import PodGroup, PodGroupSchedulingPolicy, Workload


def group_spec(item: PodGroup, old: PodGroup | None) -> Faults:
    yield from _claims(item.spec.resource_claims, "spec.resourceClaims")
    yield from _policy(item.spec.scheduling_policy, "spec.schedulingPolicy")
    if old is not None:
        known = old.spec.resource_claims
        yield from fields.immutable(item.spec.resource_claims, known, "spec.resourceClaims")


def group_status(item: PodGroup) -> Faults:
    entries = {claim.name: claim for claim in item.spec.resource_claims}
    path = "status.resourceClaimStatuses"
    yield from fields.each_once(
        item.status.resource_claim_statuses,
        path,
        limits.GROUP_CLAIMS,
        lambda made, here: pods.made_claim(made, entries, here),
        lambda made: made.name,
    )


def workload_spec(item: Workload, old: Workload | None) -> Faults:
    for index, template in enumerate(item.spec.pod_group_templates):
        path = f"spec.podGroupTemplates[{index}]"
        yield from _claims(template.resource_claims, f"{path}.resourceClaims")
        yield from _policy(template.scheduling_policy, f"{path}.schedulingPolicy")
    if old is not None:
        known = old.spec.pod_group_templates
        yield from fields.immutable(item.spec.pod_group_templates, known, "spec.podGroupTemplates")


def _claims(claims: tuple[PodResourceClaim, ...], path: str) -> Faults:
    def claim(entry: PodResourceClaim, here: str) -> Faults:
        yield from fields.needed(fields.label)(entry.name, f"{here}.name")
        yield from pods.claim_source(entry, here)

    yield from fields.each_once(claims, path, limits.GROUP_CLAIMS, claim, lambda entry: entry.name)


def _policy(policy: PodGroupSchedulingPolicy, path: str) -> Faults:
    if policy.gang is not None and policy.gang.min_count < 1:
        text = "must be greater than or equal to 1"
        yield faults.invalid(f"{path}.gang.minCount", policy.gang.min_count, text)
