"""v1beta1 and v1 say the same, in trees and in paths; defaults are what the API server fills in."""

from __future__ import annotations

import pytest

from dibs.model import codec, defaults, versions
from dibs.model.core import Node
from dibs.model.objects import (
    DeviceClaim,
    DeviceRequest,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimTemplate,
    ResourceClaimTemplateSpec,
    ResourcePoolStatusRequest,
)
from dibs.values.mistake import Mistake

PATHS = [
    ("ResourceClaim", "spec.devices.requests[3].exactly.count", "spec.devices.requests[3].count"),
    ("ResourceClaim", "spec.devices.requests[0].exactly", "spec.devices.requests[0]"),
    ("ResourceClaim", "spec.devices.requests[0].name", "spec.devices.requests[0].name"),
    (
        "ResourceClaim",
        "spec.devices.requests[0].firstAvailable[1].count",
        "spec.devices.requests[0].firstAvailable[1].count",
    ),
    (
        "ResourceClaimTemplate",
        "spec.spec.devices.requests[1].exactly.selectors[0].cel",
        "spec.spec.devices.requests[1].selectors[0].cel",
    ),
    (
        "ResourceSlice",
        "spec.devices[2].attributes[a.b/c].int",
        "spec.devices[2].basic.attributes[a.b/c].int",
    ),
    ("ResourceSlice", "spec.devices[2].name", "spec.devices[2].name"),
    ("ResourceSlice", "spec.devices[2].nodeName", "spec.devices[2].basic.nodeName"),
    ("ResourceSlice", "spec.devices[2]", "spec.devices[2]"),
    ("DeviceClass", "spec.selectors[0]", "spec.selectors[0]"),
]


@pytest.mark.parametrize(("kind", "v1", "v1beta1"), PATHS)
def test_paths(kind: str, v1: str, v1beta1: str) -> None:
    assert versions.written(kind, "v1beta1", v1) == v1beta1
    assert versions.written(kind, "v1beta2", v1) == v1
    if not v1.endswith("exactly"):
        assert versions.in_v1(kind, "v1beta1", v1beta1) == v1
    assert versions.in_v1(kind, "v1", v1) == v1


@pytest.mark.parametrize(
    ("request_", "exactly"),
    [
        ({"name": "a"}, None),
        ({"name": "a", "count": 0, "deviceClassName": ""}, None),
        ({"name": "a", "selectors": []}, {"selectors": []}),
        ({"name": "a", "adminAccess": False}, {"adminAccess": False}),
        ({"name": "a", "count": 2, "capacity": {}}, {"count": 2, "capacity": {}}),
    ],
)
def test_a_flat_request_is_exact_if_anything_is_set(
    request_: dict[str, object], exactly: object
) -> None:
    tree = versions.up("ResourceClaim", "v1beta1", {"spec": {"devices": {"requests": [request_]}}})
    expected = {"name": "a"} if exactly is None else {"name": "a", "exactly": exactly}
    assert tree == {"spec": {"devices": {"requests": [expected]}}}


def test_trees_are_not_changed_in_place() -> None:
    tree: dict[str, object] = {"spec": {"devices": [{"name": "a", "basic": {"b": 1}}]}}
    before = repr(tree)
    assert repr(versions.up("ResourceSlice", "v1beta1", tree)) != before
    assert repr(tree) == before


def test_a_version_that_a_kind_does_not_have() -> None:
    with pytest.raises(Mistake, match="Node has no version v1beta1; choose one of v1"):
        codec.encode(Node(), "v1beta1")
    assert codec.encode(ResourcePoolStatusRequest())["apiVersion"] == "resource.k8s.io/v1alpha3"


def test_defaults_of_requests_in_claims_and_templates() -> None:
    given = ResourceClaimSpec(
        devices=DeviceClaim(
            requests=(
                DeviceRequest(exactly=ExactDeviceRequest(tolerations=(DeviceToleration(key="a"),))),
                DeviceRequest(exactly=ExactDeviceRequest(allocation_mode="All")),
                DeviceRequest(exactly=ExactDeviceRequest(count=3)),
                DeviceRequest(first_available=(DeviceSubRequest(name="x"),)),
                DeviceRequest(),
            )
        )
    )
    expected = ResourceClaimSpec(
        devices=DeviceClaim(
            requests=(
                DeviceRequest(
                    exactly=ExactDeviceRequest(
                        allocation_mode="ExactCount",
                        count=1,
                        tolerations=(DeviceToleration(key="a", operator="Equal"),),
                    )
                ),
                DeviceRequest(exactly=ExactDeviceRequest(allocation_mode="All")),
                DeviceRequest(exactly=ExactDeviceRequest(allocation_mode="ExactCount", count=3)),
                DeviceRequest(
                    first_available=(
                        DeviceSubRequest(name="x", allocation_mode="ExactCount", count=1),
                    )
                ),
                DeviceRequest(),
            )
        )
    )
    assert defaults.apply(ResourceClaim(spec=given)).spec == expected
    template = ResourceClaimTemplate(spec=ResourceClaimTemplateSpec(spec=given))
    assert defaults.apply(template).spec.spec == expected


def test_other_defaults() -> None:
    assert defaults.apply(ResourcePoolStatusRequest()).spec.limit == 100
    node = Node()
    assert defaults.apply(node) is node
