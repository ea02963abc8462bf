"""Clusters of whole GPUs: plain trees, as `kubectl get -o json` would print them.

Every device has the attributes that a real GPU driver publishes, so that files have a real size.
"""

from __future__ import annotations

from collections.abc import Iterable

from bench.world import Tree, World

DRIVER = "gpu.nvidia.com"
MODELS = ("NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3", "NVIDIA L4")
MEMORY = ("40Gi", "80Gi", "80Gi", "24Gi")
V1 = "resource.k8s.io/v1"


def dump(nodes: int, devices: int, *, held: int) -> Tree:
    """A List of everything: nodes, slices, a class, `held` allocated claims, one pending Pod."""
    places = [(node, device) for node in range(nodes) for device in range(devices)]
    items: list[Tree] = [
        *(node(index) for index in range(nodes)),
        *(resource_slice(index, devices) for index in range(nodes)),
        device_class(),
        *(held_claim(number, *place) for number, place in enumerate(places[:held])),
        template(),
        pending_pod(),
    ]
    return {"apiVersion": "v1", "kind": "List", "items": items}


def cluster(nodes: int, devices: int, held: Iterable[tuple[int, int]], *claims: Tree) -> World:
    """A world of such nodes; `held` are pairs of node and device."""
    return World(
        nodes=[node(index) for index in range(nodes)],
        slices=[resource_slice(index, devices) for index in range(nodes)],
        classes=[device_class()],
        claims=claims,
        held=[held_claim(number, *place) for number, place in enumerate(held)],
    )


def half(nodes: int, devices: int) -> list[tuple[int, int]]:
    """Every second device of every node."""
    return [(node, device) for node in range(nodes) for device in range(0, devices, 2)]


def all_but_last(nodes: int, devices: int) -> list[tuple[int, int]]:
    """Every device of every node but the last."""
    return [(node, device) for node in range(nodes - 1) for device in range(devices)]


def node(index: int) -> Tree:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": f"node-{index:04}",
            "uid": f"11111111-0000-4000-8000-{index:012}",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"kubernetes.io/hostname": f"node-{index:04}", "zone": "abc"[index % 3]},
        },
        "spec": {},
        "status": {"allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110"}},
    }


def resource_slice(index: int, devices: int, prefix: str = "node") -> Tree:
    name = f"{prefix}-{index:04}"
    kind = index % len(MODELS)
    return {
        "apiVersion": V1,
        "kind": "ResourceSlice",
        "metadata": {
            "name": f"{name}-{DRIVER}",
            "uid": f"22222222-0000-4000-8000-{index:012}",
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {
            "driver": DRIVER,
            "nodeName": name,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": [device(index, number, kind) for number in range(devices)],
        },
    }


def device(index: int, number: int, kind: int) -> Tree:
    return {
        "name": f"gpu-{number}",
        "attributes": {
            "type": {"string": "gpu"},
            "uuid": {"string": f"GPU-{index:08x}-0000-4000-8000-{number:012x}"},
            "productName": {"string": MODELS[kind]},
            "brand": {"string": "Nvidia"},
            "architecture": {"string": "Ampere"},
            "cudaComputeCapability": {"version": "8.0.0"},
            "driverVersion": {"version": "570.86.15"},
            "cudaDriverVersion": {"version": "12.8.0"},
            "index": {"int": number},
            "resource.kubernetes.io/pcieRoot": {"string": f"pci0000:{number // 4:02x}"},
        },
        "capacity": {"memory": {"value": MEMORY[kind]}},
    }


def device_class() -> Tree:
    wanted = f"device.driver == '{DRIVER}' && device.attributes['{DRIVER}'].type == 'gpu'"
    return {
        "apiVersion": V1,
        "kind": "DeviceClass",
        "metadata": {"name": DRIVER},
        "spec": {"selectors": [{"cel": {"expression": wanted}}]},
    }


def held_claim(number: int, node: int, device: int) -> Tree:
    """An allocated claim in the form that the scheduler leaves behind."""
    result = {
        "request": "gpu",
        "driver": DRIVER,
        "pool": f"node-{node:04}",
        "device": f"gpu-{device}",
    }
    here = {"key": "metadata.name", "operator": "In", "values": [f"node-{node:04}"]}
    return {
        "apiVersion": V1,
        "kind": "ResourceClaim",
        "metadata": {
            "name": f"train-{number:05}-gpu",
            "namespace": "default",
            "uid": f"33333333-0000-4000-8000-{number:012}",
            "creationTimestamp": "2026-01-02T00:00:00Z",
        },
        "spec": {"devices": {"requests": [request()]}},
        "status": {
            "allocation": {
                "devices": {"results": [result]},
                "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [here]}]},
            },
            "reservedFor": [
                {
                    "resource": "pods",
                    "name": f"train-{number:05}",
                    "uid": f"44444444-0000-4000-8000-{number:012}",
                }
            ],
        },
    }


def claim(name: str, requests: Iterable[Tree], *constraints: Tree) -> Tree:
    devices: Tree = {"requests": list(requests)}
    if constraints:
        devices["constraints"] = list(constraints)
    return {
        "apiVersion": V1,
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": devices},
    }


def request(name: str = "gpu", count: int = 1, *expressions: str) -> Tree:
    exactly: Tree = {"deviceClassName": DRIVER, "allocationMode": "ExactCount", "count": count}
    if expressions:
        exactly["selectors"] = [{"cel": {"expression": each}} for each in expressions]
    return {"name": name, "exactly": exactly}


# The shape that the goal for the selector language is set for: a guard, a text, a quantity.
SELECTOR = (
    f"device.attributes['{DRIVER}'].productName.contains('H100') && "
    f"device.capacity['{DRIVER}'].memory.compareTo(quantity('80Gi')) >= 0"
)


def template() -> Tree:
    return {
        "apiVersion": V1,
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "two-h100", "namespace": "default"},
        "spec": {"spec": {"devices": {"requests": [request("gpu", 2, SELECTOR)]}}},
    }


def pending_pod() -> Tree:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "pending",
            "namespace": "default",
            "uid": "55555555-0000-4000-8000-000000000000",
            "creationTimestamp": "2026-01-03T00:00:00Z",
        },
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": "example.com/train:1",
                    "resources": {"claims": [{"name": "gpu"}]},
                }
            ],
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "two-h100"}],
        },
        "status": {"phase": "Pending"},
    }
