"""Random users of a small cluster, and those who work in it: a kubelet, a device controller.

Everything they do is drawn from one source of chance. Devices are what `HARDWARE` says, on every
node the same; what a slice publishes of it comes and goes. That they are refused (a name is taken,
a namespace goes) is a part of life.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from dibs.api.calls import Tree
from dibs.api.failures import Failure
from dibs.control.nodeless import MODEL
from dibs.testing.planes import Driven

V1 = "resource.k8s.io/v1"
GPU, FABRIC = "gpu.example.com", "fabric.example.com"
READY, BROKEN = "Attached", "Unattachable"
CARD = 40
NIC = 10

SPACES = ("default", "team")
NODES = ("n0", "n1", "n2")
# What a device takes of the card's memory, by name.
DRAWN = {"part-40": 40, "part-20a": 20, "part-20b": 20, "part-10": 10}


def _device(name: str, kind: str, **more: Any) -> Tree:
    return {"name": name, "attributes": {"kind": {"string": kind}}, **more}


def _part(name: str, amount: int) -> Tree:
    draws = [{"counterSet": "card", "counters": {"memory": {"value": str(amount)}}}]
    return _device(name, "part", consumesCounters=draws)


WHOLE = [_device(f"gpu-{number}", "whole") for number in range(3)]
PARTS = [_part(name, amount) for name, amount in DRAWN.items()]
SHARED = [
    _device(
        "nic-0",
        "nic",
        allowMultipleAllocations=True,
        capacity={"bandwidth": {"value": str(NIC)}},
    )
]
ATTACHED = [
    _device(f"fab-{number}", "fabric", bindingConditions=[READY], bindingFailureConditions=[BROKEN])
    for number in range(2)
]
# Slices of a node by the end of their name: driver, devices, counters.
HARDWARE: Mapping[str, tuple[str, list[Tree]]] = {
    "gpus": (GPU, [*WHOLE, *SHARED]),
    "parts": ("part.example.com", PARTS),
    "fabric": (FABRIC, ATTACHED),
}


def device_class(name: str, kind: str, **spec: Any) -> Tree:
    drivers = {"part": "part.example.com", "fabric": FABRIC}
    driver = drivers.get(kind, GPU)
    text = f"device.driver == '{driver}' && device.attributes['{driver}'].kind == '{kind}'"
    return {
        "apiVersion": V1,
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": text}}], **spec},
    }


CLASSES = (
    device_class("gpu", "whole", extendedResourceName="example.com/gpu"),
    device_class("part", "part"),
    device_class("nic", "nic"),
    device_class("fabric", "fabric"),
)


def wish(device_class: str, count: int = 1, **exactly: Any) -> Tree:
    asked = {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": count}
    return {"name": device_class, "exactly": {**asked, **exactly}}


WISHES: Mapping[str, list[Tree]] = {
    "one": [wish("gpu")],
    "two": [wish("gpu", 2)],
    "part": [wish("part")],
    "nic": [wish("nic", capacity={"requests": {"bandwidth": "4"}})],
    "fabric": [wish("fabric")],
    "both": [wish("gpu"), wish("fabric")],
    "steady": [wish("gpu", tolerations=[{"operator": "Exists", "tolerationSeconds": 20}])],
}


def object_(kind: str, name: str, space: str = "", group: str = V1, **rest: Any) -> Tree:
    metadata = {"name": name, **({"namespace": space} if space else {})}
    return {"apiVersion": group, "kind": kind, "metadata": metadata, **rest}


@dataclass(slots=True)
class Crowd:
    """One for a simulation."""

    plane: Driven
    chance: Random
    # What each node has published: the generation of its slices.
    generation: int = 1
    # Of how many names Pods are: the fewer, the more often one is used again at once.
    names: int = 10
    done: list[str] = field(default_factory=list)

    async def arrive(self) -> None:
        """What is there before anybody does anything."""
        await self._try(self.plane.create(object_("Namespace", "team", group="v1")))
        for tree in CLASSES:
            await self.plane.create(tree)
        for node in NODES[: self.chance.randint(1, len(NODES))]:
            await self._node(node)
        for space in SPACES:
            await self._templates(space)
        for number in range(2):
            requests = self.chance.choice(tuple(WISHES.values()))
            spec = {"devices": {"requests": requests}}
            await self.plane.create(
                object_("ResourceClaim", f"claim-{number}", "default", spec=spec)
            )
        for name, value in (("high", 1000), ("low", -5)):
            tree = object_("PriorityClass", name, group="scheduling.k8s.io/v1", value=value)
            await self.plane.create(tree)

    async def act(self) -> None:
        """One thing that somebody does."""
        deeds, weights = zip(*DEEDS, strict=True)
        [deed] = self.chance.choices(deeds, weights)
        await self._try(deed(self))

    async def _try(self, doing: Any) -> None:
        try:
            await doing
        except Failure as failure:
            if failure.code not in (403, 404, 409, 422):
                raise

    # --- things to do ------------------------------------------------------------------------

    async def make_pod(self) -> None:
        chance, name = self.chance, f"pod-{self.chance.randrange(self.names)}"
        entries: list[Tree] = []
        resources: Tree = {}
        spec: Tree = {}
        for number in range(chance.choice((0, 1, 1, 1, 2))):
            if chance.random() < 0.6:
                source = {"resourceClaimTemplateName": chance.choice(tuple(WISHES))}
            else:
                source = {"resourceClaimName": f"claim-{chance.randrange(3)}"}
            entries.append({"name": f"c{number}", **source})
        if chance.random() < 0.2:
            resources["limits"] = {"example.com/gpu": str(chance.randint(1, 2))}
        if chance.random() < 0.15:
            group = f"group-{chance.randrange(2)}"
            spec["schedulingGroup"] = {"podGroupName": group}
            entries = [{"name": "shared", "resourceClaimTemplateName": "one"}, *entries]
        if chance.random() < 0.1:
            spec["nodeSelector"] = {"kubernetes.io/hostname": chance.choice(NODES)}
        if chance.random() < 0.2:
            spec["priorityClassName"] = chance.choice(("high", "low"))
        if chance.random() < 0.05:
            spec["schedulingGates"] = [{"name": "example.com/wait"}]
        if chance.random() < 0.05:
            spec["nodeName"] = chance.choice(NODES)
        if entries:
            resources["claims"] = [{"name": each["name"]} for each in entries]
            spec["resourceClaims"] = entries
        if chance.random() < 0.3:
            resources["requests"] = {"cpu": chance.choice(("1", "3"))}
        container = {"name": "main", "image": "example.com/x", "resources": resources}
        await self.plane.create(
            object_("Pod", name, self._space(), "v1", spec={"containers": [container], **spec})
        )

    async def open_gate(self) -> None:
        await self.plane.patch(
            "pods", f"pod-{self.chance.randrange(self.names)}", {"spec": {"schedulingGates": None}},
            self._space(),
        )  # fmt: skip

    async def delete_pod(self) -> None:
        await self.plane.delete("pods", f"pod-{self.chance.randrange(self.names)}", self._space())

    async def replace_pod(self) -> None:
        """One of the same name, before anybody has seen that the first has gone."""
        name, space = f"pod-{self.chance.randrange(self.names)}", self._space()
        tree = await self._there("pods", name, space)
        if tree is None:
            return
        await self.plane.delete("pods", name, space)
        entry = {"name": "c0", "resourceClaimTemplateName": self.chance.choice(tuple(WISHES))}
        spec = {"containers": tree["spec"]["containers"], "resourceClaims": [entry]}
        for container in spec["containers"]:
            container["resources"] = {"claims": [{"name": "c0"}]}
        await self.plane.create(object_("Pod", name, space, "v1", spec=spec))

    async def make_claim(self) -> None:
        requests = self.chance.choice(tuple(WISHES.values()))
        name = f"claim-{self.chance.randrange(3)}"
        spec = {"devices": {"requests": requests}}
        await self.plane.create(object_("ResourceClaim", name, self._space(), spec=spec))

    async def delete_claim(self) -> None:
        await self.plane.delete(
            "resourceclaims", f"claim-{self.chance.randrange(3)}", self._space()
        )

    async def replace_claim(self) -> None:
        name, space = f"claim-{self.chance.randrange(3)}", self._space()
        await self._try(self.plane.delete("resourceclaims", name, space))
        requests = self.chance.choice(tuple(WISHES.values()))
        spec = {"devices": {"requests": requests}}
        await self.plane.create(object_("ResourceClaim", name, space, spec=spec))

    async def make_group(self) -> None:
        entries = [{"name": "shared", "resourceClaimTemplateName": "one"}]
        name = f"group-{self.chance.randrange(2)}"
        spec = {"resourceClaims": entries, "schedulingPolicy": {"basic": {}}}
        group = "scheduling.k8s.io/v1beta1"
        await self.plane.create(object_("PodGroup", name, self._space(), group, spec=spec))

    async def delete_group(self) -> None:
        await self.plane.delete("podgroups", f"group-{self.chance.randrange(2)}", self._space())

    async def delete_template(self) -> None:
        name, space = self.chance.choice(tuple(WISHES)), self._space()
        await self.plane.delete("resourceclaimtemplates", name, space)

    async def make_templates(self) -> None:
        await self._templates(self._space())

    async def make_node(self) -> None:
        await self._node(self.chance.choice(NODES))

    async def delete_node(self) -> None:
        node = self.chance.choice(NODES)
        await self.plane.delete("nodes", node, "")
        for kind in HARDWARE:
            await self._try(self.plane.delete("resourceslices", f"{node}-{kind}", ""))

    async def publish(self) -> None:
        """Some of a node's devices, in a new generation."""
        kind, node = self.chance.choice(tuple(HARDWARE)), self.chance.choice(NODES)
        self.generation += 1
        tree = self._slice(node, kind, self.generation)
        devices = tree["spec"]["devices"]
        count = self.chance.randint(1, len(devices))
        tree["spec"]["devices"] = self.chance.sample(devices, count)
        for device in tree["spec"]["devices"]:
            if self.chance.random() < 0.1:
                effect = self.chance.choice(("NoSchedule", "NoExecute"))
                device["taints"] = [{"key": "worn", "effect": effect}]
        await self.plane.patch("resourceslices", tree["metadata"]["name"], tree, "")

    async def make_rule(self) -> None:
        effect = self.chance.choice(("NoSchedule", "NoExecute", "None"))
        name = f"rule-{self.chance.randrange(2)}"
        device = self.chance.choice(("gpu-0", "part-20a", "fab-0"))
        spec = {"deviceSelector": {"device": device}, "taint": {"key": "broken", "effect": effect}}
        await self.plane.create(object_("DeviceTaintRule", name, spec=spec))

    async def delete_rule(self) -> None:
        await self.plane.delete("devicetaintrules", f"rule-{self.chance.randrange(2)}", "")

    async def delete_space(self) -> None:
        await self.plane.delete("namespaces", "team", "")

    async def make_space(self) -> None:
        await self.plane.create(object_("Namespace", "team", group="v1"))
        await self._templates("team")

    async def finish_pod(self) -> None:
        """A kubelet: it runs, or has ended."""
        name, space = f"pod-{self.chance.randrange(self.names)}", self._space()
        tree = await self._there("pods", name, space)
        if tree is None or not tree["spec"].get("nodeName"):
            return
        phase = tree["status"].get("phase")
        after = {"Pending": "Running", "Running": self.chance.choice(("Succeeded", "Failed"))}
        if phase in after:
            await self.plane.status("pods", name, {"phase": after[phase]}, space)

    # --- details -----------------------------------------------------------------------------

    def _space(self) -> str:
        return self.chance.choices(SPACES, (3, 1))[0]

    async def _there(self, plural: str, name: str, space: str) -> Tree | None:
        try:
            return await self.plane.tree(plural, name, space)
        except AssertionError:
            return None

    async def _templates(self, space: str) -> None:
        for name, requests in WISHES.items():
            spec = {"spec": {"devices": {"requests": requests}}}
            await self._try(
                self.plane.create(object_("ResourceClaimTemplate", name, space, spec=spec))
            )

    async def _node(self, name: str) -> None:
        labels = {"kubernetes.io/hostname": name}
        metadata = {"name": name, "labels": labels, "annotations": {MODEL: ""}}
        status = {"allocatable": {"cpu": "8", "pods": "10"}}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": metadata}
        await self._try(self.plane.create(node))
        await self._try(self.plane.status("nodes", name, status, ""))
        for kind in HARDWARE:
            await self._try(self.plane.create(self._slice(name, kind, self.generation)))

    def _slice(self, node: str, kind: str, generation: int) -> Tree:
        driver, devices = HARDWARE[kind]
        counters: Tree = {}
        pool = {"name": node, "generation": generation, "resourceSliceCount": 1}
        if kind == "parts":
            amounts = {"memory": {"value": str(CARD)}}
            counters["sharedCounters"] = [{"name": "card", "counters": amounts}]
        spec = {
            "driver": driver, "nodeName": node, "pool": pool, "devices": [dict(d) for d in devices],
        }  # fmt: skip
        return object_("ResourceSlice", f"{node}-{kind}", spec={**spec, **counters})


