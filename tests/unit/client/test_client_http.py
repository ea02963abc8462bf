"""The cluster over HTTP, against the real server on a free port, over TLS."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from dibs.client import http, kubeconfig
from dibs.client.cluster import Change, Conflict, Forbidden, Missing, Ref, Synced, Unreachable
from dibs.client.http import Http
from dibs.control import hosting, running
from dibs.control.hosting import Hosted, Settings
from dibs.control.running import Clocks
from dibs.model import kinds
from dibs.model.core import Namespace, Node, Pod
from dibs.model.meta import ObjectMeta
from dibs.values.mistake import Mistake

pytestmark = pytest.mark.slow

NODES, PODS = kinds.BY_NAME["", "Node"], kinds.BY_NAME["", "Pod"]
A = Ref(NODES, "", "a")


def story(folder: Path, told: Callable[[Hosted, Http], Awaitable[None]]) -> None:
    async def run() -> None:
        async with hosting.hosted(Settings(folder / "data", port=0)) as hosted:
            access = kubeconfig.access(hosted.kubeconfig)
            async with http.connected(access) as cluster:
                await told(hosted, cluster)

    asyncio.run(run())


def node(name: str, **labels: str) -> Node:
    return Node(metadata=ObjectMeta(name=name, labels=labels))


def test_objects_are_made_read_changed_and_deleted(tmp_path: Path) -> None:
    async def told(_: Hosted, cluster: Http) -> None:
        assert await cluster.get(A) is None
        made = await cluster.create(node("a"))
        assert await cluster.get(A) == made
        with pytest.raises(Conflict, match="already exists"):
            await cluster.create(node("a"))
        changed = await cluster.patch(A, {"metadata": {"labels": {"zone": "b"}}})
        assert changed.metadata.labels == {"zone": "b"}
        with pytest.raises(Conflict, match="has been modified"):
            await cluster.update(made)
        with pytest.raises(Conflict):
            await cluster.delete(A, uid="another")
        await cluster.delete(A, uid=made.metadata.uid)
        with pytest.raises(Missing):
            await cluster.delete(A)

    story(tmp_path, told)


def test_a_watch_tells_what_is_there_and_what_happens(tmp_path: Path) -> None:
    async def told(_: Hosted, cluster: Http) -> None:
        await cluster.create(node("a"))
        heard: list[object] = []

        async def listen() -> None:
            async for news in cluster.watch(NODES):
                heard.append(news.ref.name if isinstance(news, Change) else "synced")
                if isinstance(news, Synced):
                    assert news.there == {A}

        listening = asyncio.create_task(listen())
        async with asyncio.timeout(5):
            while "synced" not in heard:
                await asyncio.sleep(0.01)
            await cluster.create(node("b"))
            await cluster.delete(A)
            while len(heard) < 4:
                await asyncio.sleep(0.01)
        listening.cancel()
        assert heard == ["a", "synced", "b", "a"]

    story(tmp_path, told)


def test_the_same_loops_run_over_http(tmp_path: Path) -> None:
    """As beside a real cluster: the loops are only another client."""

    async def told(_: Hosted, cluster: Http) -> None:
        await cluster.create(Namespace(metadata=ObjectMeta(name="team")))
        await cluster.create(node("a"))
        clocks = Clocks(lambda: 1_800_000_000.0, asyncio.get_running_loop().time)
        async with running.loops(cluster, clocks):
            pod = {"containers": ({"name": "c", "image": "x"},)}
            body = {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "p"},
                "spec": {"containers": list(pod["containers"]), "schedulerName": "dibs"},
            }
            await cluster.fetch("POST", "/api/v1/namespaces/team/pods", body=body)
            async with asyncio.timeout(5):
                while True:
                    found = await cluster.get(Ref(PODS, "team", "p"))
                    assert isinstance(found, Pod)
                    if found.spec.node_name:
                        break
                    await asyncio.sleep(0.02)

    story(tmp_path, told)


def test_what_is_refused_says_why(tmp_path: Path) -> None:
    async def told(hosted: Hosted, cluster: Http) -> None:
        with pytest.raises(Forbidden, match="a lowercase RFC 1123 subdomain"):
            await cluster.create(node("Not A Name"))
        config = kubeconfig.access(hosted.kubeconfig)
        stranger = kubeconfig.Access(config.server, "default", config.tls, token="wrong")
        async with http.connected(stranger) as other:
            with pytest.raises(Forbidden, match="Unauthorized"):
                await other.get(A)

    story(tmp_path, told)


def test_a_server_that_is_gone_is_unreachable(tmp_path: Path) -> None:
    async def run() -> None:
        async with hosting.hosted(Settings(tmp_path / "data", port=0)) as hosted:
            access = kubeconfig.access(hosted.kubeconfig)
        async with http.connected(access) as cluster:
            with pytest.raises(Unreachable, match=access.server):
                await cluster.get(A)

    asyncio.run(run())


BAD = {
    "clusters has no 'dibs'": "current-context: c\ncontexts: [{name: c, context: {cluster: dibs}}]",
    "no current-context": "{}",
    "is no kubeconfig": "- 1",
    "is no YAML": "a: [",
    "contexts has no 'c'": "current-context: c",
    "doesn't start": (
        "current-context: c\ncontexts: [{name: c, context: {cluster: d, user: u}}]\n"
        "clusters: [{name: d, cluster: {server: 'https://x'}}]\n"
        "users: [{name: u, user: {exec: {command: rm}}}]"
    ),
    "no base64": (
        "current-context: c\ncontexts: [{name: c, context: {cluster: d}}]\n"
        "clusters: [{name: d, cluster: {server: 'https://x', certificate-authority-data: '%'}}]"
    ),
    "has no server": (
        "current-context: c\ncontexts: [{name: c, context: {cluster: d}}]\n"
        "clusters: [{name: d, cluster: {server: 'file:///etc'}}]"
    ),
}


@pytest.mark.parametrize("told", BAD)
def test_a_bad_kubeconfig_says_what_is_wrong(tmp_path: Path, told: str) -> None:
    path = tmp_path / "config"
    path.write_text(BAD[told])
    with pytest.raises(Mistake, match=told) as mistake:
        kubeconfig.access(path)
    assert mistake.value.path == str(path)


def test_kubeconfigs_are_found_as_kubectl_finds_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("{}")
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/a:{tmp_path}/b")
    assert kubeconfig.paths() == (tmp_path / "a",)
