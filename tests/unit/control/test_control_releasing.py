"""Releasing, on the real server in memory: devices come back when nobody needs them, not before."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dibs.client.cluster import Ref
from dibs.control.releasing import CLAIMS, PODS, Releasing
from dibs.model.objects import ResourceClaim
from dibs.testing.planes import Driven, driven

pytestmark = pytest.mark.slow

HELD = {
    "allocation": {
        "devices": {
            "results": [{"request": "gpu", "driver": "d.example.com", "pool": "p", "device": "g"}]
        }
    }
}
FINALIZER = "resource.kubernetes.io/delete-protection"
CLAIM = Ref(CLAIMS, "default", "train")


def pod(name: str, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "main", "image": "example.com/x"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": containers, **spec},
    }


def claim(**metadata: Any) -> dict[str, Any]:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "train", "namespace": "default", **metadata},
        "spec": {"devices": {"requests": [request]}},
    }


async def held_by(plane: Driven, *names: str, **metadata: Any) -> None:
    """Pods, and a claim that is allocated and reserved for them."""
    made = [await plane.create(pod(name)) for name in names]
    await plane.create(claim(finalizers=[FINALIZER], **metadata))
    reserved = [
        {"resource": "pods", "name": each["metadata"]["name"], "uid": each["metadata"]["uid"]}
        for each in made
    ]
    await plane.status("resourceclaims", "train", {**HELD, "reservedFor": reserved})


def story(told: Callable[[Driven], Awaitable[None]]) -> None:
    async def run() -> None:
        async with driven(lambda cluster, mirror: Releasing(cluster, mirror)) as plane:
            await told(plane)

    asyncio.run(run())


def test_devices_come_back_with_the_end_of_the_last_pod() -> None:
    async def told(plane: Driven) -> None:
        await held_by(plane, "a", "b")
        await plane.settled()
        assert len(await users(plane)) == 2
        await plane.status("pods", "a", {"phase": "Succeeded"})
        await plane.settled()
        assert await users(plane) == ["b"]
        await plane.delete("pods", "b")
        await plane.settled()
        found = await plane.cluster.get(CLAIM)
        assert isinstance(found, ResourceClaim)
        assert found.status.allocation is None
        assert not found.status.reserved_for
        assert not found.metadata.finalizers

    story(told)


def test_a_pod_of_the_same_name_is_another() -> None:
    async def told(plane: Driven) -> None:
        await held_by(plane, "a")
        await plane.delete("pods", "a")
        await plane.create(pod("a"))
        await plane.settled()
        assert await users(plane) == []

    story(told)


def test_a_claim_made_for_a_pod_goes_with_it() -> None:
    async def told(plane: Driven) -> None:
        await plane.create(pod("a"))
        uid = (await plane.tree("pods", "a"))["metadata"]["uid"]
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": uid, "controller": True}
        await plane.create(claim(ownerReferences=[owner]))
        await plane.settled()
        assert await plane.cluster.get(CLAIM) is not None
        await plane.status("pods", "a", {"phase": "Failed"})
        await plane.settled()
        assert await plane.cluster.get(CLAIM) is None

    story(told)


def test_a_deleted_claim_waits_for_its_pods() -> None:
    async def told(plane: Driven) -> None:
        await held_by(plane, "a")
        await plane.delete("resourceclaims", "train")
        await plane.settled()
        assert await users(plane) == ["a"]
        await plane.delete("pods", "a")
        await plane.settled()
        assert await plane.cluster.get(CLAIM) is None

    story(told)


def test_consumers_of_unknown_kinds_keep_their_claim() -> None:
    async def told(plane: Driven) -> None:
        await plane.create(claim(finalizers=[FINALIZER]))
        strange = [{"apiGroup": "example.com", "resource": "jobs", "name": "j", "uid": "1"}]
        await plane.status("resourceclaims", "train", {**HELD, "reservedFor": strange})
        await plane.settled()
        assert await users(plane) == ["j"]

    story(told)


def test_pods_that_the_mirror_has_not_seen_are_asked_for() -> None:
    async def told(plane: Driven) -> None:
        await held_by(plane, "a")
        # As if the watch of Pods were behind.
        plane.mirror.all(PODS).clear()  # type: ignore[attr-defined]
        plane.want(CLAIM)
        await plane.settled()
        assert await users(plane) == ["a"]

    story(told)


async def users(plane: Driven) -> list[str]:
    found = await plane.cluster.get(CLAIM)
    if not isinstance(found, ResourceClaim):
        pytest.fail("the claim is gone")
    return [each.name for each in found.status.reserved_for]
