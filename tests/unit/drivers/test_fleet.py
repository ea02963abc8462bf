"""Fleets: device models → objects that an API server takes, partitions that fit as they should."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dibs.allocate import allocator
from dibs.allocate.outcome import Allocated, Refused
from dibs.control import nodeless
from dibs.drivers import fleet, models
from dibs.drivers.fleet import Fleet, Machines
from dibs.model import codec
from dibs.model.core import Node
from dibs.model.objects import DeviceClass, ResourceClaim, ResourceSlice
from dibs.model.rules import check
from dibs.supply.ledger import Ledger
from dibs.supply.pools import Supply
from dibs.values.mistake import Mistake

EXAMPLE = Path(__file__).parents[3] / "examples" / "fleet.yaml"


def made(*machines: Machines) -> list[Any]:
    found = []
    for tree in fleet.objects(Fleet(machines)):
        decoded = codec.decode(tree)
        assert not decoded.faults
        found.append(decoded.object)
    return found


def test_the_example_is_what_it_says() -> None:
    trees = list(fleet.objects(fleet.read(EXAMPLE)))
    names = [tree["metadata"]["name"] for tree in trees if tree["kind"] == "Node"]
    assert names == ["h100-0", "h100-1", "a100", "l4"]


@pytest.mark.parametrize("name", models.catalogue().models)
@pytest.mark.parametrize("partitions", [False, True])
def test_every_model_makes_objects_that_a_server_takes(name: str, partitions: bool) -> None:
    if partitions and not models.find(name).geometry:
        return
    for item in made(Machines(name, 8, nodes=2, partitions=partitions)):
        assert not list(check.validate_as_found(item))


def test_a_card_is_offered_in_all_its_parts() -> None:
    slices = [
        each
        for each in made(Machines("a100-40", 1, partitions=True))
        if isinstance(each, ResourceSlice)
    ]
    profiles = [
        device.attributes["profile"].string
        for each in slices
        for device in each.spec.devices
        if "profile" in device.attributes
    ]
    counts = {name: profiles.count(name) for name in dict.fromkeys(profiles)}
    # The lines of nvidia-smi mig -lgipp, counted.
    assert counts == {
        "1g.5gb": 7, "1g.10gb": 4, "2g.10gb": 3, "3g.20gb": 2, "4g.20gb": 1, "7g.40gb": 1,
    }  # fmt: skip


# What fits on one card of seven slices, and what doesn't, by NVIDIA's table of combinations.
FITS = [
    ("3g.20gb", 2, True),
    ("3g.20gb", 3, False),
    ("1g.5gb", 7, True),
    ("1g.5gb", 8, False),
    ("2g.10gb", 3, True),
    ("2g.10gb", 4, False),
    ("7g.40gb", 1, True),
    ("7g.40gb", 2, False),
]


@pytest.mark.parametrize(("profile", "count", "fits"), FITS)
def test_parts_of_a_card_fit_as_on_the_card(profile: str, count: int, fits: bool) -> None:
    objects = made(Machines("a100-40", 1, partitions=True))
    node = next(each for each in objects if isinstance(each, Node))
    classes = {each.metadata.name: each for each in objects if isinstance(each, DeviceClass)}
    supply = Supply.of(each for each in objects if isinstance(each, ResourceSlice))
    selector = f"device.attributes['gpu.dibs.dev'].profile == '{profile}'"
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "default"},
        "spec": {
            "devices": {
                "requests": [
                    {
                        "name": "mig",
                        "exactly": {
                            "deviceClassName": "mig.dibs.dev",
                            "allocationMode": "ExactCount",
                            "count": count,
                            "selectors": [{"cel": {"expression": selector}}],
                        },
                    }
                ]
            }
        },
    }
    wanted = codec.decode(claim).object
    assert isinstance(wanted, ResourceClaim)
    outcome = allocator.allocate(node, [wanted], supply, Ledger.of(()), classes)
    assert isinstance(outcome, Allocated if fits else Refused)


def test_models_of_nodes_are_marked_for_those_who_end_pods() -> None:
    assert fleet.MARK == nodeless.MODEL


BAD = {
    "is no fleet": "nodes: 3",
    "is no fleet: Object contains unknown field `modle`": "nodes: [{modle: l4, devices: 1}]",
    "is no YAML": "nodes: [",
    "is no model of a device": "nodes: [{model: h1000, devices: 8}]",
    "is not 1 to 64": "nodes: [{model: l4, devices: 0}]",
    "there are 1 to 5000 nodes": "nodes: [{model: l4, devices: 1, nodes: 6000}]",
    "l4 can't be cut": "nodes: [{model: l4, devices: 1, partitions: true}]",
    "two nodes are called l4": "nodes: [{model: l4, devices: 1}, {model: l4, devices: 1}]",
}


@pytest.mark.parametrize("told", BAD)
def test_bad_fleets_say_what_is_wrong(tmp_path: Path, told: str) -> None:
    path = tmp_path / "fleet.yaml"
    path.write_text(BAD[told])
    with pytest.raises(Mistake, match=told) as mistake:
        fleet.read(path)
    assert str(path) in mistake.value.path


def test_a_fleet_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Mistake, match="No such file"):
        fleet.read(tmp_path / "none.yaml")
