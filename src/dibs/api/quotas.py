"""ResourceQuota for claims and devices: what a new object is charged, against what is left.

Counted on the spot from the objects that are there, so nothing has to be kept right; the quota's
status is written in the same transaction, so that two creations can't both have the last device.
Source: spec of ResourceQuota; KEP-4381 (count/, devices of a class), KEP-5004 (extended resources).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

from dibs.api import failures, storage
from dibs.api.calls import Call, Tree
from dibs.api.plane import Plane
from dibs.store.records import Entry, Put, Write
from dibs.values.quantity import Quantity

CLAIMS = "resourceclaims.resource.k8s.io"
_DEVICES = ".deviceclass.resource.k8s.io/devices"
# A request for all devices may get as many as an allocation can hold.
_MOST_RESULTS = 32


@asynccontextmanager
async def turn(plane: Plane, namespace: str) -> AsyncIterator[None]:
    """Where there are quotas, objects are created one after the other: all write the quota."""
    if not namespace or not plane.store.count("resourcequotas", namespace):
        yield
        return
    lock = plane.turns.get(namespace)
    if lock is None:
        lock = plane.turns[namespace] = asyncio.Lock()
    async with lock:
        yield


def charged(plane: Plane, call: Call, tree: Tree) -> tuple[Write, ...]:
    """Return the writes of quotas that count the new object. Raises Failure (403)."""
    if not call.resource.namespaced:
        return ()
    quotas = plane.store.page("resourcequotas", call.namespace).entries
    if not quotas:
        return ()
    name = call.resource.qualified
    adds = cost(name, tree)
    writes = (_charge(plane, call, tree, entry, adds) for entry in quotas)
    return tuple(write for write in writes if write)


def _charge(plane: Plane, call: Call, tree: Tree, entry: Entry, adds: Counter[str]) -> Write | None:
    quota = plane.reader.tree(entry)
    hard = hard_of(quota)
    concerned = sorted(name for name in adds if name in hard and adds[name])
    if not concerned:
        return None
    used = used_in(plane, call.namespace, hard)
    over = [name for name in concerned if Quantity.of(used[name] + adds[name]) > hard[name]]
    if over:
        raise failures.forbidden(
            call.resource,
            tree["metadata"].get("name", ""),
            f"exceeded quota: {quota['metadata']['name']}, "
            f"requested: {_amounts(over, adds)}, used: {_amounts(over, used)}, "
            f"limited: {','.join(f'{name}={hard[name].as_written}' for name in over)}",
        )
    total = used + Counter({name: adds[name] for name in concerned})
    return _told(entry, quota, hard, total)


def credited(plane: Plane, namespace: str, resource: str, tree: Tree) -> tuple[Write, ...]:
    """Return the writes of quotas that no longer count an object, which is being deleted."""
    quotas = plane.store.page("resourcequotas", namespace).entries if namespace else ()
    gone = cost(resource, tree)
    writes: list[Write] = []
    for entry in quotas:
        quota = plane.reader.tree(entry)
        hard = hard_of(quota)
        if not any(name in hard for name in gone):
            continue
        used = used_in(plane, namespace, hard)
        used.subtract(gone)
        writes.append(_told(entry, quota, hard, used))
    return tuple(writes)


def first_status(plane: Plane, namespace: str, quota: Tree) -> Tree:
    """Return a new or changed quota with what is used already."""
    hard = hard_of(quota)
    return {**quota, "status": _status(quota, hard, used_in(plane, namespace, hard))}


def hard_of(quota: Tree) -> dict[str, Quantity]:
    limits = (quota.get("spec") or {}).get("hard") or {}
    return {name: Quantity.parse(str(amount)) for name, amount in limits.items()}


def _told(entry: Entry, quota: Tree, hard: dict[str, Quantity], used: Counter[str]) -> Write:
    told = {**quota, "status": _status(quota, hard, used)}
    return Put(entry.key, storage.to_bytes(told), entry.mod_revision)


def _status(quota: Tree, hard: dict[str, Quantity], used: Counter[str]) -> Tree:
    return {
        "hard": (quota.get("spec") or {}).get("hard") or {},
        "used": {name: str(max(0, used[name])) for name in hard if _is_ours(name)},
    }


def _amounts(names: list[str], amounts: Counter[str]) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in names)


def used_in(plane: Plane, namespace: str, hard: dict[str, Quantity]) -> Counter[str]:
    """Return what the objects of a namespace use of each name that a quota limits."""
    used: Counter[str] = Counter()
    for resource in _counted(hard):
        for entry in plane.store.page(resource, namespace).entries:
            used += cost(resource, plane.reader.tree(entry))
    return used


def _counted(hard: dict[str, Quantity]) -> Iterator[str]:
    """The resources that must be counted for these limits."""
    found = {CLAIMS for name in hard if name.endswith(_DEVICES)}
    found |= {name.removeprefix("count/") for name in hard if name.startswith("count/")}
    if "pods" in hard:
        found.add("pods")
    yield from sorted(found)


def _is_ours(name: str) -> bool:
    return name.endswith(_DEVICES) or name.startswith("count/") or name == "pods"


def cost(resource: str, tree: Tree) -> Counter[str]:
    """Return what one object is charged by name of the quota."""
    found = Counter({f"count/{resource}": 1})
    if resource == "pods":
        found["pods"] = 1
    if resource == CLAIMS:
        for request in ((tree.get("spec") or {}).get("devices") or {}).get("requests") or ():
            for name, count in _wanted(request).items():
                found[f"{name}{_DEVICES}"] += count
    return found


def _wanted(request: Tree) -> Counter[str]:
    """Devices by class. Of alternatives each class is charged the most that one of them takes."""
    asks = [request["exactly"]] if request.get("exactly") else request.get("firstAvailable") or []
    most: Counter[str] = Counter()
    for ask in asks:
        is_all = ask.get("allocationMode") == "All"
        count = _MOST_RESULTS if is_all else int(ask.get("count") or 1)
        most |= Counter({ask.get("deviceClassName", ""): count})
    return most
