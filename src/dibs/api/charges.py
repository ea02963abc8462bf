"""What one object is charged by the names of a quota: itself, its devices, its cpu and memory.

Trees in, amounts out; what is left of a quota is `quotas`'. A claim that the scheduler made for the
extended resources of a Pod isn't charged for what the Pod is charged for already.
Source: ResourceQuota; KEP-4381 (devices of a class), KEP-5004 (extended resources).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from dibs.api import pods
from dibs.api.calls import Tree
from dibs.values.quantity import Quantity

CLAIMS = "resourceclaims.resource.k8s.io"
PODS = "pods"
Amounts = Mapping[str, Quantity]
# The extended resource name that a class was given, if any.
NameOf = Callable[[str], str | None]

_DEVICES = ".deviceclass.resource.k8s.io/devices"
_IMPLICIT = "deviceclass.resource.kubernetes.io/"
OF_EXTENDED = "resource.kubernetes.io/extended-resource-claim"
# A request for all devices may get as many as an allocation can hold.
_MOST_RESULTS = 32
# What may be limited without saying requests. or limits.; and what each container must then name.
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_MUST_NAME = {
    prefix + name: (which, name)
    for name in ("cpu", "memory")
    for prefix, which in (("", "requests"), ("requests.", "requests"), ("limits.", "limits"))
}


def is_counted(name: str) -> bool:
    """Whether we know what a name of a quota is about."""
    return bool(tuple(resources_of([name])))


def resources_of(names: Iterable[str]) -> Iterator[str]:
    """Yield the resources whose objects are charged under these names."""
    found: set[str] = set()
    for name in names:
        if name.endswith(_DEVICES):
            found.add(CLAIMS)
        elif name.startswith("count/"):
            found.add(name.removeprefix("count/"))
        elif name == PODS or name in _COMPUTE or name.startswith("limits."):
            found.add(PODS)
        elif name.startswith("requests."):
            # A class may have an extended resource name, and a Pod may ask for it.
            found |= {PODS, CLAIMS}
    yield from sorted(found)


def of(resource: str, tree: Tree, name_of: NameOf) -> Amounts:
    charges: dict[str, Quantity] = {f"count/{resource}": Quantity.of(1)}
    if resource == PODS and not pods.is_finished(tree):
        charges[PODS] = Quantity.of(1)
        for which in ("requests", "limits"):
            for name, amount in _of_pod(tree.get("spec") or {}, which).items():
                charges[f"{which}.{name}"] = amount
                if which == "requests" and name in _COMPUTE:
                    charges[name] = amount
    elif resource == CLAIMS:
        for name, count in _of_claim(tree, name_of):
            charges[name] = charges.get(name, Quantity.of(0)).plus(count)
    return charges


def unnamed(tree: Tree, limits: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield what a container of a Pod must ask for under these limits, and doesn't: name and
    container."""
    spec = tree.get("spec") or {}
    for name in sorted(set(limits) & _MUST_NAME.keys()):
        which, amount = _MUST_NAME[name]
        for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
            if amount not in _amounts(container, which):
                yield name, container.get("name", "")


# --- Pods -----------------------------------------------------------------------------------------


def _of_pod(spec: Tree, which: str) -> dict[str, Quantity]:
    """Containers run together, init containers one by one before; sidecars beside them all."""
    total: dict[str, Quantity] = {}
    for container in spec.get("containers") or ():
        _add(total, _amounts(container, which))
    peak: dict[str, Quantity] = {}
    beside: dict[str, Quantity] = {}
    for container in spec.get("initContainers") or ():
        asked = _amounts(container, which)
        if container.get("restartPolicy") == "Always":
            _add(beside, asked)
            asked = {}
        now = dict(beside)
        _add(now, asked)
        for name, amount in now.items():
            peak[name] = max(peak.get(name, amount), amount)
    _add(total, beside)
    return {
        name: max(amounts)
        for name in total.keys() | peak.keys()
        if (amounts := [each[name] for each in (total, peak) if name in each])
    }


def _amounts(container: Tree, which: str) -> dict[str, Quantity]:
    found: Mapping[str, Any] = (container.get("resources") or {}).get(which) or {}
    return {name: Quantity.parse(str(amount)) for name, amount in found.items()}


def _add(total: dict[str, Quantity], amounts: Amounts) -> None:
    for name, amount in amounts.items():
        total[name] = total[name].plus(amount) if name in total else amount


# --- claims ---------------------------------------------------------------------------------------


def _of_claim(claim: Tree, name_of: NameOf) -> Iterator[tuple[str, int]]:
    annotations = (claim.get("metadata") or {}).get("annotations") or {}
    is_of_pod = annotations.get(OF_EXTENDED) == "true"
    for request in ((claim.get("spec") or {}).get("devices") or {}).get("requests") or ():
        for name, count in _most(request).items():
            yield f"{name}{_DEVICES}", count
            if is_of_pod:
                continue
            yield f"requests.{_IMPLICIT}{name}", count
            if extended := name_of(name):
                yield f"requests.{extended}", count


def _most(request: Tree) -> dict[str, int]:
    """Devices by class. Of alternatives each class is charged the most that one of them takes."""
    asks = [request["exactly"]] if request.get("exactly") else request.get("firstAvailable") or []
    most: dict[str, int] = {}
    for ask in asks:
        is_all = ask.get("allocationMode") == "All"
        count = _MOST_RESULTS if is_all else int(ask.get("count") or 1)
        name = ask.get("deviceClassName", "")
        most[name] = max(most.get(name, 0), count)
    return most
