"""What is kept decoded of writes is what their bytes say; two doors are written as one."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from dibs.api import kinds, storage
from dibs.client import cluster
from dibs.client.cluster import Conflict, Ref
from dibs.control.nodeless import MODEL
from dibs.model import codec
from dibs.model.objects import ResourceClaim, ResourceClaimConsumerReference
from dibs.testing.planes import Driven, whole

FINALIZER = "example.com/kept"


def devices() -> dict[str, object]:
    exactly = {"deviceClassName": "gpu"}
    return {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}


def resource(kind: str, name: str, spec: object, namespace: str = "") -> dict[str, object]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": kind,
        "metadata": metadata,
        "spec": spec,
    }


async def placed(plane: Driven, count: int) -> None:
    """A node with two devices, and Pods that want one each; one of them is deleted again."""
    await plane.create(resource("DeviceClass", "gpu", {}))
    marked = {"name": "a", "annotations": {MODEL: ""}}
    await plane.create({"apiVersion": "v1", "kind": "Node", "metadata": marked})
    pool = {"name": "a", "generation": 1, "resourceSliceCount": 1}
    found = [{"name": "gpu-0"}, {"name": "gpu-1"}]
    spec = {"driver": "gpu.example.com", "nodeName": "a", "pool": pool, "devices": found}
    await plane.create(resource("ResourceSlice", "a", spec))
    await plane.create(resource("ResourceClaimTemplate", "one", {"spec": devices()}, "default"))
    for number in range(count):
        wanted = {"name": "gpu", "resourceClaimTemplateName": "one"}
        pod = {"containers": [{"name": "c", "image": "x"}], "resourceClaims": [wanted]}
        named = {"name": f"pod-{number}", "namespace": "default"}
        await plane.create({"apiVersion": "v1", "kind": "Pod", "metadata": named, "spec": pod})
    await plane.settled()
    await plane.delete("pods", "pod-0")
    await plane.settled()


@pytest.mark.slow
def test_what_is_kept_of_writes_is_what_was_stored() -> None:
    async def run() -> None:
        async with whole() as plane:
            await placed(plane, 4)
            reader, store, seen = plane.plane.reader, plane.plane.store, 0
            for each in kinds.RESOURCES:
                if not each.is_kept or each.stored:
                    continue
                for entry in store.page(each.qualified).entries:
                    bare = storage.tree_of(entry)
                    assert reader.tree(entry) == bare
                    if each.model is not None:
                        assert reader.item(entry) == codec.decode(bare).object
                        seen += 1
            assert seen > 10

    asyncio.run(run())


def claim_of(plane: Driven) -> ResourceClaim:
    [entry] = plane.plane.store.page("resourceclaims.resource.k8s.io").entries
    found = plane.plane.reader.item(entry)
    assert isinstance(found, ResourceClaim)
    return found


def changed(claim: ResourceClaim) -> ResourceClaim:
    """Another finalizer, and somebody who uses it."""
    user = ResourceClaimConsumerReference(resource="pods", name="p", uid="u")
    replace = msgspec.structs.replace
    status = replace(claim.status, reserved_for=(user,), allocation=claim.status.allocation)
    metadata = replace(claim.metadata, finalizers=(*claim.metadata.finalizers, FINALIZER))
    return replace(claim, metadata=metadata, status=status)


@pytest.mark.slow
def test_two_doors_are_one_write_or_two_with_the_same_end() -> None:
    async def run(*, at_once: bool) -> tuple[int, ResourceClaim]:
        async with whole() as plane:
            await placed(plane, 2)
            before, revision = claim_of(plane), plane.plane.store.revision
            if at_once:
                await plane.cluster.update_both(changed(before))
            else:
                await cluster.update_in_turn(plane.cluster, changed(before), status_first=False)
            written = plane.plane.store.revision - revision
            after = claim_of(plane)
            with pytest.raises(Conflict):
                await plane.cluster.update_both(changed(before))
            return written, after

    count, one = asyncio.run(run(at_once=True))
    assert count == 1
    count, other = asyncio.run(run(at_once=False))
    assert count == 2
    for found in (one, other):
        assert FINALIZER in found.metadata.finalizers
        assert [each.name for each in found.status.reserved_for] == ["p"]
        assert found.status.allocation is not None
    assert Ref.to(one) == Ref.to(other)
