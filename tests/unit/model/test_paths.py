"""Field paths of v1, told as the version of the file has them."""

from __future__ import annotations

import pytest

from dibs.model import versions


@pytest.mark.parametrize(
    ("kind", "path", "older"),
    [
        (
            "ResourceClaim",
            "spec.devices.requests[0].exactly.count",
            "spec.devices.requests[0].count",
        ),
        ("ResourceClaim", "spec.devices.requests[0].exactly", "spec.devices.requests[0]"),
        ("ResourceClaim", "spec.devices.requests[0].firstAvailable[1].count", None),
        (
            "ResourceClaimTemplate",
            "spec.spec.devices.requests[3].exactly.selectors[0]",
            "spec.spec.devices.requests[3].selectors[0]",
        ),
        (
            "ResourceSlice",
            "spec.devices[0].capacity[a].value",
            "spec.devices[0].basic.capacity[a].value",
        ),
        ("ResourceSlice", "spec.devices[0].name", None),
        ("ResourceSlice", "spec.devices[0]", None),
        ("ResourceClaim", "status.devices[0].data", None),
    ],
)
def test_paths_of_v1beta1(kind: str, path: str, older: str | None) -> None:
    assert versions.written(kind, "v1beta1", path) == (older or path)
    assert versions.written(kind, "v1beta2", path) == path
    if path != "spec.devices.requests[0].exactly":
        assert versions.in_v1(kind, "v1beta1", older or path) == path
