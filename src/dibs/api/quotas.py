"""ResourceQuota: whether a new object is within what is left, and what the quota's status says.

Counted on the spot from the objects that are there, so nothing has to be kept right; the quota's
status is written in the same transaction, so that two creations can't both have the last device.
What an object is charged is `charges`'. Source: spec of ResourceQuota.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from dibs.api import charges, failures, storage
from dibs.api.calls import Call, Tree
from dibs.api.charges import PODS, Amounts
from dibs.api.plane import Plane
from dibs.store.records import Entry, Key, Put, Write
from dibs.values.quantity import Quantity

_NOTHING = Quantity.of(0)


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
    adds = _cost(plane, call.resource.qualified, tree)
    writes = (_charge(plane, call, tree, entry, adds) for entry in quotas)
    return tuple(write for write in writes if write)


def _charge(plane: Plane, call: Call, tree: Tree, entry: Entry, adds: Amounts) -> Write | None:
    quota = plane.reader.tree(entry)
    hard = _hard(quota)
    name, new = quota["metadata"]["name"], tree["metadata"].get("name", "")
    if call.resource.qualified == PODS and (missing := list(charges.unnamed(tree, hard))):
        told = "; ".join(f"{what} for: {container}" for what, container in missing)
        raise failures.forbidden(call.resource, new, f"failed quota: {name}: must specify {told}")
    concerned = sorted(each for each in adds if each in hard and adds[each] != _NOTHING)
    if not concerned:
        return None
    used = _used(plane, call.namespace, hard)
    after = {each: used.get(each, _NOTHING).plus(adds[each]) for each in concerned}
    over = [each for each in concerned if after[each] > hard[each]]
    if over:
        raise failures.forbidden(
            call.resource,
            new,
            f"exceeded quota: {name}, requested: {_told(over, adds)}, "
            f"used: {_told(over, used)}, limited: {_told(over, hard)}",
        )
    return _put(entry, quota, hard, {**used, **after})


def _told(names: Iterable[str], amounts: Amounts) -> str:
    return ",".join(f"{name}={amounts.get(name, _NOTHING)}" for name in names)


def credited(plane: Plane, namespace: str, resource: str, tree: Tree) -> tuple[Write, ...]:
    """Return the writes of quotas that no longer count an object, which is being deleted."""
    quotas = plane.store.page("resourcequotas", namespace).entries if namespace else ()
    if not quotas:
        return ()
    gone = _cost(plane, resource, tree)
    writes: list[Write] = []
    for entry in quotas:
        quota = plane.reader.tree(entry)
        hard = _hard(quota)
        if any(name in hard for name in gone) and entry.key.name != _deleted_quota(resource, tree):
            used = _used(plane, namespace, hard)
            left = {name: amount.minus(gone.get(name, _NOTHING)) for name, amount in used.items()}
            writes.append(_put(entry, quota, hard, left))
    return tuple(writes)


def _deleted_quota(resource: str, tree: Tree) -> str:
    """A quota that is itself deleted is not written as well."""
    return str(tree["metadata"]["name"]) if resource == "resourcequotas" else ""


def first_status(plane: Plane, namespace: str, quota: Tree) -> Tree:
    """Return a new quota with what is used already."""
    hard = _hard(quota)
    return {**quota, "status": _status(quota, hard, _used(plane, namespace, hard))}


def _put(entry: Entry, quota: Tree, hard: Amounts, used: Amounts) -> Write:
    told = {**quota, "status": _status(quota, hard, used)}
    return Put(entry.key, storage.to_bytes(told), entry.mod_revision)


def _status(quota: Tree, hard: Amounts, used: Amounts) -> Tree:
    return {
        "hard": (quota.get("spec") or {}).get("hard") or {},
        "used": {
            name: str(max(_NOTHING, used.get(name, _NOTHING)))
            for name in hard
            if charges.is_counted(name)
        },
    }


def _hard(quota: Tree) -> Amounts:
    limits = (quota.get("spec") or {}).get("hard") or {}
    return {name: Quantity.parse(str(amount)) for name, amount in limits.items()}


def _used(plane: Plane, namespace: str, hard: Amounts) -> Amounts:
    """Return what the objects of a namespace use of each name that a quota limits."""
    used: dict[str, Quantity] = {}
    for resource in charges.resources_of(hard):
        for entry in plane.store.page(resource, namespace).entries:
            for name, amount in _cost(plane, resource, plane.reader.tree(entry)).items():
                if name in hard:
                    used[name] = used[name].plus(amount) if name in used else amount
    return used


def _cost(plane: Plane, resource: str, tree: Tree) -> Amounts:
    def extended_name(device_class: str) -> str | None:
        entry = plane.store.get(Key("deviceclasses.resource.k8s.io", "", device_class))
        spec = plane.reader.tree(entry).get("spec") if entry else None
        name: str | None = (spec or {}).get("extendedResourceName")
        return name

    return charges.of(resource, tree, extended_name)
