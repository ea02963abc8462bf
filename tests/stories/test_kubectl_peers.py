"""The official Python client and lightkube against the server, as their users write it."""

from __future__ import annotations

import subprocess
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dibs.api.plane import Plane
from dibs.control import hosting
from dibs.drivers import fleet as fleets
from dibs.testing import apiserver
from dibs.testing.apiserver import Running

FLEET = Path(__file__).parents[2] / "examples" / "fleet.yaml"
CLIENTS = Path(__file__).parents[2] / "build" / "clients"

pytestmark = [
    pytest.mark.slow,
    # What the clients and what is under them are warned of is theirs.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

SPEC = {
    "devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}]}
}
STATUS = {
    "allocation": {
        "devices": {
            "results": [
                {"request": "gpu", "driver": "d.example.com", "pool": "n1", "device": "gpu-0"}
            ]
        }
    },
    "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}],
}


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with apiserver.running() as running:
        yield running


# --- the official client --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def official(server: Running) -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import kubernetes
    configuration = kubernetes.client.Configuration()
    configuration.host = server.url
    with kubernetes.client.ApiClient(configuration) as client:
        yield client


def test_the_official_client_keeps_a_claim(official: Any) -> None:
    from kubernetes import client, watch

    api = client.ResourceV1Api(official)
    made = api.create_namespaced_resource_claim("default", claim("official"))
    assert made.metadata.uid
    assert made.spec.devices.requests[0].exactly.count == 1
    patched = api.patch_namespaced_resource_claim_status("official", "default", {"status": STATUS})
    assert patched.status.allocation.devices.results[0].device == "gpu-0"
    listed = api.list_namespaced_resource_claim("default", limit=1)
    assert [each.metadata.name for each in listed.items] == ["official"]
    replaced = api.read_namespaced_resource_claim("official", "default")
    replaced.metadata.labels = {"a": "b"}
    api.replace_namespaced_resource_claim("official", "default", replaced)
    with pytest.raises(client.ApiException) as caught:
        api.replace_namespaced_resource_claim("official", "default", replaced)
    assert (caught.value.status, caught.value.reason) == (409, "Conflict")
    removing = threading.Timer(0.2, api.delete_namespaced_resource_claim, ("official", "default"))
    removing.start()
    seen = []
    for event in watch.Watch("ResourceV1ResourceClaim").stream(
        api.list_namespaced_resource_claim, "default", timeout_seconds=5
    ):
        seen.append((event["type"], event["object"].metadata.name))
        if event["type"] == "DELETED":
            break
    removing.join()
    assert seen == [("ADDED", "official"), ("DELETED", "official")]


def claim(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name},
        "spec": SPEC,
    }


def test_the_official_client_runs_a_pod(official: Any) -> None:
    from kubernetes import client

    core = client.CoreV1Api(official)
    container = client.V1Container(name="a", image="registry.example.com/a:1")
    pod = client.V1Pod(
        metadata=client.V1ObjectMeta(name="p"), spec=client.V1PodSpec(containers=[container])
    )
    assert core.create_namespaced_pod("default", pod).status.phase == "Pending"
    target = client.V1ObjectReference(kind="Node", name="n1")
    binding = client.V1Binding(metadata=client.V1ObjectMeta(name="p"), target=target)
    core.create_namespaced_pod_binding("p", "default", binding, _preload_content=False)
    assert core.read_namespaced_pod("p", "default").spec.node_name == "n1"
    core.delete_namespaced_pod("p", "default", grace_period_seconds=0)
    with pytest.raises(client.ApiException) as caught:
        core.read_namespaced_pod("p", "default")
    assert caught.value.status == 404
    assert core.list_node().items == []
    assert client.VersionApi(official).get_code().minor == "37"


