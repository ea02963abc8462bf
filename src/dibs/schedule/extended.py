"""Devices that a container asks for as a resource name: `nvidia.com/gpu: 1`.

A DeviceClass may serve such a name (KEP-5004). dibs does not make the claim for it yet; it says
so instead of placing the Pod without its devices. Nodes where a device plugin advertises the name
are the plugin's affair and no matter of ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dibs.model.core import Node, Pod
from dibs.model.objects import DeviceClass
from dibs.schedule.plan import Objection

IMPLICIT = "deviceclass.resource.kubernetes.io/"


def served(pod: Pod, classes: Iterable[DeviceClass]) -> Mapping[str, str]:
    """The resource names of the Pod's containers that a class serves, each with the class."""
    by_name: dict[str, str] = {}
    for each in classes:
        by_name[IMPLICIT + each.metadata.name] = each.metadata.name
        if each.spec.extended_resource_name:
            by_name[each.spec.extended_resource_name] = each.metadata.name
    asked: dict[str, str] = {}
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        wanted = {**container.resources.limits, **container.resources.requests}
        asked.update((name, by_name[name]) for name in wanted if name in by_name)
    return asked


def objection(asked: Mapping[str, str], node: Node) -> Objection | None:
    for name, device_class in asked.items():
        plugin = node.status.allocatable.get(name)
        if plugin is None or plugin.sign() == 0:
            return Objection(
                "extended resource",
                f"a container asks for {name}, which device class {device_class} serves: "
                "such requests are not placed yet",
                "ask through a ResourceClaim instead",
            )
    return None
