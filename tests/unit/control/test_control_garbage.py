"""What becomes of dependents when their owners go, also when they own each other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest

from dibs.api import deletes, kinds, writes
from dibs.api.calls import Call, DeleteOptions, WriteOptions
from dibs.api.gate import Open, Record
from dibs.control.embedded import Hands
from dibs.store.records import Key
from dibs.testing import apiserver
from dibs.testing.planes import Driven, whole

pytestmark = pytest.mark.slow

MAPS = kinds.find("", "v1", "configmaps")


def story(told: Callable[[Driven], Awaitable[None]]) -> None:
    async def run() -> None:
        async with whole() as plane:
            await told(plane)

    asyncio.run(run())


async def add(plane: Driven, name: str) -> str:
    tree = {"metadata": {"name": name, "namespace": "default"}}
    made = await plane.create({"apiVersion": "v1", "kind": "ConfigMap", **tree})
    return str(made["metadata"]["uid"])


async def own(plane: Driven, name: str, owners: dict[str, str], *, blocks: bool = True) -> None:
    """Have `name` be owned by others, by name and uid."""
    references: list[dict[str, Any]] = [
        {
            "apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": uid,
            "blockOwnerDeletion": blocks,
        }
        for owner, uid in owners.items()
    ]  # fmt: skip
    await plane.patch("configmaps", name, {"metadata": {"ownerReferences": references}})


async def delete(plane: Driven, name: str) -> None:
    assert MAPS is not None
    call = Call("delete", MAPS, "v1", "default", name)
    await deletes.delete(plane.plane, call, DeleteOptions(propagation="Foreground"))


def left(plane: Driven) -> Iterable[str]:
    return [entry.key.name for entry in plane.plane.store.page("configmaps", "default").entries]


def test_a_circle_goes() -> None:
    async def told(plane: Driven) -> None:
        a, b, c = [await add(plane, name) for name in "abc"]
        await own(plane, "a", {"c": c})
        await own(plane, "b", {"a": a})
        await own(plane, "c", {"b": b})
        await delete(plane, "a")
        await plane.settled()
        assert left(plane) == []

    story(told)


def test_who_owns_itself_goes() -> None:
    async def told(plane: Driven) -> None:
        await own(plane, "self", {"self": await add(plane, "self")})
        await delete(plane, "self")
        await plane.settled()
        assert left(plane) == []

    story(told)


def test_what_owners_of_other_kinds_own_stays(caplog: pytest.LogCaptureFixture) -> None:
    async def told(plane: Driven) -> None:
        for name, kind, version in (
            ("replicas", "ReplicaSet", "apps/v1"),
            ("custom", "Thing", "example.com/v1"),
            ("served", "ConfigMap", "v1"),
        ):
            await add(plane, name)
            reference = {"apiVersion": version, "kind": kind, "name": "own", "uid": "elsewhere"}
            await plane.patch("configmaps", name, {"metadata": {"ownerReferences": [reference]}})
        await plane.settled()
        # Only of the kind that is served it is known that the owner is gone.
        assert left(plane) == ["custom", "replicas"]

    story(told)
    assert not caplog.records


def test_an_owner_goes_when_nothing_blocks_it_any_more() -> None:
    async def told(plane: Driven) -> None:
        owner = {"owner": await add(plane, "owner")}
        await add(plane, "child")
        await own(plane, "child", owner)
        await plane.patch("configmaps", "child", {"metadata": {"finalizers": ["example.com/x"]}})
        await delete(plane, "owner")
        await plane.settled()
        assert left(plane) == ["child", "owner"]
        await own(plane, "child", owner, blocks=False)
        await plane.settled()
        assert left(plane) == ["child"]

    story(told)


@dataclass
class Noting(Open):
    """Remembers what is to be remembered."""

    records: list[Record] = field(default_factory=list)

    def note(self, record: Record) -> None:
        self.records.append(record)


def test_who_deleted_it_is_noted() -> None:
    async def run() -> None:
        gate = Noting()
        async with apiserver.in_memory(gate=gate) as plane:
            assert MAPS is not None
            call = Call("create", MAPS, "v1", "default")
            made = await writes.create(plane, call, {"metadata": {"name": "c"}}, WriteOptions())
            key = Key("configmaps", "default", "c")
            await Hands(plane).delete(key, made.tree["metadata"]["uid"])
            # Gone already is nobody's doing.
            await Hands(plane).delete(key, made.tree["metadata"]["uid"])
        [record] = gate.records
        assert (record.asked.verb, record.asked.name, record.code) == ("delete", "c", 200)
        assert record.caller.name.startswith("system:")
        assert record.after is None

    asyncio.run(run())
