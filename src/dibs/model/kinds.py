"""The kinds dibs knows, each with its struct, its scope and the versions it is served in.

A table and nothing else. Reading is `codec`, the differences of versions are `versions`.
Source: API groups resource.k8s.io and scheduling.k8s.io as of Kubernetes 1.37, and core/v1.
"""

from __future__ import annotations

from dataclasses import dataclass

from dibs.model import core, objects, workloads

GROUP = objects.GROUP

Known = (
    objects.ResourceSlice
    | objects.DeviceClass
    | objects.ResourceClaim
    | objects.ResourceClaimTemplate
    | objects.DeviceTaintRule
    | objects.ResourcePoolStatusRequest
    | core.Node
    | core.Pod
    | core.Namespace
    | workloads.PodGroup
    | workloads.Workload
)


@dataclass(frozen=True, slots=True)
class Kind:
    """`versions` are newest first; objects are held in the first one."""

    name: str
    plural: str
    struct: type[Known]
    group: str
    namespaced: bool
    versions: tuple[str, ...]

    def __hash__(self) -> int:
        # No two kinds of the table have one name, and every reference to an object has a kind.
        return hash(self.name)

    def api_version(self, version: str) -> str:
        """Return what stands in `apiVersion` for one of `versions`."""
        return f"{self.group}/{version}" if self.group else version


_SERVED = ("v1", "v1beta2", "v1beta1")
_WORKLOAD = ("v1beta1", "v1alpha3")

KINDS: tuple[Kind, ...] = (
    Kind("ResourceSlice", "resourceslices", objects.ResourceSlice, GROUP, False, _SERVED),
    Kind("DeviceClass", "deviceclasses", objects.DeviceClass, GROUP, False, _SERVED),
    Kind("ResourceClaim", "resourceclaims", objects.ResourceClaim, GROUP, True, _SERVED),
    Kind(
        "ResourceClaimTemplate",
        "resourceclaimtemplates",
        objects.ResourceClaimTemplate,
        GROUP,
        True,
        _SERVED,
    ),
    Kind(
        "DeviceTaintRule",
        "devicetaintrules",
        objects.DeviceTaintRule,
        GROUP,
        False,
        ("v1", "v1beta2", "v1alpha3"),
    ),
    Kind(
        "ResourcePoolStatusRequest",
        "resourcepoolstatusrequests",
        objects.ResourcePoolStatusRequest,
        GROUP,
        False,
        ("v1alpha3",),
    ),
    Kind("Node", "nodes", core.Node, "", False, ("v1",)),
    Kind("Pod", "pods", core.Pod, "", True, ("v1",)),
    Kind("Namespace", "namespaces", core.Namespace, "", False, ("v1",)),
    Kind("PodGroup", "podgroups", workloads.PodGroup, workloads.GROUP, True, _WORKLOAD),
    Kind("Workload", "workloads", workloads.Workload, workloads.GROUP, True, _WORKLOAD),
)

BY_NAME: dict[tuple[str, str], Kind] = {(kind.group, kind.name): kind for kind in KINDS}
BY_STRUCT: dict[type, Kind] = {kind.struct: kind for kind in KINDS}


def of(item: Known) -> Kind:
    return BY_STRUCT[type(item)]


def name_of(item: Known) -> str:
    """Return `Kind namespace/name`, as messages and `Fault.subject` have it."""
    where = f"{item.metadata.namespace}/" if item.metadata.namespace else ""
    return f"{type(item).__name__} {where}{item.metadata.name}"
