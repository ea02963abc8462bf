"""Versions that will stop being served, in what people write.

Slices are left out, and so is what came from an API server: there the version is a matter of who
asked, not of who wrote.
"""

from __future__ import annotations

from collections.abc import Iterator

from dibs.lint.rule import Remark, Rule, World
from dibs.model.kinds import Known
from dibs.model.objects import GROUP, ResourceClaim, ResourceClaimTemplate, ResourceSlice

# version → deprecated since, not served from. Source: resource.k8s.io, API lifecycle.
ENDING = {f"{GROUP}/v1beta1": ("1.35", "1.38")}


def deprecated(world: World) -> Iterator[Remark]:
    for entry in world.loaded.entries:
        since_gone = ENDING.get(entry.origin.api_version)
        if since_gone is None or isinstance(entry.object, ResourceSlice):
            continue
        if entry.object.metadata.uid:
            continue
        since, gone = since_gone
        yield Remark(
            entry,
            "apiVersion",
            f"{entry.origin.api_version} is deprecated since Kubernetes {since} and not served "
            f"from {gone} on",
            f"write {GROUP}/v1{moved(entry.object)}",
        )


def moved(item: Known) -> str:
    """Say what else changes on the way to v1."""
    if isinstance(item, ResourceClaim | ResourceClaimTemplate):
        return ", where what a request wants stands under exactly"
    return ""


RULES = (
    Rule(
        "version-deprecated",
        "warning",
        "a manifest is written in a version that will not be served for long",
        deprecated,
    ),
)