Deed = Callable[[Crowd], Any]
DEEDS: tuple[tuple[Deed, int], ...] = (
    (Crowd.make_pod, 50),
    (Crowd.delete_pod, 12),
    (Crowd.replace_pod, 6),
    (Crowd.finish_pod, 8),
    (Crowd.open_gate, 3),
    (Crowd.make_claim, 8),
    (Crowd.delete_claim, 3),
    (Crowd.replace_claim, 3),
    (Crowd.make_group, 3),
    (Crowd.delete_group, 1),
    (Crowd.delete_template, 1),
    (Crowd.make_templates, 2),
    (Crowd.make_node, 2),
    (Crowd.delete_node, 1),
    (Crowd.publish, 4),
    (Crowd.make_rule, 2),
    (Crowd.delete_rule, 3),
    (Crowd.delete_space, 1),
    (Crowd.make_space, 1),
)


async def attach(plane: Driven, chance: Random) -> None:
    """The fabric's controller: devices become ready a while after they were given, or never."""
    watch = plane.plane.store.watch("resourceclaims.resource.k8s.io")
    async with asyncio.TaskGroup() as tasks:
        while True:
            for event in await watch.take():
                if event.after is None:
                    continue
                status = plane.plane.reader.tree(event.after).get("status") or {}
                results = ((status.get("allocation") or {}).get("devices") or {}).get("results")
                known = {each["device"] for each in status.get("devices") or ()}
                waiting = [
                    each
                    for each in results or ()
                    if each["driver"] == FABRIC and each["device"] not in known
                ]
                if waiting:
                    key = event.key
                    told = _attached(plane, chance, key.namespace, key.name, waiting)
                    tasks.create_task(told)


async def _attached(
    plane: Driven, chance: Random, space: str, name: str, waiting: list[Tree]
) -> None:
    outcome = chance.choices((READY, BROKEN, ""), (8, 1, 1))[0]
    await asyncio.sleep(chance.uniform(0.1, 10))
    if not outcome:
        return
    condition = {"type": outcome, "status": "True", "reason": "Told", "message": ""}
    condition["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    try:
        tree = await plane.tree("resourceclaims", name, space)
        kept = list((tree.get("status") or {}).get("devices") or ())
        here = {each["device"] for each in kept}
        told = [
            {"driver": FABRIC, "pool": r["pool"], "device": r["device"], "conditions": [condition]}
            for r in waiting
            if r["device"] not in here
        ]
        await plane.status("resourceclaims", name, {"devices": [*kept, *told]}, space)
    except (Failure, AssertionError):
        # Given back meanwhile: what it says concerns nobody.
        return
