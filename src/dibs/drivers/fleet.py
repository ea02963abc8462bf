"""A fleet file → the objects that a cluster with those machines would have.

    nodes:
    - {model: h100-80, devices: 8, nodes: 2}
    - {model: a100-40, devices: 8, name: old, partitions: true, labels: {zone: b}}

Nodes are models too: Pods are placed on them and nothing runs (`control.nodeless`). Cards are
numbered, four to a PCIe root; with `partitions` each is also offered in all its parts, which draw
from counters that the card has once (KEP-4815).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from dibs.drivers import models
from dibs.drivers.models import Model
from dibs.values.mistake import Mistake

DRIVER = "gpu.dibs.dev"
# On a Node: nothing runs there, Pods are only placed (`control.nodeless`).
MARK = "dibs.dev/model-of-a-node"
V1 = "resource.k8s.io/v1"
PER_ROOT = 4
# ResourceSlice: so many devices, fewer where they draw counters; so many counter sets.
MOST_DEVICES, MOST_DRAWING, MOST_SETS = 128, 64, 8
MOST_NODES, MOST_CARDS = 5_000, 64
MAX_BYTES = 1024 * 1024

Tree = dict[str, Any]


class Machines(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Equal nodes. One is called `name`, several `name`-0, `name`-1, …"""

    model: str
    devices: int
    nodes: int = 1
    name: str = ""
    partitions: bool = False
    labels: Mapping[str, str] = {}
    cpu: str = "64"
    memory: str = "512Gi"
    pods: str = "110"


class Fleet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    nodes: tuple[Machines, ...]


