"""What somebody who acts can do to a cluster, wherever it is: in this process, or over HTTP.

Objects are the model's; what the model has no kind for (events) is given as trees. Every write of
a whole object compares its resourceVersion: who is late gets Conflict, reads again and decides
again. Nothing here decides, and nothing here remembers (`control.mirror` does).
Source: API concepts (resourceVersion, watch, preconditions).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import msgspec

from dibs.model import kinds
from dibs.model.kinds import Kind, Known

Tree: TypeAlias = dict[str, Any]


class Ref(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """How one object is found. `namespace` is "" for what has none.

    What loops remember is by these, so they are made and looked up many times for each object.
    """

    kind: Kind
    namespace: str
    name: str

    @classmethod
    def to(cls, item: Known) -> Ref:
        kind = kinds.of(item)
        return cls(kind, item.metadata.namespace if kind.namespaced else "", item.metadata.name)

    def __str__(self) -> str:
        where = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind.name} {where}{self.name}"


@dataclass(frozen=True, slots=True)
class Change:
    """`object` is how it stands at `revision`, None when it is gone."""

    ref: Ref
    object: Known | None
    revision: int


@dataclass(frozen=True, slots=True)
class Synced:
    """All that was there has been told; what comes now is news. Whoever holds objects of this
    kind that were not among them has missed that they are gone."""

    kind: Kind
    there: frozenset[Ref]
    revision: int


class Missing(Exception):
    """There is no such object (any more)."""


class Conflict(Exception):
    """The object has changed since it was read, or is there already."""


class Forbidden(Exception):
    """The cluster refuses for a reason that trying again won't change: the message says which."""


class Unreachable(Exception):
    """No answer, or one that says to come back later."""


class Cluster(Protocol):
    """Raises Missing, Conflict, Forbidden or Unreachable, and no other exceptions."""

    def watch(self, kind: Kind) -> AsyncIterator[Change | Synced]:
        """Tell all that is there, then Synced, then every change. After a gap that can't be
        closed it begins again with all that is there. Never ends by itself."""

    async def get(self, ref: Ref) -> Known | None: ...

    async def create(self, item: Known) -> Known: ...

    async def update(self, item: Known, door: str = "") -> Known:
        """Write a whole object, or through a `door` ("status") that part of it."""

    async def update_both(self, item: Known, *, status_first: bool = False) -> Known:
        """Write an object and its status: at once where that can be done, else in two writes, of
        which the first may be all that comes about."""

    async def patch(self, ref: Ref, patch: Mapping[str, Any], door: str = "") -> Known:
        """Merge (RFC 7386); with metadata.resourceVersion or metadata.uid in it only if equal."""

    async def delete(self, ref: Ref, *, uid: str = "", grace_s: int | None = None) -> None:
        """`uid` makes sure that it is this one and not one of the same name."""

    async def bind(self, pod: Ref, uid: str, node: str) -> None:
        """Give a Pod its node (core/v1 Binding)."""

    async def report(self, event: Mapping[str, Any]) -> None:
        """Keep a core/v1 Event. It is a courtesy: that it can't be kept is told to nobody."""


async def update_in_turn(cluster: Cluster, item: Known, *, status_first: bool) -> Known:
    """`Cluster.update_both` where there is no such write."""
    first, second = ("status", "") if status_first else ("", "status")
    written = await cluster.update(item, first)
    revision = written.metadata.resource_version
    metadata = msgspec.structs.replace(item.metadata, resource_version=revision)
    return await cluster.update(msgspec.structs.replace(item, metadata=metadata), second)
