"""ResourceSlices of real drivers, where the folder of them is there: each loads, or says why not.

What is wrong with a file is told in its own header; here stand the words that lint must find for
it. A file that is not listed must have no finding at all.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dibs.cli.main import main

# What a KEP's example leaves out, or what the API of 1.37 refuses.
NO_NODES = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection`"
NO_POOL = "spec.pool.name: Required value"
BARE_N = "a bare n"

FOUND: dict[str, tuple[str, ...]] = {
    "amd-mi300x-spx": ("spec.driver: Required value", NO_POOL, "resourceSliceCount", NO_NODES),
    "amd-mi350p-invalid-semver-REJECTED": ('"6.19.14.31400000": must be a string compatible with',),
    "dranet-gke-a3-nic-old-api": (
        "basic is the shape of v1beta1",
        "spec.driver: Required value",
        NO_POOL,
        "resourceSliceCount",
        NO_NODES,
    ),
    "google-tpu-v4": ("accel0 and accel1 publish one uuid",),
    "intel-gaudi2": ("health is told as attribute healthy",),
    "intel-gpu-i915-xe": ("has no memory",),
    "kep4815-gpu-partitions": (NO_NODES,),
    "kep4815-tpu-multi-host": (
        NO_NODES,
        'expected the mapping of a device capacity, found the text "16"',
        "expected the mapping of a device capacity, found the text",
        "the same object is at",
        "is incomplete: 1 of 2 slices",
    ),
    "kep5075-bandwidth": ('the line "..." above ends a YAML document', "no apiVersion"),
    "kep5517-node-allocatable": (
        "expected the mapping of a device attribute, found the number 0",
        "since 1.37 it is nodeAllocatableResources",
        "direct is no field of a node allocatable resource claim status",  # the KEP's older name
    ),
    "kep5941-shared-consumable-a": (NO_NODES, "is incomplete: 1 of 2 slices"),
    "kep5941-shared-consumable-b": ("is incomplete: 1 of 2 slices",),
    "kep5963-compat-groups": (NO_NODES,),
    "nvidia-a100-80gb-aks-static-mig-partial": ("is a partition of gpu-0, both are published",),
    "nvidia-doc-full-mig-vfio": (
        '"gpu-0-mig-1g.5gb-0": must not contain dots',
        "is a partition of gpu-0, both are published",
    ),
    "nvidia-h100-80gb-dynamic-mig-k8s134-combined": ("only one of `sharedCounters` or `devices`",),
    "nvidia-h100-consumable-shares-4": (BARE_N,),
    "nvidia-h100-consumable-shares-unlimited": (BARE_N,),
    "nvidia-l40s-vgpu-partitionable-design": ('"vgpuInstances": a lowercase RFC 1123 label',),
    "nvidia-vgpu-compatibility-groups": (BARE_N,),
    "sriov-amd-cpu-memory-topology-doc": (
        NO_POOL,
        "resourceSliceCount",
        "value: Required value",
        "quantity is no field of a device capacity; write value",
    ),
}


pytestmark = pytest.mark.slow


def lint(file: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    code = main(["lint", "-o", "json", str(file)])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert code == (1 if rows else 0)
    return rows


def test_each_file_has_the_faults_it_is_known_for(
    shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = sorted((shared / "slices").glob("*.yaml"))
    assert files
    for file in files:
        expected = FOUND.get(file.stem, ())
        said = [f"{row['message']}; {row['remedy']}" for row in lint(file, capsys)]
        for words in expected:
            assert any(words in each for each in said), (file.stem, words, said)
        others = [each for each in said if not any(words in each for words in expected)]
        assert not others, file.stem


@pytest.mark.parametrize(
    ("name", "devices"),
    [
        ("nvidia-a100-40gb-dynamic-mig", 25),
        ("nvidia-h100-80gb-dynamic-mig", 26),
        ("nvidia-h100-eks-2nodes", 20),
        ("example-driver-8gpu", 8),
        ("nvidia-a100-8c-vgpu-vmware-vks", 5),
    ],
)
def test_devices(shared: Path, capsys: pytest.CaptureFixture[str], name: str, devices: int) -> None:
    assert main(["devices", "-o", "json", "-f", str(shared / "slices" / f"{name}.yaml")]) == 0
    assert len(capsys.readouterr().out.splitlines()) == devices
