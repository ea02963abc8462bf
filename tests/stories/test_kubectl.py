"""Unmodified kubectl against the server: what a user types, and what they see.

One server for all, each test in a namespace of its own. What kubectl needs of a server and when is
nowhere written down; that it works is only seen here.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dibs.testing import apiserver
from dibs.testing.apiserver import Running

pytestmark = pytest.mark.slow

KUBECTL = Path(sys.executable).parent / "kubectl"

CLAIM = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: train, labels: {app: web}}
spec:
  devices:
    requests:
    - name: gpu
      # With the mode written out there is no default that nobody applied.
      exactly: {deviceClassName: gpu.example.com, allocationMode: ExactCount, count: 2}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: train-0}
spec:
  resourceClaims: [{name: gpu, resourceClaimName: train}]
  containers:
  - name: main
    image: registry.example.com/train:1
    resources: {claims: [{name: gpu}]}
"""
ALLOCATION = json.dumps(
    {
        "status": {
            "allocation": {
                "devices": {
                    "results": [
                        {"request": "gpu", "driver": "d.example.com", "pool": "n1", "device": name}
                        for name in ("gpu-0", "gpu-1")
                    ]
                },
                "nodeSelector": {
                    "nodeSelectorTerms": [
                        {
                            "matchFields": [
                                {"key": "metadata.name", "operator": "In", "values": ["n1"]}
                            ]
                        }
                    ]
                },
            },
            "reservedFor": [{"resource": "pods", "name": "train-0", "uid": "u"}],
        }
    }
)


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Kubectl:
    """kubectl in one namespace. A call that should work fails the test if it doesn't."""

    url: str
    home: Path
    namespace: str

    def command(self, *words: str) -> list[str]:
        fixed = ["-s", self.url, "--cache-dir", str(self.home), "-n", self.namespace]
        return [str(KUBECTL), *fixed, *words]

    def try_(self, *words: str, stdin: str = "") -> Said:
        done = subprocess.run(
            self.command(*words),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=30,
            env={
                "HOME": str(self.home),
                "KUBECTL_EXTERNAL_DIFF": "diff -u",
                "PATH": "/usr/bin:/bin",
            },
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def __call__(self, *words: str, stdin: str = "") -> str:
        said = self.try_(*words, stdin=stdin)
        assert said.code == 0, f"kubectl {' '.join(words)}: {said.err}"
        assert "Warning" not in said.err.replace("Warning: deleting cluster-scoped", "")
        return said.out


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with apiserver.running() as running:
        yield running


@pytest.fixture
def kubectl(
    server: Running, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Kubectl:
    name = request.node.name.removeprefix("test_").replace("_", "-")[:60].rstrip("-")
    home = tmp_path_factory.getbasetemp() / "kubectl"
    call = Kubectl(server.url, home, name)
    call(
        "create",
        "-f",
        "-",
        stdin=f"{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}}}}}",
    )
    return call


def allocate(kubectl: Kubectl) -> None:
    door = ("--subresource=status", "--type=merge")
    kubectl("patch", "resourceclaim", "train", *door, "-p", ALLOCATION)


def test_create_get_describe_delete(kubectl: Kubectl) -> None:
    assert kubectl("create", "-f", "-", stdin=CLAIM) == (
        "resourceclaim.resource.k8s.io/train created\n"
    )
    assert kubectl("create", "-f", "-", stdin=POD) == "pod/train-0 created\n"
    heads, row = kubectl("get", "resourceclaims").splitlines()
    assert heads.split() == ["NAME", "STATE", "HOLDER", "NODE", "DEVICES", "AGE"]
    assert row.split() == ["train", "pending", "<none>", "<none>", "<none>", "0s"]
    allocate(kubectl)
    _, row = kubectl("get", "resourceclaims", "-o", "wide").splitlines()
    assert row.split() == [
        "train", "allocated,reserved", "pod/train-0", "n1", "gpu-0,gpu-1", "0s",
        "2xgpu.example.com", "d.example.com/n1",
    ]  # fmt: skip
    told = kubectl("describe", "resourceclaim", "train")
    assert "gpu-1" in told
    assert "Events:" in told
    assert "train-0" in kubectl("describe", "pod", "train-0")
    assert kubectl("delete", "resourceclaim/train", "pod/train-0") == (
        f'resourceclaim.resource.k8s.io "train" deleted from {kubectl.namespace} namespace\n'
        f'pod "train-0" deleted from {kubectl.namespace} namespace\n'
    )
    said = kubectl.try_("get", "resourceclaim", "train")
    assert said.err == (
        'Error from server (NotFound): resourceclaims.resource.k8s.io "train" not found\n'
    )


def test_every_form_of_output(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=CLAIM)
    assert (
        json.loads(kubectl("get", "resourceclaim", "train", "-o", "json"))["kind"]
        == "ResourceClaim"
    )
    assert "deviceClassName: gpu.example.com" in kubectl(
        "get", "resourceclaim", "train", "-o", "yaml"
    )
    path = "jsonpath={.items[*].spec.devices.requests[0].exactly.count}"
    assert kubectl("get", "resourceclaims", "-o", path) == "2"
    assert kubectl("get", "resourceclaims", "-o", "name") == "resourceclaim.resource.k8s.io/train\n"
    custom = "custom-columns=N:.metadata.name"
    assert kubectl("get", "resourceclaims", "-o", custom) == "N\ntrain\n"
    kubectl("create", "-f", "-", stdin=CLAIM.replace("train", "alpha"))
    by_name = kubectl("get", "resourceclaims", "--sort-by=.metadata.name", "--no-headers")
    assert [line.split()[0] for line in by_name.splitlines()] == ["alpha", "train"]
    assert "app=web" in kubectl("get", "resourceclaims", "--show-labels")
    assert "train" in kubectl("get", "resourceclaims", "-A", "-l", "app=web")
    assert kubectl("get", "resourceclaims", "-l", "app=db") == ""
    old = kubectl("get", "resourceclaims.v1beta1.resource.k8s.io", "train", "-o", "json")
    assert json.loads(old)["spec"]["devices"]["requests"][0]["count"] == 2


def test_get_and_watch(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=CLAIM)
    watching = subprocess.Popen(
        kubectl.command("get", "resourceclaims", "-w"),
        stdout=subprocess.PIPE,
        text=True,
        env={"HOME": str(kubectl.home)},
    )
    try:
        assert watching.stdout
        lines = [watching.stdout.readline(), watching.stdout.readline()]
        allocate(kubectl)
        lines.append(watching.stdout.readline())
    finally:
        watching.kill()
        watching.communicate()
    assert lines[1].split()[:2] == ["train", "pending"]
    assert lines[2].split()[:5] == [
        "train", "allocated,reserved", "pod/train-0", "n1", "gpu-0,gpu-1"
    ]  # fmt: skip


def test_apply_on_the_client_side(kubectl: Kubectl) -> None:
    assert kubectl("apply", "-f", "-", stdin=CLAIM).endswith("created\n")
    assert kubectl("apply", "-f", "-", stdin=CLAIM).endswith("unchanged\n")
    changed = CLAIM.replace("app: web", "team: a")
    difference = kubectl.try_("diff", "-f", "-", stdin=changed)
    assert difference.code == 1, difference.err
    assert "+    team: a" in difference.out
    assert "-    app: web" in difference.out
    assert kubectl("apply", "-f", "-", stdin=changed).endswith("configured\n")
    labels = kubectl("get", "resourceclaim", "train", "-o", "jsonpath={.metadata.labels}")
    assert json.loads(labels) == {"team": "a"}
    said = kubectl.try_("apply", "-f", "-", stdin=CLAIM.replace("count: 2", "count: 3"))
    assert "field is immutable" in said.err


def test_apply_on_the_server_side(kubectl: Kubectl) -> None:
    first = ("apply", "--server-side", "--field-manager=one", "-f", "-")
    assert kubectl(*first, stdin=CLAIM).endswith("serverside-applied\n")
    second = ("apply", "--server-side", "--field-manager=two", "-f", "-")
    other = CLAIM.replace("app: web", "app: db")
    said = kubectl.try_(*second, stdin=other)
    assert 'conflict with "one"' in said.err
    assert ".metadata.labels.app" in said.err
    kubectl(*second, "--force-conflicts", stdin=other)
    shown = kubectl("get", "resourceclaim", "train", "-o", "json", "--show-managed-fields")
    managers = {each["manager"] for each in json.loads(shown)["metadata"]["managedFields"]}
    assert managers == {"one", "two"}


def test_label_annotate_patch_replace(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=CLAIM)
    kubectl("label", "resourceclaim", "train", "tier=gold")
    said = kubectl.try_("label", "resourceclaim", "train", "tier=silver")
    assert "already has a value" in said.err
    kubectl("annotate", "resourceclaim", "train", "note=hello")
    kubectl("patch", "resourceclaim", "train", "--type=json", "-p",
            '[{"op":"remove","path":"/metadata/labels/app"}]')  # fmt: skip
    kubectl("patch", "resourceclaim", "train", "-p", '{"metadata":{"labels":{"x":"y"}}}')
    found = json.loads(kubectl("get", "resourceclaim", "train", "-o", "json"))["metadata"]
    assert found["labels"] == {"tier": "gold", "x": "y"}
    assert found["annotations"] == {"note": "hello"}
    kubectl("replace", "-f", "-", stdin=CLAIM)
    found = json.loads(kubectl("get", "resourceclaim", "train", "-o", "json"))["metadata"]
    assert found["labels"] == {"app": "web"}


def test_wait(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=CLAIM)
    path = "--for=jsonpath={.status.allocation.devices.results[0].device}=gpu-0"
    waiting = subprocess.Popen(
        kubectl.command("wait", path, "resourceclaim/train", "--timeout=20s"),
        stdout=subprocess.PIPE,
        text=True,
        env={"HOME": str(kubectl.home)},
    )
    time.sleep(0.3)
    allocate(kubectl)
    out, _ = waiting.communicate(timeout=20)
    assert out == "resourceclaim.resource.k8s.io/train condition met\n"
    kubectl("delete", "resourceclaim", "train", "--wait=false")
    kubectl("wait", "--for=delete", "resourceclaim/train", "--timeout=5s")


def test_dry_run_and_validation(kubectl: Kubectl) -> None:
    kubectl("create", "--dry-run=server", "-f", "-", stdin=CLAIM)
    assert kubectl("get", "resourceclaims", "--no-headers") == ""
    said = kubectl.try_("create", "-f", "-", stdin=CLAIM.replace("count", "cuont"))
    assert 'unknown field "spec.devices.requests[0].exactly.cuont"' in said.err
    said = kubectl.try_(
        "create", "--validate=warn", "-f", "-", stdin=CLAIM.replace("count", "cuont")
    )
    assert said.code == 0
    assert 'Warning: unknown field "spec.devices.requests[0].exactly.cuont"' in said.err
    said = kubectl.try_("create", "-f", "-", stdin=CLAIM.replace("train", "T_").replace("2", "-2"))
    assert "is invalid" in said.err
    assert "metadata.name: Invalid value" in said.err
    assert "exactly.count: Invalid value: -2" in said.err


def test_explain(kubectl: Kubectl) -> None:
    told = kubectl("explain", "resourceclaim.spec.devices.requests.exactly")
    assert "VERSION:    v1" in told
    assert "deviceClassName" in told
    assert "-required-" in told
    assert "allocationMode" in kubectl("explain", "resourceclaims", "--recursive")
    assert "basic" in kubectl(
        "explain", "resourceslice.spec.devices", "--api-version=resource.k8s.io/v1beta1"
    )


def test_discovery(kubectl: Kubectl) -> None:
    lines = kubectl("api-resources", "--no-headers").splitlines()
    names = {line.split()[0] for line in lines}
    assert {"pods", "resourceclaims", "resourceslices", "devicetaintrules", "leases"} <= names
    dra = kubectl("api-resources", "--categories=dra", "-o", "name").splitlines()
    assert "resourceclaimtemplates.resource.k8s.io" in dra
    assert "resource.k8s.io/v1beta2" in kubectl("api-versions").splitlines()
    assert "Server Version: v1.37" in kubectl("version")
    assert kubectl("get", "--raw", "/readyz") == "ok"


def test_authorization(kubectl: Kubectl) -> None:
    assert kubectl("auth", "can-i", "create", "resourceclaims") == "yes\n"
    assert "*.*" in kubectl("auth", "can-i", "--list")
    assert "dibs:open" in kubectl("auth", "whoami")


def test_what_is_not_served_is_said(kubectl: Kubectl) -> None:
    said = kubectl.try_("create", "deployment", "web", "--image=x")
    assert "the server could not find the requested resource" in said.err
    said = kubectl.try_("get", "deployments")
    assert 'the server doesn\'t have a resource type "deployments"' in said.err


def test_generators_that_send_protobuf(kubectl: Kubectl) -> None:
    kubectl("create", "namespace", "by-protobuf")
    assert "Active" in kubectl("get", "namespace", "by-protobuf")
    kubectl("create", "configmap", "c", "--from-literal=a=b")
    assert kubectl("get", "configmap", "c", "-o", "jsonpath={.data.a}") == "b"
    kubectl("create", "secret", "generic", "s", "--from-literal=a=b")
    kubectl("create", "serviceaccount", "robot")
    kubectl("create", "priorityclass", "high", "--value=1000")
    kubectl("create", "quota", "q", "--hard=pods=2")
    assert "pods: 0/2" in kubectl("get", "quota", "q")
    kubectl("run", "web", "--image=registry.example.com/x:1", "--restart=Never")
    assert "pods: 1/2" in kubectl("get", "quota", "q")


def test_a_pod_is_drained_from_its_node(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin="{apiVersion: v1, kind: Node, metadata: {name: box}}")
    kubectl("create", "-f", "-", stdin=POD.replace("spec:", "spec:\n  nodeName: box", 1))
    kubectl("cordon", "box")
    assert "SchedulingDisabled" in kubectl("get", "node", "box")
    kubectl("delete", "pod", "train-0", "--grace-period=0", "--force=false", "--wait=false")
    kubectl("delete", "node", "box")
