"""A cluster over HTTP: `cluster.Cluster` for a real API server or another process's `dibs up`.

Objects are read and written in the newest version that the model has of their kind. A watch goes
on through broken connections, and begins again where the server has forgotten too much.
Source: Kubernetes API concepts; stack of choice: aiohttp (design document 001).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import msgspec

from dibs.client import cluster
from dibs.client.cluster import Change, Conflict, Forbidden, Missing, Ref, Synced, Tree, Unreachable
from dibs.client.kubeconfig import Access
from dibs.model import codec
from dibs.model.kinds import Kind, Known
from dibs.values.mistake import Mistake

AGENT = "dibs"
PAGE = 500
# A server that is silent for longer than its bookmarks come has gone away.
SILENCE_S = 180.0
ANSWER_S = 60.0
RETRY_S = 1.0
# One object is at most 3 MiB; an event of a watch has it once.
MAX_LINE = 16 * 1024 * 1024
MERGE = "application/merge-patch+json"


class _Gone(Unreachable):
    """The revision that was asked for is forgotten (410): ask anew."""


@dataclass(frozen=True, slots=True)
class Http:
    """Made by `connected`."""

    session: aiohttp.ClientSession
    server: str

    # --- what everybody may ask ------------------------------------------------------------------

    async def fetch(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object = None,
        content: str = "application/json",
        accept: str = "application/json",
    ) -> Tree:
        """One request and its answer. Raises Missing, Conflict, Forbidden, Unreachable."""
        data = None if body is None else msgspec.json.encode(body)
        headers = {"Accept": accept}
        if data is not None:
            headers["Content-Type"] = content
        try:
            async with self.session.request(
                method, self.server + path, params=query, data=data, headers=headers
            ) as response:
                return _read(response.status, await response.read())
        except (aiohttp.ClientError, TimeoutError, OSError) as fault:
            raise Unreachable(f"{self.server}: {_why(fault)}") from fault

    async def found(self, path: str) -> Tree | None:
        """The object at a path, None when there is none."""
        try:
            return await self.fetch("GET", path)
        except Missing:
            return None

    async def text(self, path: str, query: Mapping[str, str] | None = None) -> str:
        """An answer that is no JSON, such as logs."""
        try:
            async with self.session.get(self.server + path, params=query) as response:
                raw = await response.read()
                if response.status >= 400:
                    _read(response.status, raw)
                return raw.decode(errors="replace")
        except (aiohttp.ClientError, TimeoutError, OSError) as fault:
            raise Unreachable(f"{self.server}: {_why(fault)}") from fault

    async def list(self, kind: Kind) -> tuple[tuple[Known, ...], str]:
        """Everything of a kind, page by page, and the revision it is of."""
        found: list[Known] = []
        revision, more = "", ""
        while True:
            query = {"limit": str(PAGE), **({"continue": more} if more else {})}
            tree = await self.fetch("GET", _path(kind), query=query)
            for item in tree.get("items") or ():
                found.append(_object(item, kind))
            metadata = tree.get("metadata") or {}
            revision = revision or str(metadata.get("resourceVersion", ""))
            more = str(metadata.get("continue") or "")
            if not more:
                return tuple(found), revision

    # --- cluster.Cluster -------------------------------------------------------------------------

    async def watch(self, kind: Kind) -> AsyncIterator[Change | Synced]:
        while True:
            try:
                items, revision = await self.list(kind)
                for item in items:
                    yield Change(Ref.to(item), item, int(item.metadata.resource_version))
                there = frozenset(map(Ref.to, items))
                yield Synced(kind, there, int(revision))
                async for change in self._changes(kind, revision):
                    yield change
            except Unreachable:
                await asyncio.sleep(RETRY_S)

    async def _changes(self, kind: Kind, revision: str) -> AsyncIterator[Change]:
        """Raises _Gone when it can't go on from where it was."""
        while True:
            query = {"watch": "true", "resourceVersion": revision, "allowWatchBookmarks": "true"}
            try:
                async for event in self.events(_path(kind), query):
                    tree = event["object"]
                    if event["type"] == "ERROR":
                        if tree.get("code") == 410:
                            raise _Gone(str(tree.get("message")))
                        raise Unreachable(str(tree.get("message")))
                    revision = str(tree["metadata"]["resourceVersion"])
                    if event["type"] != "BOOKMARK":
                        item = _object(tree, kind)
                        is_gone = event["type"] == "DELETED"
                        yield Change(Ref.to(item), None if is_gone else item, int(revision))
            except _Gone:
                raise
            except Unreachable:
                pass
            # Also a server that ends every watch at once is not asked all the time.
            await asyncio.sleep(RETRY_S)

    async def events(
        self, path: str, query: Mapping[str, str], accept: str = "application/json"
    ) -> AsyncIterator[Tree]:
        """The events of one watch, until the server ends it. Raises what `fetch` does."""
        timeout = aiohttp.ClientTimeout(total=None, sock_read=SILENCE_S)
        try:
            async with self.session.get(
                self.server + path, params=query, timeout=timeout, headers={"Accept": accept}
            ) as response:
                if response.status >= 400:
                    _read(response.status, await response.read())
                async for line in response.content:
                    if line.strip():
                        yield msgspec.json.decode(line, type=dict)
        except (aiohttp.ClientError, TimeoutError, OSError, msgspec.DecodeError) as fault:
            raise Unreachable(f"{self.server}: {_why(fault)}") from fault

    async def get(self, ref: Ref) -> Known | None:
        try:
            return _object(await self.fetch("GET", _path_of(ref)), ref.kind)
        except Missing:
            return None

    async def create(self, item: Known) -> Known:
        ref = Ref.to(item)
        tree = await self.fetch("POST", _path(ref.kind, ref.namespace), body=codec.encode(item))
        return _object(tree, ref.kind)

    async def update(self, item: Known, door: str = "") -> Known:
        ref = Ref.to(item)
        tree = await self.fetch("PUT", _path_of(ref, door), body=codec.encode(item))
        return _object(tree, ref.kind)

    async def update_both(self, item: Known, *, status_first: bool = False) -> Known:
        return await cluster.update_in_turn(self, item, status_first=status_first)

    async def patch(self, ref: Ref, patch: Mapping[str, Any], door: str = "") -> Known:
        tree = await self.fetch("PATCH", _path_of(ref, door), body=patch, content=MERGE)
        return _object(tree, ref.kind)

    async def delete(self, ref: Ref, *, uid: str = "", grace_s: int | None = None) -> None:
        body: Tree = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if uid:
            body["preconditions"] = {"uid": uid}
        if grace_s is not None:
            body["gracePeriodSeconds"] = grace_s
        await self.fetch("DELETE", _path_of(ref), body=body)

    async def bind(self, pod: Ref, uid: str, node: str) -> None:
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        await self.fetch("POST", _path_of(pod, "binding"), body=body)

    async def report(self, event: Mapping[str, Any]) -> None:
        namespace = event["metadata"]["namespace"]
        body = {"apiVersion": "v1", "kind": "Event", **event}
        try:
            await self.fetch("POST", f"/api/v1/namespaces/{namespace}/events", body=body)
        except (Missing, Conflict, Forbidden, Unreachable):
            return


