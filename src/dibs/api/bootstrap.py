"""What must be there before the first request: the namespaces that every cluster has.

Asked for at each start; what is there already is left alone.
"""

from __future__ import annotations

from dibs.api import failures, kinds, writes
from dibs.api.calls import Call, WriteOptions
from dibs.api.plane import Plane

NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")


async def ensure(plane: Plane) -> None:
    """Create what is missing."""
    namespaces = kinds.find("", "v1", "namespaces")
    accounts = kinds.find("", "v1", "serviceaccounts")
    assert namespaces
    assert accounts
    for name in NAMESPACES:
        call = Call("create", namespaces, "v1")
        await _create(plane, call, name)
    await _create(plane, Call("create", accounts, "v1", "default"), "default")


async def _create(plane: Plane, call: Call, name: str) -> None:
    try:
        await writes.create(plane, call, {"metadata": {"name": name}}, WriteOptions())
    except failures.Failure as failure:
        if failure.reason != "AlreadyExists":
            raise