@pytest.fixture(scope="module")
def fleet() -> Iterator[Running]:
    """A server with the fleet of the demo, made as `dibs up` makes it."""
    trees = tuple(fleets.objects(fleets.read(FLEET)))

    async def apply(plane: Plane) -> None:
        for tree in trees:
            await hosting.apply(plane, tree)

    with apiserver.running() as running:
        running.call(apply)
        yield running


def test_the_official_client_reads_a_fleet(fleet: Running) -> None:
    from kubernetes import client

    configuration = client.Configuration()
    configuration.host = fleet.url
    with client.ApiClient(configuration) as api:
        nodes = client.CoreV1Api(api).list_node().items
        slices = client.ResourceV1Api(api).list_resource_slice().items
        classes = client.ResourceV1Api(api).list_device_class().items
    assert len(nodes) == 4
    assert sum(len(each.spec.devices or ()) for each in slices) > 28
    assert classes


def test_the_official_dynamic_client_applies(official: Any) -> None:
    from kubernetes import dynamic

    found = dynamic.DynamicClient(official).resources.get(
        api_version="resource.k8s.io/v1", kind="DeviceClass"
    )
    body = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu.example.com"},
        "spec": {"selectors": [{"cel": {"expression": 'device.driver == "d.example.com"'}}]},
    }
    made = found.server_side_apply(body=body, name="gpu.example.com", field_manager="tester")
    assert made.metadata.generation == 1
    assert found.get(name="gpu.example.com").spec.selectors[0].cel.expression
    found.delete(name="gpu.example.com")


# --- lightkube ------------------------------------------------------------------------------------


def test_lightkube_reads_a_fleet(fleet: Running) -> None:
    from lightkube.resources.core_v1 import Node
    from lightkube.resources.resource_v1 import ResourceSlice

    with light(fleet) as client:
        assert len(list(client.list(Node))) == 4
        assert all(each.spec for each in client.list(ResourceSlice))


def light(server: Running) -> Any:
    import lightkube

    config = lightkube.KubeConfig.from_dict(
        {
            "clusters": [{"name": "dibs", "cluster": {"server": server.url}}],
            "users": [{"name": "me", "user": {}}],
            "contexts": [{"name": "dibs", "context": {"cluster": "dibs", "user": "me"}}],
            "current-context": "dibs",
        }
    )
    return lightkube.Client(config=config, field_manager="tester")


def test_lightkube_keeps_and_watches_a_claim(server: Running) -> None:
    from lightkube.core.exceptions import ApiError
    from lightkube.models.meta_v1 import ObjectMeta
    from lightkube.resources.resource_v1 import ResourceClaim
    from lightkube.types import PatchType

    with light(server) as client:
        made = client.create(ResourceClaim.from_dict(claim("light")), namespace="default")
        assert made.metadata is not None
        assert made.metadata.uid
        client.patch(ResourceClaim.Status, "light", {"status": STATUS}, patch_type=PatchType.MERGE)
        found = client.get(ResourceClaim, "light")
        assert found.status is not None
        assert found.status.reservedFor
        assert [each.metadata.name for each in client.list(ResourceClaim) if each.metadata] == [
            "light"
        ]
        applied = ResourceClaim(metadata=ObjectMeta(name="light", labels={"a": "b"}))
        client.apply(applied, namespace="default")
        for kind, item in client.watch(ResourceClaim, server_timeout=5):
            assert item.metadata
            assert (kind, item.metadata.name, item.metadata.labels) == (
                "ADDED",
                "light",
                {"a": "b"},
            )
            break
        client.delete(ResourceClaim, "light")
        with pytest.raises(ApiError) as caught:
            client.get(ResourceClaim, "light")
        assert caught.value.status.reason == "NotFound"


# --- client-go ------------------------------------------------------------------------------------


def test_what_drivers_and_controllers_are_made_of(server: Running) -> None:
    if not CLIENTS.exists():
        pytest.skip("build/clients is not there: make clients builds it, and needs Go")
    done = subprocess.run(
        [CLIENTS, server.url], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith("ALL OK\n")
