"""Writes that meet: one wins, none is lost, no quota is passed by two at once."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest

from dibs.api import kinds, patching, reads, storage, writes
from dibs.api.calls import Call, ListOptions, Tree, WriteOptions, Written
from dibs.api.failures import Failure
from dibs.api.patching import Patch
from dibs.api.plane import Plane
from dibs.store.records import Key, Put
from dibs.testing.apiserver import on_a_plane

MAPS, CLAIMS = (
    kinds.find("", "v1", "configmaps"),
    kinds.find("resource.k8s.io", "v1", "resourceclaims"),
)
QUOTAS, SLICES = (
    kinds.find("", "v1", "resourcequotas"),
    kinds.find("resource.k8s.io", "v1", "resourceslices"),
)
assert MAPS
assert CLAIMS
assert QUOTAS
assert SLICES
MAP = Call("create", MAPS, "v1", "default")
PLAIN = WriteOptions()


async def outcomes(*work: object) -> list[str]:
    """`ok`, or the reason of each."""
    done = await asyncio.gather(*work, return_exceptions=True)  # type: ignore[call-overload]
    assert all(isinstance(each, Written | Failure) for each in done), done
    return [each.reason if isinstance(each, Failure) else "ok" for each in done]


@on_a_plane
async def test_one_of_many_creates_a_name(plane: Plane) -> None:
    tree: Tree = {"metadata": {"name": "c"}}
    found = await outcomes(*(writes.create(plane, MAP, tree, PLAIN) for _ in range(10)))
    assert sorted(found) == ["AlreadyExists"] * 9 + ["ok"]


@on_a_plane
async def test_generated_names_do_not_meet(plane: Plane) -> None:
    tree: Tree = {"metadata": {"generateName": "c-"}}
    assert (
        await outcomes(*(writes.create(plane, MAP, tree, PLAIN) for _ in range(10))) == ["ok"] * 10
    )
    assert plane.store.count("configmaps", "default") == 10


@on_a_plane
async def test_of_many_updates_of_a_revision_one_is_taken(plane: Plane) -> None:
    made = (await writes.create(plane, MAP, {"metadata": {"name": "c"}}, PLAIN)).tree
    call = replace(MAP, verb="update", name="c")
    trees = [{**made, "data": {"n": str(index)}} for index in range(10)]
    found = await outcomes(*(writes.update(plane, call, tree, PLAIN) for tree in trees))
    assert sorted(found) == ["Conflict"] * 9 + ["ok"]


@on_a_plane
async def test_patches_that_meet_are_all_there(plane: Plane) -> None:
    await writes.create(plane, MAP, {"metadata": {"name": "c"}}, PLAIN)
    call = replace(MAP, verb="patch", name="c")
    patches = [Patch(patching.MERGE, {"data": {f"k{index}": "v"}}) for index in range(10)]
    assert (
        await outcomes(*(patching.patch(plane, call, each, PLAIN) for each in patches))
        == ["ok"] * 10
    )
    entry = plane.store.get(Key("configmaps", "default", "c"))
    assert entry
    assert len(storage.tree_of(entry)["data"]) == 10


@on_a_plane
async def test_two_can_not_both_have_the_last_of_a_quota(plane: Plane) -> None:
    hard = {"gpu.deviceclass.resource.k8s.io/devices": "5"}
    quota = {"metadata": {"name": "q"}, "spec": {"hard": hard}}
    await writes.create(plane, Call("create", QUOTAS, "v1", "default"), quota, PLAIN)
    request = {"name": "r", "exactly": {"deviceClassName": "gpu"}}
    claims = [
        {"metadata": {"name": f"c{index}"}, "spec": {"devices": {"requests": [request]}}}
        for index in range(30)
    ]
    call = Call("create", CLAIMS, "v1", "default")
    found = await outcomes(*(writes.create(plane, call, each, PLAIN) for each in claims))
    assert sorted(found) == ["Forbidden"] * 25 + ["ok"] * 5


@on_a_plane
async def test_nothing_is_created_in_a_namespace_that_went_meanwhile(plane: Plane) -> None:
    namespace = Key("namespaces", "", "default")
    entry = plane.store.get(namespace)
    assert entry
    tree = storage.tree_of(entry)
    tree["metadata"]["deletionTimestamp"] = "2026-01-31T12:00:00Z"
    # Written in the same batch as what is created, and before it.
    ending = plane.commit(Put(namespace, storage.to_bytes(tree), entry.mod_revision))
    creating = writes.create(plane, MAP, {"metadata": {"name": "c"}}, PLAIN)
    _, made = await asyncio.gather(ending, creating, return_exceptions=True)
    assert isinstance(made, Failure)
    assert (made.code, plane.store.count("configmaps")) == (403, 0)


@pytest.mark.slow
def test_ten_thousand_slices_are_listed_in_a_second() -> None:
    @on_a_plane
    async def play(plane: Plane) -> None:
        devices = [{"name": f"gpu-{each}", "attributes": {"model": {"string": "H100"},
                    "uuid": {"string": f"GPU-{each}"}}} for each in range(8)]  # fmt: skip
        for index in range(10_000):
            name = f"s{index}"
            tree = {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceSlice",
                "metadata": {"name": name, "uid": name},
                "spec": {"driver": "d.example.com", "nodeName": name, "devices": devices},
            }
            key = Key("resourceslices.resource.k8s.io", "", name)
            await plane.store.put(key, storage.to_bytes(tree))
        call = Call("list", SLICES, "v1")
        begun = time.process_time()
        listed = reads.listed(plane.store, plane.reader, call, ListOptions())
        items = (storage.served(SLICES, "v1", entry) for entry in listed.entries)
        body = storage.list_bytes(SLICES, "v1", items, listed.metadata)
        assert time.process_time() - begun < 1
        assert body.count(b'"kind":"ResourceSlice"') == 10_000

    play()
