"""`dibs up` in a process of its own, and what a client in this one asks of it over TLS.

Times of both processes are kept apart: a server that is waited for and a client that can't ask
faster look the same from outside.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import aiohttp

from bench import clock
from bench.world import Tree
from dibs.client import http, kubeconfig
from dibs.client.cluster import Ref
from dibs.client.http import Http
from dibs.model import kinds

Item = TypeVar("Item")

DRIVER = "gpu.example.com"
PODS = kinds.BY_NAME["", "Pod"]
_PATIENCE_S = 120.0
_READY = "ready KUBECONFIG="
_PODS_PATH = "/api/v1/namespaces/default/pods"


@dataclass(frozen=True, slots=True)
class Server:
    """A plane that serves. `started_s` is from starting the process to its line `ready`."""

    pid: int
    kubeconfig: Path
    started_s: float

    def cpu_s(self) -> float:
        """What it has used of processors, in all its threads; 0 where nobody counts it."""
        path = Path(f"/proc/{self.pid}/stat")
        if not path.exists():
            return 0.0
        user, system = path.read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def resident_mb(self) -> float:
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        [found] = (line.split()[1] for line in lines if line.startswith("VmRSS"))
        return int(found) * 1024 / 1e6


@contextmanager
def serving(folder: Path, objects: list[Tree] | None = None) -> Iterator[Server]:
    """Serve what is in the folder, and these objects, until the block ends."""
    folder.mkdir(parents=True, exist_ok=True)
    arguments = clock.dibs("up", "--data", str(folder / "data"), "--listen", "127.0.0.1:0")
    if objects:
        path = folder / "objects.json"
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        arguments += ["-f", str(path)]
    began = time.perf_counter()
    with (folder / "stderr").open("wb") as told:
        process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=told)
    assert process.stdout is not None
    try:
        line = process.stdout.readline().decode().strip()
        if not line.startswith(_READY):
            raise RuntimeError(f"dibs up: {(folder / 'stderr').read_text()[-400:]}")
        started_s = time.perf_counter() - began
        yield Server(process.pid, Path(line.removeprefix(_READY)), started_s)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=_PATIENCE_S)
        process.stdout.close()


def fleet(nodes: int, devices: int) -> list[Tree]:
    """A class, a template of one device, and nodes with so many each."""
    exactly = {"deviceClassName": "gpu"}
    spec = {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}
    expression = f'device.driver == "{DRIVER}"'
    objects = [
        _object("DeviceClass", "gpu", {"selectors": [{"cel": {"expression": expression}}]}),
        _object("ResourceClaimTemplate", "one", {"spec": spec}, "default"),
    ]
    for number in range(nodes):
        node = f"node-{number:04}"
        room = {"cpu": "64", "memory": "256Gi", "pods": "110"}
        objects.append(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": node, "labels": {"kubernetes.io/hostname": node}},
                "status": {"capacity": room, "allocatable": room},
            }
        )
        objects.append(slice_of(node, devices))
    return objects


def slice_of(node: str, devices: int) -> Tree:
    """All devices of a node."""
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    listed = [{"name": f"gpu-{number}"} for number in range(devices)]
    wanted = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": listed}
    return _object("ResourceSlice", f"{node}-gpus", wanted)


def claim(name: str) -> Tree:
    """Of one device, which nobody uses."""
    exactly = {"deviceClassName": "gpu"}
    spec = {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}
    return _object("ResourceClaim", name, spec, "default")


def _object(kind: str, name: str, spec: Tree, namespace: str = "") -> Tree:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": kind,
        "metadata": metadata,
        "spec": spec,
    }


def pod(name: str) -> Tree:
    """Wants one device, by the template."""
    container = {
        "name": "main",
        "image": "busybox",
        "resources": {"requests": {"cpu": "100m"}, "claims": [{"name": "gpu"}]},
    }
    claim = {"name": "gpu", "resourceClaimTemplateName": "one"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [container], "resourceClaims": [claim]},
    }


# --- the client ---------------------------------------------------------------------------------


@dataclass(slots=True)
class Client:
    """Makes objects, as many requests at a time as it is told, and sees Pods get bound."""

    http: Http
    _awaited: dict[str, asyncio.Future[None]] = field(default_factory=dict)

    async def follow(self) -> None:
        query = {"watch": "true", "resourceVersion": "0"}
        async for event in self.http.events(_PODS_PATH, query):
            tree = event["object"]
            if tree["spec"].get("nodeName"):
                waiting = self._awaited.pop(tree["metadata"]["name"], None)
                if waiting is not None and not waiting.done():
                    waiting.set_result(None)

    async def make(self, name: str) -> asyncio.Future[None]:
        """Make a Pod; done is what is returned once a watch has shown that it has a node."""
        waiting = self._awaited[name] = asyncio.get_running_loop().create_future()
        await self.http.fetch("POST", _PODS_PATH, body=pod(name))
        return waiting

    async def pass_through(self, name: str) -> None:
        """Make a Pod, wait until it is bound, delete it."""
        await (await self.make(name))
        await self.http.delete(Ref(PODS, "default", name), grace_s=0)

    async def burst(self, names: Sequence[str]) -> None:
        """Make Pods as fast as the server takes them, and wait until all are bound."""
        made: list[asyncio.Future[None]] = []

        async def make(name: str) -> None:
            made.append(await self.make(name))

        await each(make, names, at_once=64)
        await asyncio.gather(*made)


async def each(
    work: Callable[[Item], Coroutine[Any, Any, None]], items: Iterable[Item], at_once: int
) -> None:
    """Do it for every item, for so many at once."""
    left = iter(items)

    async def go_on() -> None:
        for item in left:
            await work(item)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(at_once):
            tasks.create_task(go_on())


@asynccontextmanager
async def client(server: Server) -> AsyncIterator[Client]:
    async with http.connected(kubeconfig.access(server.kubeconfig)) as connected:
        found = Client(connected)
        following = asyncio.create_task(found.follow())
        try:
            yield found
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)


@asynccontextmanager
async def session(server: Server) -> AsyncIterator[aiohttp.ClientSession]:
    """For more connections than a client of dibs makes."""
    access = kubeconfig.access(server.kubeconfig)
    connector = aiohttp.TCPConnector(ssl=access.tls if access.tls is not None else True, limit=0)
    async with aiohttp.ClientSession(access.server, connector=connector) as found:
        yield found