@asynccontextmanager
async def connected(access: Access) -> AsyncIterator[Http]:
    """A connection to a cluster until the block ends; nothing is asked yet."""
    headers = {"User-Agent": AGENT}
    if access.token:
        headers["Authorization"] = f"Bearer {access.token}"
    connector = aiohttp.TCPConnector(ssl=access.tls if access.tls is not None else True)
    async with aiohttp.ClientSession(
        connector=connector,
        headers=headers,
        timeout=aiohttp.ClientTimeout(total=ANSWER_S),
        read_bufsize=MAX_LINE // 2,
    ) as session:
        yield Http(session, access.server)


def unreachable(server: str, fault: Unreachable) -> Mistake:
    """What a user is told who asked for an answer from there."""
    return Mistake(
        f"can't be reached: {fault}",
        path=server,
        remedy="see that it runs, and that KUBECONFIG names the right cluster",
    )


def _read(status: int, raw: bytes) -> Tree:
    try:
        tree = msgspec.json.decode(raw, type=dict) if raw else {}
    except msgspec.DecodeError:
        tree = {"message": raw[:200].decode(errors="replace")}
    if status < 400:
        return tree
    message = str(tree.get("message") or f"the server answers {status}")
    if status == 404:
        raise Missing(message)
    if status == 409:
        raise Conflict(message)
    if status == 410:
        raise _Gone(message)
    if status == 429 or status >= 500:
        raise Unreachable(message)
    raise Forbidden(message)


def _why(fault: BaseException) -> str:
    if isinstance(fault, TimeoutError):
        return f"no answer for {ANSWER_S:g} s"
    return str(fault) or type(fault).__name__


def _path(kind: Kind, namespace: str = "") -> str:
    version = kind.versions[0]
    root = f"/apis/{kind.group}/{version}" if kind.group else f"/api/{version}"
    inside = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{inside}/{kind.plural}"


def _path_of(ref: Ref, door: str = "") -> str:
    return f"{_path(ref.kind, ref.namespace)}/{ref.name}" + (f"/{door}" if door else "")


def _object(tree: object, kind: Kind) -> Known:
    """Items of a list don't say of which kind they are."""
    decoded = codec.decode(tree, api_version=kind.api_version(kind.versions[0]), kind=kind.name)
    if decoded.object is None:
        raise Unreachable(f"the server answers with what is no {kind.name}")
    return decoded.object
