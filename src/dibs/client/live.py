"""Everything that concerns devices in a cluster that answers, read once.

The running counterpart of `dump`. A kind that the cluster doesn't serve, or doesn't show to us, is
named in `absent`, and whoever decides says what that means.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dibs.client import http, kubeconfig
from dibs.client.cluster import Forbidden, Missing, Unreachable
from dibs.client.http import Http
from dibs.client.kubeconfig import Access
from dibs.model import kinds
from dibs.model.kinds import Kind, Known

# What decisions read; requests for a pool's status are no part of that.
WANTED = tuple(kind for kind in kinds.KINDS if kind.name != "ResourcePoolStatusRequest")


@dataclass(frozen=True, slots=True)
class Live:
    """`absent` says why kinds are not among the objects."""

    objects: tuple[Known, ...]
    absent: Mapping[Kind, str]


def read(path: Path, context: str = "") -> Live:
    """Read the cluster of a kubeconfig. Raises Mistake when it can't be reached."""
    access = kubeconfig.access(path, context)
    return asyncio.run(_read(access))


async def _read(access: Access) -> Live:
    async with http.connected(access) as cluster:
        answers = await asyncio.gather(*(_list(cluster, kind) for kind in WANTED))
    objects: list[Known] = []
    absent: dict[Kind, str] = {}
    for kind, answer in zip(WANTED, answers, strict=True):
        if isinstance(answer, str):
            absent[kind] = answer
        else:
            objects += answer
    return Live(tuple(objects), absent)


async def _list(cluster: Http, kind: Kind) -> tuple[Known, ...] | str:
    try:
        found, _ = await cluster.list(kind)
        return found
    except Missing:
        return "not served there"
    except Forbidden as refused:
        return str(refused)
    except Unreachable as fault:
        raise http.unreachable(cluster.server, fault) from fault
