"""The parts of core/v1 that device allocation touches: Node, Pod, Namespace.

These kinds have far more fields than dibs needs. What is not named here is kept as it was read,
in `rest`, so that nothing is lost in a round trip; it is never reported as unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dibs.model.meta import Int32, Int64, Object, ObjectMeta
from dibs.values.quantity import Quantity


class Partial(Object, frozen=True, forbid_unknown_fields=False):
    """A type of which we name only some fields. `codec` fills `rest` with the others."""


class Taint(Partial, frozen=True):
    key: str = ""
    value: str = ""
    effect: str = ""
    rest: Mapping[str, Any] = {}


class NodeSpec(Partial, frozen=True):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    rest: Mapping[str, Any] = {}


class NodeStatus(Partial, frozen=True):
    capacity: Mapping[str, Quantity] = {}
    allocatable: Mapping[str, Quantity] = {}
    # What kubelet has declared that it can do (KEP-5328).
    declared_features: tuple[str, ...] = ()
    rest: Mapping[str, Any] = {}


class Node(Partial, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
    rest: Mapping[str, Any] = {}


class Namespace(Partial, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    rest: Mapping[str, Any] = {}


class PodResourceClaim(Object, frozen=True):
    """Names one claim of a Pod; exactly one of the two sources is set."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class ContainerResourceClaim(Object, frozen=True):
    """A container's use of a claim, of all its requests or of one (never `request/sub`)."""

    name: str = ""
    request: str = ""


class ResourceRequirements(Partial, frozen=True):
    limits: Mapping[str, Quantity] = {}
    requests: Mapping[str, Quantity] = {}
    claims: tuple[ContainerResourceClaim, ...] = ()
    rest: Mapping[str, Any] = {}


class Container(Partial, frozen=True):
    name: str = ""
    # Always, in an init container: a sidecar, which goes on beside the others.
    restart_policy: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    rest: Mapping[str, Any] = {}


class PodToleration(Partial, frozen=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None
    rest: Mapping[str, Any] = {}


class PodSchedulingGroup(Partial, frozen=True):
    pod_group_name: str | None = None
    rest: Mapping[str, Any] = {}


class PodSpec(Partial, frozen=True):
    node_name: str = ""
    node_selector: Mapping[str, str] = {}
    # Kept as read: `schedule` looks only at the required node affinity.
    affinity: Any = None
    tolerations: tuple[PodToleration, ...] = ()
    priority: Int32 | None = None
    scheduler_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    ephemeral_containers: tuple[Container, ...] = ()
    resources: ResourceRequirements | None = None
    overhead: Mapping[str, Quantity] = {}
    resource_claims: tuple[PodResourceClaim, ...] = ()
    scheduling_group: PodSchedulingGroup | None = None
    rest: Mapping[str, Any] = {}


class PodResourceClaimStatus(Object, frozen=True):
    """The claim made for a template entry; a None name means no claim was needed."""

    name: str = ""
    resource_claim_name: str | None = None


class ContainerExtendedResourceRequest(Object, frozen=True):
    container_name: str = ""
    resource_name: str = ""
    request_name: str = ""


class PodExtendedResourceClaimStatus(Object, frozen=True):
    """KEP-5004."""

    resource_claim_name: str = ""
    request_mappings: tuple[ContainerExtendedResourceRequest, ...] = ()


class NodeAllocatableMappedAmount(Object, frozen=True):
    name: str = ""
    quantity: Quantity | None = None


class NodeAllocatableOverheadAmount(Object, frozen=True):
    name: str = ""
    per_pod: Quantity | None = None
    per_container: Quantity | None = None


class NodeAllocatableResourceClaimStatus(Object, frozen=True):
    """What a Pod draws from its node through one claim (KEP-5517)."""

    resource_claim_name: str = ""
    containers: tuple[str, ...] = ()
    mapping: tuple[NodeAllocatableMappedAmount, ...] = ()
    overhead: tuple[NodeAllocatableOverheadAmount, ...] = ()


class PodStatus(Partial, frozen=True):
    phase: str = ""
    nominated_node_name: str = ""
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None
    node_allocatable_resource_claim_statuses: tuple[NodeAllocatableResourceClaimStatus, ...] = ()
    rest: Mapping[str, Any] = {}


class Pod(Partial, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()
    rest: Mapping[str, Any] = {}
