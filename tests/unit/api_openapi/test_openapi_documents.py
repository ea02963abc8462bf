"""The documents by themselves, and as real kubectl reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests import throwaway

from dibs.api import kinds
from dibs.api.openapi import document

DOCUMENTS = {path: json.loads(content) for path, content in document.documents().items()}
needs_kubectl = pytest.mark.skipif(throwaway.KUBECTL is None, reason="no kubectl")

CLAIM = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: gpu.example.com, count: 2}
"""


def _references(tree: Any) -> set[str]:
    match tree:
        case {"$ref": str(name)}:
            return {name}
        case dict():
            return set().union(*map(_references, tree.values())) if tree else set()
        case list():
            return set().union(*map(_references, tree)) if tree else set()
        case _:
            return set()


@pytest.mark.parametrize("path", DOCUMENTS)
def test_a_document_refers_to_nothing_that_is_not_in_it(path: str) -> None:
    tree = DOCUMENTS[path]
    schemas = tree["components"]["schemas"]
    wanted = {name.removeprefix("#/components/schemas/") for name in _references(tree)}
    assert wanted <= set(schemas)
    assert all(schemas.values())


@pytest.mark.parametrize("path", DOCUMENTS)
def test_writes_take_field_validation_and_say_their_kind(path: str) -> None:
    for at, item in DOCUMENTS[path]["paths"].items():
        for method in ("post", "put", "patch"):
            if operation := item.get(method):
                names = {each["name"] for each in operation["parameters"]}
                assert {"fieldValidation", "dryRun", "fieldManager"} <= names, at
                assert operation["x-kubernetes-group-version-kind"]["kind"], at
                assert {"401", "403", "404", "409", "415", "422"} <= set(operation["responses"])


@pytest.mark.parametrize("path", DOCUMENTS)
def test_parameters_in_a_path_are_declared(path: str) -> None:
    for at, item in DOCUMENTS[path]["paths"].items():
        declared = {each["name"] for each in item["parameters"] if each["in"] == "path"}
        assert declared == {part.strip("{}") for part in at.split("/") if part.startswith("{")}


def test_operation_ids_are_unique() -> None:
    for path, tree in DOCUMENTS.items():
        ids = [
            operation["operationId"]
            for item in tree["paths"].values()
            for method, operation in item.items()
            if method != "parameters"
        ]
        assert len(ids) == len(set(ids)), path


def test_every_served_resource_has_its_paths() -> None:
    for each in kinds.RESOURCES:
        for version in each.versions:
            home = f"apis/{each.group}/{version}" if each.group else f"api/{version}"
            start = f"/{home}/namespaces/{{namespace}}" if each.namespaced else f"/{home}"
            paths = DOCUMENTS[home]["paths"]
            assert f"{start}/{each.plural}" in paths
            for door in each.subresources:
                assert f"{start}/{each.plural}/{{name}}/{door.name}" in paths


def test_the_index_names_each_document_with_its_hash() -> None:
    paths = json.loads(document.index())["paths"]
    assert set(paths) == set(document.documents())
    for path, content in document.documents().items():
        assert paths[path]["serverRelativeURL"].endswith(f"{path}?hash={document.etag(content)}")


def test_documents_stay_small() -> None:
    assert all(len(content) < 600_000 for content in document.documents().values())


def test_lists_say_how_they_merge() -> None:
    schemas = DOCUMENTS["api/v1"]["components"]["schemas"]
    ports = schemas["io.k8s.api.core.v1.Container"]["properties"]["ports"]
    assert ports["x-kubernetes-list-type"] == "map"
    assert ports["x-kubernetes-list-map-keys"] == ["containerPort", "protocol"]
    assert ports["x-kubernetes-patch-merge-key"] == "containerPort"
    meta = schemas["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]["properties"]
    assert meta["finalizers"]["x-kubernetes-list-type"] == "set"


@needs_kubectl
@pytest.mark.slow
def test_kubectl_explains_what_requests_are(tmp_path: Path) -> None:
    with throwaway.Server() as server:
        told = throwaway.kubectl(server, tmp_path, "explain", "resourceclaim.spec.devices.requests")
        pod = throwaway.kubectl(server, tmp_path, "explain", "pod.spec.resourceClaims")
        beta = throwaway.kubectl(
            server, tmp_path, "explain", "resourceclaim.spec.devices.requests",
            "--api-version=resource.k8s.io/v1beta1",
        )  # fmt: skip
    assert told.returncode == 0, told.stderr
    assert "exactly\t<ExactDeviceRequest>" in told.stdout
    assert "name\t<string> -required-" in told.stdout
    assert "Exactly one of exactly and\n    firstAvailable is set" in told.stdout
    assert "resourceClaimTemplateName" in pod.stdout
    assert "deviceClassName\t<string>" in beta.stdout


@needs_kubectl
@pytest.mark.slow
def test_kubectl_validates_by_the_server_and_asks_nothing_older(tmp_path: Path) -> None:
    """Without the right extensions kubectl would fall back to /openapi/v2, which isn't there."""
    with throwaway.Server() as server:
        made = throwaway.kubectl(
            server, tmp_path, "create", "--validate=strict", "-f", "-", stdin=CLAIM
        )
        applied = throwaway.kubectl(
            server, tmp_path, "apply", "--server-side", "--validate=strict", "-f", "-", stdin=CLAIM
        )
    assert made.returncode == 0, made.stderr
    assert applied.returncode == 0, applied.stderr
    assert [each.method for each in server.sent] == ["POST", "PATCH"]
    assert all("fieldValidation=Strict" in each.path for each in server.sent)


@needs_kubectl
@pytest.mark.slow
def test_kubectl_applies_with_merge_keys_from_our_document(tmp_path: Path) -> None:
    """Client-side apply computes its patch from the list types that we publish."""
    live = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {
            "name": "a",
            "namespace": "default",
            "finalizers": ["x.example.com/a"],
            "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": json.dumps(
                    {"apiVersion": "v1", "kind": "ServiceAccount",
                     "metadata": {"name": "a", "namespace": "default"},
                     "secrets": [{"name": "one"}, {"name": "two"}]}
                )
            },
        },
        "secrets": [{"name": "one"}, {"name": "two"}, {"name": "other"}],
    }  # fmt: skip
    wanted = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "a", "namespace": "default"},
        "secrets": [{"name": "one"}],
    }
    with throwaway.Server() as server:
        server.objects["/api/v1/namespaces/default/serviceaccounts/a"] = live
        done = throwaway.kubectl(server, tmp_path, "apply", "-f", "-", stdin=json.dumps(wanted))
    assert done.returncode == 0, done.stderr
    [sent] = server.sent
    assert sent.content_type == "application/strategic-merge-patch+json"
    patch = json.loads(sent.body)
    assert {"$patch": "delete", "name": "two"} in patch["secrets"]
