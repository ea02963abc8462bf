"""Pods and the PodGroups they belong to: names that lead nowhere, claims that are not shared.

A Pod shares its group's claim only if its entry equals the group's in name and both references
(KEP-5729). One that differs is legal: the Pod then has a claim of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from dibs.lint import references
from dibs.lint.rule import Remark, Rule, World
from dibs.model.core import Pod, PodResourceClaim
from dibs.model.workloads import PodGroup
from dibs.schedule import groups
from dibs.schedule.snapshot import Key, key_of


def missing_group(world: World) -> Iterator[Remark]:
    known = world.snapshot.groups
    for entry, pod in world.entries(Pod):
        key = groups.key_of_pod(pod)
        if known and key is not None and key not in known:
            yield Remark(
                entry,
                "spec.schedulingGroup.podGroupName",
                f"PodGroup {key.name} is not in namespace {key.namespace}",
                references.instead_in(key, known),
            )


def missing_source(world: World) -> Iterator[Remark]:
    templates, claims = world.snapshot.templates, world.snapshot.claims
    for entry, group in world.entries(PodGroup):
        namespace = key_of(group.metadata).namespace
        for index, used in enumerate(group.spec.resource_claims):
            path = f"spec.resourceClaims[{index}]"
            template = Key(namespace, used.resource_claim_template_name or "")
            claim = Key(namespace, used.resource_claim_name or "")
            if template.name and templates and template not in templates:
                text = f"template {template.name} is not in namespace {namespace}"
                remedy = references.instead_in(template, templates)
                yield Remark(entry, f"{path}.resourceClaimTemplateName", text, remedy)
            if claim.name and claims and claim not in claims:
                text = f"claim {claim.name} is not in namespace {namespace}"
                remedy = references.instead_in(claim, claims)
                yield Remark(entry, f"{path}.resourceClaimName", text, remedy)


def claim_not_shared(world: World) -> Iterator[Remark]:
    for entry, pod in world.entries(Pod):
        key = groups.key_of_pod(pod)
        group = world.snapshot.groups.get(key) if key is not None else None
        if group is None:
            continue
        by_name = {each.name: each for each in group.spec.resource_claims}
        for index, used in enumerate(pod.spec.resource_claims):
            of_group = by_name.get(used.name)
            if of_group is not None and of_group != used:
                yield Remark(
                    entry,
                    f"spec.resourceClaims[{index}]",
                    f"entry {used.name} is from {source(used)}, that of PodGroup "
                    f"{group.metadata.name} from {source(of_group)}: this Pod doesn't share it",
                    "make both equal, or give the Pod's entry a name of its own",
                )


def source(used: PodResourceClaim) -> str:
    if used.resource_claim_template_name:
        return f"template {used.resource_claim_template_name}"
    return f"claim {used.resource_claim_name}"


RULES = (
    Rule("group-missing", "error", "a Pod names a PodGroup that is not there", missing_group),
    Rule(
        "group-claim-missing",
        "error",
        "a PodGroup names a claim or template that is not in its namespace",
        missing_source,
    ),
    Rule(
        "group-claim-not-shared",
        "warning",
        "a Pod's entry has the name of its PodGroup's, and another source",
        claim_not_shared,
    ),
)
