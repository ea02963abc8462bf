"""Worlds in shorthand: what a case file says under `given`, as objects of the model.

given:
  nodes: {a: {}, b: {taints: [dedicated=ml:NoSchedule], labels: {zone: x}, cordoned: true}}
  devices: {a: [gpu-0, gpu-1]}          # one slice a node, each an A100 of 40Gi
  tainted: {a/gpu-1: example.com/ecc:NoSchedule}
  claims: {shared: {count: 1, held: [a/gpu-0], for: [one], created: "2026-01-01T00:00:00Z"}}
  templates: {own: {count: 2}}
  pods: {one: {claims: [shared], templates: [own], node: "", created: ""}}
  cluster: |                            # manifests in full; also `manifests`
    apiVersion: …
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import yaml

from dibs.model import codec
from dibs.model.core import (
    Container,
    ContainerResourceClaim,
    Node,
    Pod,
    PodResourceClaim,
    PodSchedulingGroup,
    PodSpec,
    PodStatus,
    PodToleration,
    ResourceRequirements,
    Taint,
)
from dibs.model.meta import LabelSelectorRequirement, NodeSelector, NodeSelectorTerm, ObjectMeta
from dibs.model.objects import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceTaint,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimStatus,
)
from dibs.schedule import ids
from dibs.schedule.snapshot import Key, Snapshot
from dibs.testing import builders
from dibs.values.quantity import Quantity


def snapshot(given: Mapping[str, Any]) -> Snapshot:
    return Snapshot.of(objects(given))


def objects(given: Mapping[str, Any]) -> Iterator[object]:
    yield from given.get("objects", ())
    for text in (given[name] for name in ("cluster", "manifests") if name in given):
        for tree in yaml.load_all(text, yaml.CSafeLoader):
            decoded = codec.decode(tree)
            assert not decoded.faults, decoded.faults
            assert decoded.object is not None
            yield decoded.object
    usual = {} if "cluster" in given else {"gpu": ()}
    for name, expressions in given.get("classes", usual).items():
        yield builders.device_class(name, *expressions)
    for name, about in given.get("nodes", {}).items():
        yield node(name, about or {})
    for name, names in given.get("devices", {}).items():
        yield builders.resource_slice(
            *(device(name, each, given) for each in names), node=name, of=given.get("of", 1)
        )
    for name, about in given.get("templates", {}).items():
        yield builders.template(name, request(about or {}))
    for name, about in given.get("claims", {}).items():
        yield claim(name, about or {}, given)
    for name, about in given.get("pods", {}).items():
        yield pod(name, about or {})


def node(name: str, about: Mapping[str, Any]) -> Node:
    made = builders.node(name, **about.get("labels", {}))
    spec = msgspec.structs.replace(
        made.spec,
        unschedulable=about.get("cordoned", False),
        taints=tuple(taint(text) for text in about.get("taints", ())),
    )
    return msgspec.structs.replace(made, spec=spec)


def taint(text: str) -> Taint:
    pair, _, effect = text.rpartition(":")
    key, _, value = pair.partition("=")
    return Taint(key=key, value=value, effect=effect)


def device(node_name: str, name: str, given: Mapping[str, Any]) -> Any:
    text = given.get("tainted", {}).get(f"{node_name}/{name}")
    if text is None:
        return builders.device(name, memory="40Gi", model="A100")
    key, _, effect = text.rpartition(":")
    taints = (DeviceTaint(key=key, effect=effect),)
    return builders.device(name, memory="40Gi", model="A100", taints=taints)


def request(about: Mapping[str, Any]) -> Any:
    if "first_available" in about:
        subs = about["first_available"].items()
        return builders.first_available("gpu", *(alternative(name, sub) for name, sub in subs))
    return builders.request(
        "gpu",
        *about.get("selectors", ()),
        count=about.get("count", 1),
        device_class=about.get("class", "gpu"),
    )


def alternative(name: str, about: Mapping[str, Any]) -> Any:
    return builders.alternative(name, *about.get("selectors", ()), count=about.get("count", 1))


def claim(name: str, about: Mapping[str, Any], given: Mapping[str, Any]) -> ResourceClaim:
    constraints = [builders.match(each) for each in about.get("match", ())]
    made = builders.claim(
        name,
        request(about),
        namespace=about.get("namespace", "default"),
        constraints=constraints,
    )
    metadata = msgspec.structs.replace(
        made.metadata,
        creation_timestamp=about.get("created"),
        deletion_timestamp="2026-01-01T00:00:00Z" if about.get("deleting") else None,
    )
    picks = tuple(
        builders.pick(each.partition("/")[2], pool=each.partition("/")[0])
        for each in about.get("held", ())
    )
    if not picks:
        return msgspec.structs.replace(made, metadata=metadata)
    where = about["held"][0].partition("/")[0]
    allocation = AllocationResult(
        devices=DeviceAllocationResult(results=picks), node_selector=only(where)
    )
    reserved = tuple(
        ResourceClaimConsumerReference(
            resource="pods",
            name=each,
            uid=ids.uid("Pod", Key(made.metadata.namespace, each)),
        )
        for each in consumers(about.get("for", ()))
    )
    status = ResourceClaimStatus(allocation=allocation, reserved_for=reserved)
    return msgspec.structs.replace(made, metadata=metadata, status=status)


def consumers(named: object) -> list[str]:
    if isinstance(named, int):
        return [f"pod-{index}" for index in range(named)]
    assert isinstance(named, list | tuple)
    return [str(each) for each in named]


def only(name: str) -> NodeSelector:
    field = LabelSelectorRequirement(key="metadata.name", operator="In", values=(name,))
    return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(field,)),))


def pod(name: str, about: Mapping[str, Any]) -> Pod:
    entries = [PodResourceClaim(name=n, resource_claim_name=n) for n in about.get("claims", ())]
    entries += [
        PodResourceClaim(name=n, resource_claim_template_name=n) for n in about.get("templates", ())
    ]
    limits, of_pod = amounts(about.get("limits", {})), amounts(about.get("pod_limits", {}))
    uses = tuple(ContainerResourceClaim(name=each) for each in about.get("uses", ()))
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace=about.get("namespace", "default"),
            creation_timestamp=about.get("created"),
            deletion_timestamp="2026-01-01T00:00:00Z" if about.get("deleting") else None,
        ),
        spec=PodSpec(
            node_name=about.get("node", ""),
            node_selector=about.get("node_selector", {}),
            affinity=about.get("affinity"),
            tolerations=tuple(
                PodToleration(key=key, operator="Exists") for key in about.get("tolerates", ())
            ),
            containers=(
                Container(name="main", resources=ResourceRequirements(limits=limits, claims=uses)),
            ),
            resources=ResourceRequirements(limits=of_pod) if of_pod else None,
            overhead=amounts(about.get("overhead", {})),
            scheduling_group=PodSchedulingGroup(pod_group_name=about["group"])
            if "group" in about
            else None,
            resource_claims=tuple(entries),
            rest={"schedulingGates": [{"name": n} for n in about["gates"]]}
            if "gates" in about
            else {},
        ),
        status=PodStatus(phase=about.get("phase", ""), rest=unscheduled(about.get("told", ""))),
    )


def unscheduled(message: str) -> dict[str, Any]:
    """What stays opaque of a status: the condition that says why a Pod waits."""
    told = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    return {"conditions": [{**told, "message": message}]} if message else {}


def amounts(written: Mapping[str, Any]) -> dict[str, Quantity]:
    return {name: Quantity.parse(str(value)) for name, value in written.items()}
