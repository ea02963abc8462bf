"""Dropping a constraint leaves no derived attribute behind: the API refuses those (KEP-6080)."""

from __future__ import annotations

from pathlib import Path

import pytest

from dibs.cli.main import main

WORLD = """
apiVersion: v1
kind: Node
metadata: {name: n1}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1-gpu}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  devices:
  - {name: gpu-0, attributes: {slot: {int: 0}}}
  - {name: gpu-1, attributes: {slot: {int: 1}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: pair, namespace: default}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu
        count: 2
        derivedAttributes:
        - {name: derived/side, expression: 'device.attributes["gpu.example.com"].slot'}
    constraints:
    - {requests: [gpu], matchAttribute: derived/side}
---
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: default}
spec:
  resourceClaims: [{name: pair, resourceClaimName: pair}]
  containers: [{name: main, resources: {claims: [{name: pair}]}}]
"""


def test_a_derived_attribute_goes_with_its_constraint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "world.yaml"
    file.write_text(WORLD)
    assert main(["why", "pod/train", "-f", str(file), "-o", "tree"]) == 1
    assert (
        "drop the constraint matchAttribute derived/side of claim default/pair, "
        "and what is derived for it: then it fits on n1"
    ) in capsys.readouterr().out
    start, end = WORLD.index("        derivedAttributes"), WORLD.index("    constraints")
    file.write_text((WORLD[:start] + WORLD[end:]).replace("derived/side", "gpu.example.com/slot"))
    assert main(["why", "pod/train", "-f", str(file), "-o", "tree"]) == 1
    assert "gpu.example.com/slot of claim default/pair: then" in capsys.readouterr().out
