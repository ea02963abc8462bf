"""Devices that a container asks for as a resource name: `nvidia.com/gpu: 1` (KEP-5004).

Who has such a name to give differs from node to node. Where a device plugin advertises it
(status.allocatable is above 0) it is the plugin's affair, and only counted. Elsewhere a
DeviceClass may serve it: then one claim of the Pod, made by the scheduler, asks for the devices.
Which devices is decided in `allocate`, as for any claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from dibs.model.core import Container, ContainerExtendedResourceRequest, Node, Pod
from dibs.model.meta import ObjectMeta, OwnerReference
from dibs.model.objects import (
    DeviceClaim,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from dibs.request.asks import MAX_DEVICES
from dibs.schedule import footprint, ids
from dibs.schedule.footprint import Amounts
from dibs.schedule.plan import Objection
from dibs.schedule.snapshot import IMPLICIT, Key, Snapshot, key_of
from dibs.values import names
from dibs.values.mistake import Mistake

ANNOTATION = "resource.kubernetes.io/extended-resource-claim"


@dataclass(frozen=True, slots=True)
class Special:
    """The claim for what a Pod's containers ask for by name, as one node would have it.

    `mappings` say which request serves which container's resource.
    """

    claim: ResourceClaim
    mappings: tuple[ContainerExtendedResourceRequest, ...]


def wanted(pod: Pod) -> Mapping[str, int]:
    """The extended resources of the Pod, by name, each with its number.

    Raises Mistake for a part of a device, and for less than none.
    """
    if not any("/" in name for each in containers(pod) for name in footprint.asked(each.resources)):
        return {}
    for container in containers(pod):
        for name, amount in footprint.asked(container.resources).items():
            if is_extended(name) and (not amount.is_whole() or amount.sign() < 0):
                raise Mistake(
                    f"{amount} of {name} is asked for, and devices come whole",
                    path=f"Pod {key_of(pod.metadata)}: container {container.name}",
                    remedy="ask for a whole number; parts of a device are had through a claim",
                )
    total = footprint.of_containers(pod)
    return {
        name: amount.rounded_up()
        for name, amount in sorted(total.items())
        if is_extended(name) and amount.sign()
    }


def containers(pod: Pod) -> tuple[Container, ...]:
    """In the order of their numbers in request names."""
    return (*pod.spec.init_containers, *pod.spec.containers)


def is_extended(name: str) -> bool:
    return name.startswith(IMPLICIT) or names.is_extended_resource(name)


def is_plugged(name: str, node: Node) -> bool:
    """Whether a device plugin has it to give; one that is gone leaves a 0 (kubernetes#133784)."""
    amount = node.status.allocatable.get(name)
    return amount is not None and amount.sign() > 0


def objection(
    asked: Mapping[str, int], node: Node, used: Amounts, served: Mapping[str, str]
) -> Objection | None:
    """Why the node can't give what is asked for by name, before any device is looked at.

    `used` is what Pods on the node have, `served` the names that have a class.
    """
    for name, count in asked.items():
        if is_plugged(name, node):
            total = node.status.allocatable[name]
            left = total.minus(used.get(name, footprint.ZERO))
            if left.rounded_up() < count:
                text = f"its device plugin has too few {name}, {count} wanted"
                return Objection("extended resource", text, detail=f"{left} of {total} left")
        # A node about which nothing is known may have anything.
        elif name not in served and node.status.allocatable:
            text = f"{name} is advertised by no device plugin there, and served by no device class"
            return Objection("extended resource", text)
    return None


def special(pod: Pod, asked: Iterable[str], snapshot: Snapshot) -> Special | Objection | None:
    """The claim for those names that a class serves; None when that is none of them.

    `asked` are the names that the node has no device plugin for.
    """
    through_devices = {name: snapshot.served[name] for name in asked if name in snapshot.served}
    if not through_devices:
        return None
    requests: list[DeviceRequest] = []
    mappings: list[ContainerExtendedResourceRequest] = []
    for name, class_name in through_devices.items():
        of_name, told = requests_for(pod, name, class_name)
        requests += of_name
        mappings += told
    total = sum(request.exactly.count for request in requests if request.exactly)
    if total > MAX_DEVICES:
        text = f"{total} devices are asked for by name, one claim has room for {MAX_DEVICES}"
        return Objection("extended resource", text, "ask through claims of the Pod")
    requests.sort(key=lambda request: request.name)
    return Special(special_claim(pod, tuple(requests), snapshot), tuple(mappings))


def special_claim(
    pod: Pod, requests: tuple[DeviceRequest, ...], snapshot: Snapshot
) -> ResourceClaim:
    key = key_of(pod.metadata)
    name = ids.special_name(key, snapshot.claims)
    owner = OwnerReference(
        api_version="v1",
        kind="Pod",
        name=key.name,
        uid=ids.pod_uid(pod),
        controller=True,
    )
    metadata = ObjectMeta(
        name=name,
        generate_name=f"{key.name}-extended-resources-",
        namespace=key.namespace,
        uid=ids.uid("ResourceClaim", Key(key.namespace, name)),
        annotations={ANNOTATION: "true"},
        owner_references=(owner,),
    )
    spec = ResourceClaimSpec(devices=DeviceClaim(requests=requests))
    return ResourceClaim(metadata=metadata, spec=spec)


# --- one resource -------------------------------------------------------------------------------


def requests_for(
    pod: Pod, name: str, class_name: str
) -> tuple[list[DeviceRequest], list[ContainerExtendedResourceRequest]]:
    """The requests for one resource, and which container is served by which.

    Containers and sidecars have devices of their own. An init container that ends uses those of
    the containers after it, and what is missing then is one request that all such share, as large
    as the largest of them wants.
    """
    everyone = containers(pod)
    first_main = len(pod.spec.init_containers)
    lasting: dict[int, DeviceRequest] = {}
    mappings: list[ContainerExtendedResourceRequest] = []
    passing: list[int] = []
    for number, container in enumerate(everyone):
        if number < first_main and not footprint.is_sidecar(container):
            passing.append(number)
        elif count := count_of(container, name):
            lasting[number] = request(number, container, name, class_name, count)
            mappings.append(mapping(container, name, lasting[number].name))
    extra: DeviceRequest | None = None
    short: list[Container] = []
    for number in passing:
        container = everyone[number]
        missing = count_of(container, name)
        for later, lent in lasting.items():
            if later > number and missing > 0 and lent.exactly is not None:
                mappings.append(mapping(container, name, lent.name))
                missing -= lent.exactly.count
        if missing > 0:
            short.append(container)
            own = request(number, container, name, class_name, missing)
            if extra is None or counts(own) > counts(extra):
                extra = own
    if extra is None:
        return list(lasting.values()), mappings
    mappings += [mapping(container, name, extra.name) for container in short]
    return [extra, *lasting.values()], mappings


def count_of(container: Container, name: str) -> int:
    amount = footprint.asked(container.resources).get(name)
    return amount.rounded_up() if amount is not None else 0


def counts(request: DeviceRequest) -> int:
    return request.exactly.count if request.exactly else 0


def request(
    number: int, container: Container, name: str, class_name: str, count: int
) -> DeviceRequest:
    """`container-<i>-request-<j>`: the container's number among all, and the place of the resource
    among all that it asks for, by name."""
    place = sorted(footprint.asked(container.resources)).index(name)
    exactly = ExactDeviceRequest(
        device_class_name=class_name, allocation_mode="ExactCount", count=count
    )
    return DeviceRequest(name=f"container-{number}-request-{place}", exactly=exactly)


def mapping(container: Container, name: str, request: str) -> ContainerExtendedResourceRequest:
    return ContainerExtendedResourceRequest(
        container_name=container.name, resource_name=name, request_name=request
    )


# --- claims that are there already --------------------------------------------------------------


def claims_of(pod: Pod, snapshot: Snapshot) -> Iterator[ResourceClaim]:
    """The special claims that belong to a Pod: one that it has, or one left over."""
    for key in snapshot.generated.get(key_of(pod.metadata), ()):
        claim = snapshot.claims[key]
        is_own = any(
            owner.controller and owner.kind == "Pod" and owner.uid == ids.pod_uid(pod)
            for owner in claim.metadata.owner_references
        )
        if is_own and is_special(claim):
            yield claim


def is_special(claim: ResourceClaim) -> bool:
    """Whether a claim was made for extended resources."""
    return claim.metadata.annotations.get(ANNOTATION) == "true"
