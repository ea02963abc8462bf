"""One plane in a data folder: what outlives it, and what is wrong with folders."""

from __future__ import annotations

import asyncio
import datetime
import os
from pathlib import Path

import pytest

from dibs.api.access import authority
from dibs.control import hosting
from dibs.control.hosting import Settings
from dibs.drivers import fleet
from dibs.drivers.fleet import Fleet, Machines
from dibs.store.records import Key
from dibs.values.mistake import Mistake

pytestmark = pytest.mark.slow


def settings(folder: Path, *machines: Machines) -> Settings:
    objects = tuple(fleet.objects(Fleet(machines))) if machines else ()
    return Settings(folder / "data", port=0, fleet=objects)


def names(folder: Path, *machines: Machines) -> dict[str, list[str]]:
    """What nodes and slices there are, once it is up."""

    async def run() -> dict[str, list[str]]:
        async with hosting.hosted(settings(folder, *machines)) as hosted:
            page = hosted.plane.store.page
            return {
                each: [entry.key.name for entry in page(each).entries]
                for each in ("nodes", "resourceslices.resource.k8s.io")
            }

    return asyncio.run(run())


def test_what_was_written_is_there_after_a_restart(tmp_path: Path) -> None:
    first = names(tmp_path, Machines("l4", 2, name="a"))
    assert first["nodes"] == ["a"]
    assert names(tmp_path) == first


def test_a_fleet_that_shrinks_takes_its_nodes_along(tmp_path: Path) -> None:
    names(tmp_path, Machines("l4", 2, nodes=2, name="a"))
    left = names(tmp_path, Machines("l4", 2, name="a-0"))
    assert left["nodes"] == ["a-0"]
    assert left["resourceslices.resource.k8s.io"] == ["a-0-gpu.dibs.dev-0"]


def test_secrets_are_for_the_owner_only(tmp_path: Path) -> None:
    names(tmp_path)
    modes = {path.name: path.stat().st_mode & 0o077 for path in (tmp_path / "data").iterdir()}
    assert "kubeconfig" in modes
    assert set(modes.values()) == {0}
    assert (tmp_path / "data").stat().st_mode & 0o077 == 0


def test_two_planes_on_one_folder_are_one_too_many(tmp_path: Path) -> None:
    async def run() -> None:
        async with hosting.hosted(settings(tmp_path)), hosting.hosted(settings(tmp_path)):
            pytest.fail("the folder was taken twice")

    with pytest.raises(Mistake, match=str(os.getpid())):
        asyncio.run(run())


def test_a_taken_port_is_told_and_lets_go_of_the_folder(tmp_path: Path) -> None:
    async def run() -> None:
        async with hosting.hosted(settings(tmp_path / "a")) as hosted:
            port = int(hosted.url.rpartition(":")[2])
            async with hosting.hosted(Settings(tmp_path / "b" / "data", port=port)):
                pytest.fail("the port was taken twice")

    with pytest.raises(Mistake, match="can't listen"):
        asyncio.run(run())
    names(tmp_path / "b")


def test_an_object_that_is_wrong_ends_the_start(tmp_path: Path) -> None:
    bad = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "Not A Name"}}

    async def run() -> None:
        async with hosting.hosted(Settings(tmp_path / "data", port=0, objects=(bad,))):
            pytest.fail("it came up")

    with pytest.raises(Mistake, match="RFC 1123") as told:
        asyncio.run(run())
    assert told.value.path == "Node Not A Name"


def test_a_tokens_account_must_be_there(tmp_path: Path) -> None:
    from dibs.api.gate import Account

    async def run() -> None:
        async with hosting.hosted(settings(tmp_path)) as hosted:
            store = hosted.plane.store
            async with asyncio.timeout(5):
                while (entry := store.get(Key("serviceaccounts", "default", "default"))) is None:
                    await asyncio.sleep(0.01)
            uid = hosted.plane.reader.tree(entry)["metadata"]["uid"]
            there = Account("default", "default", uid)
            assert hosting.is_there(store, there)
            assert not hosting.is_there(store, Account("default", "default", "other"))
            assert not hosting.is_there(store, Account("default", "nobody", uid))
            bound = Account("default", "default", uid, "Pod", "p", "1")
            assert not hosting.is_there(store, bound)

    asyncio.run(run())


def test_a_restart_writes_no_new_certificate(tmp_path: Path) -> None:
    names(tmp_path)
    chain = tmp_path / "data" / "server.pem"
    before = chain.read_bytes()
    names(tmp_path)
    assert chain.read_bytes() == before
    chain.write_bytes(b"no certificate")
    names(tmp_path)
    assert b"BEGIN CERTIFICATE" in chain.read_bytes()


def test_an_earlier_kubeconfig_is_known(tmp_path: Path) -> None:
    now = datetime.datetime.now(datetime.UTC)
    ours = authority.in_folder(tmp_path / "a", now)
    other = authority.in_folder(tmp_path / "b", now)
    url, path = "https://127.0.0.1:6443", tmp_path / "kubeconfig"
    assert not hosting.reaches(path, url, ours)
    pair = ours.for_client("ada", [], now)
    path.write_bytes(hosting.kubeconfig_of(url, ours, pair, "ada"))
    assert hosting.reaches(path, url, ours)
    assert not hosting.reaches(path, "https://127.0.0.1:7443", ours)
    assert not hosting.reaches(path, url, other)
    path.write_bytes(b"{}")
    assert not hosting.reaches(path, url, ours)