def read(path: Path) -> Fleet:
    """Raises Mistake for a file that is none."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise Mistake(f"is larger than {MAX_BYTES} bytes, no fleet is", path=str(path))
        tree = yaml.safe_load(path.read_text())
        fleet = msgspec.convert(tree, Fleet)
    except OSError as fault:
        raise Mistake(f"can't be read: {fault.strerror}", path=str(path)) from fault
    except (yaml.YAMLError, UnicodeDecodeError) as fault:
        raise Mistake(f"is no YAML: {fault}", path=str(path)) from fault
    except msgspec.ValidationError as fault:
        raise Mistake(
            f"is no fleet: {fault}",
            path=str(path),
            remedy="as in: nodes: [{model: h100-80, devices: 8, nodes: 2}]",
        ) from fault
    _check(fleet, path)
    return fleet


def _check(fleet: Fleet, path: Path) -> None:
    names = [name for machines in fleet.nodes for name in node_names(machines)]
    for number, machines in enumerate(fleet.nodes):
        where = f"{path}: nodes[{number}]"
        try:
            model = models.find(machines.model)
        except Mistake as mistake:
            raise Mistake(
                mistake.message, path=f"{where}.model", value=machines.model, remedy=mistake.remedy
            ) from mistake
        if not 1 <= machines.devices <= MOST_CARDS:
            raise Mistake(
                f"is not 1 to {MOST_CARDS}", path=f"{where}.devices", value=machines.devices
            )
        if machines.nodes < 1 or len(names) > MOST_NODES:
            raise Mistake(
                f"there are 1 to {MOST_NODES} nodes", path=f"{where}.nodes", value=machines.nodes
            )
        if machines.partitions and not model.geometry:
            raise Mistake(
                f"{machines.model} can't be cut",
                path=f"{where}.partitions",
                remedy="leave partitions out",
            )
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice:
        raise Mistake(f"two nodes are called {twice}", path=str(path), remedy="give them names")


def node_names(machines: Machines) -> Sequence[str]:
    name = machines.name or machines.model
    if machines.nodes == 1:
        return (name,)
    return tuple(f"{name}-{number}" for number in range(machines.nodes))


def objects(fleet: Fleet) -> Iterator[Tree]:
    """The classes, then each node with its slices."""
    yield _class("gpu.dibs.dev", "gpu")
    if any(machines.partitions for machines in fleet.nodes):
        yield _class("mig.dibs.dev", "mig")
    for machines in fleet.nodes:
        for name in node_names(machines):
            yield _node(name, machines)
            yield from _slices(name, machines)


def _class(name: str, kind: str) -> Tree:
    expression = f"device.driver == '{DRIVER}' && device.attributes['{DRIVER}'].type == '{kind}'"
    selectors = [{"cel": {"expression": expression}}]
    return {
        "apiVersion": V1,
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": selectors},
    }


def _node(name: str, machines: Machines) -> Tree:
    amounts = {"cpu": machines.cpu, "memory": machines.memory, "pods": machines.pods}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, **machines.labels},
            "annotations": {MARK: machines.model},
        },
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True",
                    "reason": "ModelOfANode",
                    "message": "pods are placed here, and nothing runs",
                }
            ],
        },
    }


def _slices(node: str, machines: Machines) -> Iterator[Tree]:
    model = models.find(machines.model)
    devices = list(_devices(node, machines, model))
    sets = list(_sets(machines, model)) if machines.partitions else []
    most = MOST_DRAWING if sets else MOST_DEVICES
    parts: list[Tree] = [{"sharedCounters": list(part)} for part in _batched(sets, MOST_SETS)]
    parts += [{"devices": list(part)} for part in _batched(devices, most)]
    pool = {"name": node, "generation": 1, "resourceSliceCount": len(parts)}
    for number, part in enumerate(parts):
        yield {
            "apiVersion": V1,
            "kind": "ResourceSlice",
            "metadata": {"name": f"{node}-{DRIVER}-{number}"},
            "spec": {"driver": DRIVER, "nodeName": node, "pool": pool, **part},
        }


def _devices(node: str, machines: Machines, model: Model) -> Iterator[Tree]:
    for number in range(machines.devices):
        common = {
            "productName": {"string": model.product},
            "brand": {"string": model.brand},
            "architecture": {"string": model.architecture},
            "cudaComputeCapability": {"version": model.compute},
            "index": {"int": number},
            "resource.kubernetes.io/pcieRoot": {"string": f"pci0000:{number // PER_ROOT * 64:02x}"},
        }
        card: Tree = {
            "name": f"gpu-{number}",
            "attributes": {
                "type": {"string": "gpu"}, "uuid": {"string": _uuid(node, number)}, **common,
            },
            "capacity": {"memory": {"value": model.memory}},
        }  # fmt: skip
        if machines.partitions:
            geometry = models.geometry(model)
            assert geometry is not None
            card["consumesCounters"] = [_draw(number, 0, geometry.slices)]
            yield card
            yield from _partitions(node, number, model, common)
        else:
            yield card


def _partitions(node: str, card: int, model: Model, common: Tree) -> Iterator[Tree]:
    geometry = models.geometry(model)
    assert geometry is not None
    for key, profile in geometry.profiles.items():
        name = model.names[key]
        for place in profile.places:
            yield {
                "name": f"gpu-{card}-mig-{name.replace('.', '-')}-{place}",
                "attributes": {
                    "type": {"string": "mig"},
                    "profile": {"string": name},
                    "parentUUID": {"string": _uuid(node, card)},
                    **common,
                },
                "capacity": {"memory": {"value": _gigabytes(name)}},
                "consumesCounters": [_draw(card, place, profile.size)],
            }


def _sets(machines: Machines, model: Model) -> Iterator[Tree]:
    geometry = models.geometry(model)
    assert geometry is not None
    for number in range(machines.devices):
        counters = {f"memory-slice-{place}": {"value": "1"} for place in range(geometry.slices)}
        yield {"name": f"gpu-{number}", "counters": counters}


def _batched(items: Sequence[Tree], most: int) -> Iterator[Sequence[Tree]]:
    for start in range(0, len(items), most):
        yield items[start : start + most]


def _draw(card: int, place: int, size: int) -> Tree:
    taken = range(place, place + size)
    counters = {f"memory-slice-{each}": {"value": "1"} for each in taken}
    return {"counterSet": f"gpu-{card}", "counters": counters}


def _gigabytes(profile: str) -> str:
    """Of a profile's name, which ends with its memory: 1g.10gb."""
    return f"{profile.rpartition('.')[2].removesuffix('gb')}Gi"


def _uuid(node: str, card: int) -> str:
    """The same for the same card, each time the fleet is read."""
    digest = hashlib.sha256(f"{node}/{card}".encode()).hexdigest()
    return f"GPU-{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:32]}"
