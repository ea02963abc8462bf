"""The parts of scheduling.k8s.io that share claims: PodGroup and Workload.

A PodGroup names claims as a Pod does; Pods of the group with an equal entry share one (KEP-5729).
What only the group's scheduling needs is kept as it was read, in `rest`.
Source: scheduling.k8s.io/v1beta1 and v1alpha3 as of Kubernetes 1.37; KEP-4671, KEP-5729.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dibs.model.core import Partial, PodResourceClaim, PodResourceClaimStatus
from dibs.model.meta import Int32, ObjectMeta

GROUP = "scheduling.k8s.io"


class GangSchedulingPolicy(Partial, frozen=True):
    min_count: Int32 = 0
    rest: Mapping[str, Any] = {}


class PodGroupSchedulingPolicy(Partial, frozen=True):
    """Exactly one of `gang` and `basic`; basic has no fields and is kept in `rest`."""

    gang: GangSchedulingPolicy | None = None
    rest: Mapping[str, Any] = {}


class PodGroupSpec(Partial, frozen=True):
    scheduling_policy: PodGroupSchedulingPolicy = PodGroupSchedulingPolicy()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    rest: Mapping[str, Any] = {}


class PodGroupStatus(Partial, frozen=True):
    # Shaped as in a Pod's status: the entry, and the claim made for it.
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    rest: Mapping[str, Any] = {}


class PodGroup(Partial, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()
    rest: Mapping[str, Any] = {}


class PodGroupTemplate(Partial, frozen=True):
    name: str = ""
    scheduling_policy: PodGroupSchedulingPolicy = PodGroupSchedulingPolicy()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    rest: Mapping[str, Any] = {}


class WorkloadSpec(Partial, frozen=True):
    pod_group_templates: tuple[PodGroupTemplate, ...] = ()
    rest: Mapping[str, Any] = {}


class Workload(Partial, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: WorkloadSpec = WorkloadSpec()
    rest: Mapping[str, Any] = {}
