"""Protobuf bodies: as kubectl really sends them, made by hand, and broken."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import throwaway

from dibs.api.patches.refused import Refused
from dibs.api.protobuf import decode, messages
from dibs.api.schema import reading

needs_kubectl = pytest.mark.skipif(throwaway.KUBECTL is None, reason="no kubectl")


# --- bodies by hand: tag, length, bytes ----------------------------------------------------------


def part(number: int, content: bytes | str | int) -> bytes:
    if isinstance(content, int):
        return _varint(number << 3) + _varint(content & (2**64 - 1))
    data = content.encode() if isinstance(content, str) else content
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    out = b""
    while True:
        value, low = value >> 7, value & 0x7F
        out += bytes([low | (0x80 if value else 0)])
        if not value:
            return out


def body(version: str, kind: str, content: bytes) -> bytes:
    return decode.MAGIC + part(1, part(1, version) + part(2, kind)) + part(2, content)


def named(name: str) -> bytes:
    return part(1, part(1, name))


def _decoded(version: str, kind: str, content: bytes) -> dict[str, Any]:
    return decode.decode(body(version, kind, content))


def test_maps_numbers_times_and_amounts() -> None:
    spec = (
        part(2, part(1, "web") + part(2, "nginx")  # containers
             + part(8, part(2, part(1, "cpu") + part(2, part(1, "500m"))))  # resources.requests
             + part(10, part(1, part(2, part(1, "/") + part(2, part(1, 1) + part(3, "http"))))))
        + part(4, 0)  # terminationGracePeriodSeconds, a pointer
        + part(7, part(1, "disk") + part(2, "ssd"))  # nodeSelector
        + part(11, 0)  # hostNetwork, none
    )  # fmt: skip
    created = part(8, part(1, 1767225600) + part(2, 0))
    tree = _decoded("v1", "Pod", part(1, part(1, "a") + created) + part(2, spec))
    assert tree == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {
            "containers": [
                {
                    "name": "web",
                    "image": "nginx",
                    "resources": {"requests": {"cpu": "500m"}},
                    "livenessProbe": {"httpGet": {"path": "/", "port": "http"}},
                }
            ],
            "terminationGracePeriodSeconds": 0,
            "nodeSelector": {"disk": "ssd"},
        },
    }


def test_embedded_structs_and_opaque_parameters_of_a_claim() -> None:
    opaque = part(1, "gpu.example.com") + part(2, part(1, b'{"sharing": "time"}'))
    config = part(3, part(1, "r") + part(2, part(1, opaque)))
    tree = _decoded("resource.k8s.io/v1", "ResourceClaim", named("c") + part(2, part(1, config)))
    assert tree["spec"]["devices"]["config"] == [
        {
            "requests": ["r"],
            "opaque": {"driver": "gpu.example.com", "parameters": {"sharing": "time"}},
        }
    ]


def test_extra_of_a_user_is_a_list_in_a_message() -> None:
    user = part(4, part(1, "scopes") + part(2, part(1, "a") + part(1, "b")))
    tree = _decoded("authentication.k8s.io/v1", "SelfSubjectReview", part(2, part(1, user)))
    assert tree["status"]["userInfo"]["extra"] == {"scopes": ["a", "b"]}


def test_bytes_are_base64_and_what_is_unknown_is_skipped() -> None:
    data = part(2, part(1, "k") + part(2, b"\x00\xff"))
    tree = _decoded("v1", "Secret", named("s") + data + part(999, "from the future"))
    assert tree["data"] == {"k": "AP8="}


def test_a_body_without_a_kind_is_what_is_expected() -> None:
    content = decode.MAGIC + part(2, part(1, 30) + part(4, "Foreground"))
    assert decode.decode(content, "v1", "DeleteOptions") == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "gracePeriodSeconds": 30,
        "propagationPolicy": "Foreground",
    }


def test_options_are_named_in_the_version_of_what_they_are_for() -> None:
    found = _decoded("resource.k8s.io/v1", "DeleteOptions", part(1, 5))
    assert found["gracePeriodSeconds"] == 5
    with pytest.raises(Refused):
        _decoded("resource.k8s.io/v1", "Pod", b"")


# --- broken bodies -------------------------------------------------------------------------------

GOOD = body("v1", "ConfigMap", named("c") + part(2, part(1, "k") + part(2, "v")))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "four bytes"),
        (b'{"kind": "Pod"}', "four bytes"),
        (GOOD[:-1], "Error parsing"),
        (decode.MAGIC + b"\xff\xff\xff", "Error parsing"),
        (body("apps/v1", "Deployment", named("d")), 'no kind "Deployment" is registered'),
        (decode.MAGIC + b"", 'no kind "" is registered'),
        (body("v1", "ConfigMap", named("c")) + part(3, "gzip"), "gzip"),
        (body("v1", "ConfigMap", named("c")) + part(4, "application/json"), "application/json"),
        (body("v1", "ConfigMap", part(1, part(1, b"\xff\xfe"))), "UTF-8"),
        (decode.MAGIC + part(1, part(1, b"\xff")), "UTF-8"),
        (body("v1", "ConfigMap", part(2, part(1, b"\xff") + part(2, "v"))), "UTF-8"),
        (body("v1", "Pod", part(2, part(36, part(1, b"\xff")))), "UTF-8"),
        (body("v1", "ResourceQuota", part(2, part(1, part(1, "a") + part(2, part(1, b"\xff"))))),
         "UTF-8"),
        (body("v1", "Pod", part(1, part(8, part(1, 2**62)))), "no time"),
        (
            body("resource.k8s.io/v1", "DeviceClass",
                 part(2, part(2, part(1, part(1, part(2, part(1, b"{"))))))),
            "no JSON",
        ),
    ],
)  # fmt: skip
def test_what_is_malformed_is_refused(content: bytes, told: str) -> None:
    with pytest.raises(Refused) as refused:
        decode.decode(content)
    assert refused.value.code == 400
    assert told in refused.value.message


@pytest.mark.slow
def test_a_bomb_of_empty_items_is_refused() -> None:
    content = body("v1", "Pod", part(2, part(2, b"") * (decode.MAX_VALUES + 1)))
    with pytest.raises(Refused, match="more than"):
        decode.decode(content)


@pytest.mark.slow
def test_nesting_is_bounded() -> None:
    template = b""
    for _ in range(300):
        template = part(9, template)
    with pytest.raises(Refused, match="Error parsing"):
        _decoded("scheduling.k8s.io/v1beta1", "Workload", part(2, part(3, template)))


@given(st.binary(max_size=80))
def test_no_bytes_make_it_fall(content: bytes) -> None:
    for kind in ("Pod", "Secret"):
        with contextlib.suppress(Refused):
            decode.decode(body("v1", kind, content))
    with contextlib.suppress(Refused):
        decode.decode(decode.MAGIC + content, "v1", "DeleteOptions")


@given(st.integers(0, len(GOOD) - 1), st.integers(0, 255))
def test_no_flipped_byte_makes_it_fall(at: int, byte: int) -> None:
    with contextlib.suppress(Refused):
        decode.decode(GOOD[:at] + bytes([byte]) + GOOD[at + 1 :])


def test_every_kind_has_a_message() -> None:
    for (version, kind), record in reading.kinds().items():
        assert messages.empty(record) is not None
        assert decode.decode(body(version, kind, b"")) == {"apiVersion": version, "kind": kind}


def test_negative_and_large_numbers() -> None:
    claim = part(2, part(1, part(1, part(1, "r") + part(2, part(4, -5)))))
    tree = _decoded("resource.k8s.io/v1", "ResourceClaim", claim)
    assert tree["spec"]["devices"]["requests"][0]["exactly"]["count"] == -5


# --- what kubectl sends --------------------------------------------------------------------------


@needs_kubectl
@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ("create namespace lab", {"kind": "Namespace", "metadata": {"name": "lab"}}),
        ("create configmap c --from-literal=a=b", {"kind": "ConfigMap", "data": {"a": "b"}}),
        ("create secret generic s --from-literal=a=b", {"kind": "Secret", "data": {"a": "Yg=="}}),
        ("create serviceaccount s", {"kind": "ServiceAccount", "metadata": {"name": "s"}}),
        ("create quota q --hard=pods=2,cpu=500m",
         {"kind": "ResourceQuota", "spec": {"hard": {"cpu": "500m", "pods": "2"}}}),
        ("create priorityclass p --value=5", {"kind": "PriorityClass", "value": 5}),
        ("create token sa --duration=1h", {"kind": "TokenRequest",
                                           "spec": {"expirationSeconds": 3600}}),
        ("auth whoami", {"kind": "SelfSubjectReview"}),
        ("auth can-i get pods/x", {"kind": "SelfSubjectAccessReview", "spec": {
            "resourceAttributes": {"namespace": "default", "verb": "get", "resource": "pods",
                                   "name": "x"}}}),
    ],
)  # fmt: skip
def test_kubectl_means_what_we_read(arguments: str, wanted: dict[str, Any], tmp_path: Path) -> None:
    with throwaway.Server() as server:
        throwaway.kubectl(server, tmp_path, *arguments.split())
    sent = server.sent[-1]
    assert sent.content_type == decode.CONTENT_TYPE
    tree = decode.decode(sent.body)
    assert _holds(tree, wanted), json.dumps(tree)


def _holds(tree: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return isinstance(tree, dict) and all(
            name in tree and _holds(tree[name], part) for name, part in wanted.items()
        )
    return bool(tree == wanted)


@needs_kubectl
@pytest.mark.slow
def test_a_kind_that_is_not_served_is_told_to_kubectl(tmp_path: Path) -> None:
    with throwaway.Server() as server:
        done = throwaway.kubectl(server, tmp_path, "create", "deployment", "d", "--image=x")
    assert done.returncode == 1
    assert 'no kind "Deployment" is registered for version "apps/v1"' in done.stderr


@needs_kubectl
@pytest.mark.slow
def test_protobuf_and_json_of_one_object_are_the_same(tmp_path: Path) -> None:
    """kubectl prints as JSON what it would send as protobuf."""
    arguments = ("create", "quota", "q", "--hard=pods=2,cpu=500m", "--scopes=BestEffort")
    with throwaway.Server() as server:
        printed = throwaway.kubectl(server, tmp_path, *arguments, "--dry-run=client", "-o", "json")
        throwaway.kubectl(server, tmp_path, *arguments)
    shown = json.loads(printed.stdout)
    shown["metadata"].pop("namespace", None)
    assert decode.decode(server.sent[-1].body) == shown
