"""Looks over the shoulder of a control plane: what must be so after every write, and at rest.

It counts for itself, from stored objects alone, and knows nothing of pools and ledgers: what it
checks is not asked to check itself. Faults are returned as sentences.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from dibs.api import storage
from dibs.api.calls import Tree
from dibs.store.records import Event, Key

CLAIMS = "resourceclaims.resource.k8s.io"
GROUPS = "podgroups.scheduling.k8s.io"
FINALIZER = "resource.kubernetes.io/delete-protection"
Device = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Limits:
    """What shares of a device, by its name, may add up to; and what devices draw of the one
    counter that each pool of their driver has."""

    shares: dict[str, int] = field(default_factory=dict)
    draws: dict[str, int] = field(default_factory=dict)
    counter: int = 0


@dataclass(slots=True)
class Audit:
    """Told of every event in order; keeps how Pods and claims stand."""

    limits: Limits
    pods: dict[Key, Tree] = field(default_factory=dict)
    claims: dict[Key, Tree] = field(default_factory=dict)
    # Which claims hold something of a device.
    holders: dict[Device, dict[Key, list[Tree]]] = field(default_factory=dict)
    given: int = 0
    bound: int = 0

    def see(self, event: Event) -> list[str]:
        """What is wrong after this event, that wasn't before."""
        tree = storage.tree_of(event.after) if event.after else None
        match event.key.resource:
            case "pods":
                return list(self._see_pod(event.key, tree))
            case "resourceclaims.resource.k8s.io":
                return list(self._see_claim(event.key, tree))
        return []

    def _see_pod(self, key: Key, tree: Tree | None) -> Iterator[str]:
        before = self.pods.pop(key, None)
        if tree is None:
            return
        self.pods[key] = tree
        was_there = before is not None and before["spec"].get("nodeName")
        if before is not None and tree["spec"].get("nodeName") and not was_there:
            self.bound += 1
            yield from self._bound(key, tree)

    def _bound(self, key: Key, pod: Tree) -> Iterator[str]:
        node = pod["spec"]["nodeName"]
        for name in claim_names(pod):
            claim = self.claims.get(Key(CLAIMS, key.namespace, name))
            if claim is None:
                yield f"{key} is bound without its claim {name}"
                continue
            if not results_of(claim):
                yield f"{key} is bound, its claim {name} has no devices"
            if not is_reserved(claim, pod):
                yield f"{key} is bound, its claim {name} is not reserved for it"
            for result in results_of(claim):
                if result["pool"] != node:
                    yield f"{key} is bound to {node}, its device {result['device']} is elsewhere"
                for wanted in result.get("bindingConditions") or ():
                    if not has_condition(claim, result, wanted):
                        yield f"{key} is bound before {result['device']} is {wanted}"
        asked = {each["name"] for each in pod["spec"].get("resourceClaims") or ()}
        told = {each["name"] for each in (pod["status"].get("resourceClaimStatuses") or ())}
        made = {
            each["name"]
            for each in pod["spec"].get("resourceClaims") or ()
            if each.get("resourceClaimTemplateName")
        }
        if made & asked - told:
            yield f"{key} is bound, its status doesn't name the claims of {sorted(made - told)}"

    def _see_claim(self, key: Key, tree: Tree | None) -> Iterator[str]:
        before = self.claims.pop(key, None)
        if tree is not None:
            self.claims[key] = tree
        if before is not None:
            yield from self._taken(key, before, tree)
            for result in results_of(before):
                self.holders[_device(result)].pop(key, None)
        if tree is None:
            return
        self.given += before is not None and not results_of(before) and bool(results_of(tree))
        for result in results_of(tree):
            if not result.get("adminAccess"):
                self.holders.setdefault(_device(result), {}).setdefault(key, []).append(result)
        for device in {_device(result): None for result in results_of(tree)}:
            yield from self._over(device)

    def _taken(self, key: Key, before: Tree, after: Tree | None) -> Iterator[str]:
        """Nobody's devices go while it runs on them."""
        if not results_of(before) or (after is not None and results_of(after)):
            return
        for pod_key, pod in self.pods.items():
            if (
                pod_key.namespace == key.namespace
                and pod["spec"].get("nodeName")
                and not is_over(pod)
                and key.name in claim_names(pod)
                and is_reserved(before, pod)
            ):
                yield f"{key} gives up its devices, {pod_key} is on them"

    def _over(self, device: Device) -> Iterator[str]:
        held = self.holders.get(device, {})
        results = [each for found in held.values() for each in found]
        _, pool, name = device
        if name in self.limits.shares:
            used = sum(
                int(amount)
                for each in results
                for amount in (each.get("consumedCapacity") or {}).values()
            )
            if used > self.limits.shares[name]:
                yield f"{device}: {used} of {self.limits.shares[name]} are given away"
            if not all(each.get("shareID") for each in results):
                yield f"{device}: a share has no id"
        elif len(results) > 1:
            yield f"{device} is held by {sorted(map(str, held))}"
        if name in self.limits.draws:
            drawn = sum(
                self.limits.draws[other] * bool(found)
                for (driver, at, other), found in self.holders.items()
                if (driver, at) == (device[0], pool)
            )
            if drawn > self.limits.counter:
                yield f"pool {pool}: {drawn} of {self.limits.counter} are drawn"

    # --- at rest ------------------------------------------------------------------------------

    def rest(self) -> list[str]:
        """What is wrong when nothing happens any more."""
        return [*self._claims_at_rest(), *self._pods_at_rest()]

    def _claims_at_rest(self) -> Iterator[str]:
        uids = {pod["metadata"]["uid"]: pod for pod in self.pods.values()}
        for key, claim in self.claims.items():
            metadata = claim["metadata"]
            consumers = (claim.get("status") or {}).get("reservedFor") or ()
            living = [
                each
                for each in consumers
                if each["resource"] != "pods"
                or (each["uid"] in uids and not is_over(uids[each["uid"]]))
            ]
            if len(living) != len(consumers):
                yield f"{key} is reserved for Pods that are gone: {consumers}"
            if results_of(claim) and not consumers:
                yield f"{key} has devices and nobody uses it"
            if not results_of(claim) and FINALIZER in (metadata.get("finalizers") or ()):
                yield f"{key} has no devices, but a finalizer"
            if not results_of(claim) and consumers:
                yield f"{key} is reserved and has no devices"
            on_nodes = [
                each
                for each in living
                if each["resource"] != "pods" or uids[each["uid"]]["spec"].get("nodeName")
            ]
            if consumers and not on_nodes:
                yield f"{key} has devices for Pods that wait: {consumers}"
            if metadata.get("deletionTimestamp") and not consumers:
                yield f"{key} is being deleted for ever"
            for owner in metadata.get("ownerReferences") or ():
                if owner["kind"] == "Pod" and owner["uid"] not in uids:
                    yield f"{key} has outlived its Pod {owner['name']}"

    def _pods_at_rest(self) -> Iterator[str]:
        for key, pod in self.pods.items():
            if pod["metadata"].get("deletionTimestamp"):
                yield f"{key} is being deleted for ever"
            if pod["spec"].get("nodeName") or is_over(pod):
                continue
            told = [
                each
                for each in pod["status"].get("conditions") or ()
                if each["type"] == "PodScheduled"
            ]
            if not told or told[0]["status"] != "False" or not told[0].get("reason"):
                yield f"{key} waits and isn't told why: {told}"


def claim_names(pod: Tree) -> list[str]:
    status = pod.get("status") or {}
    names = [each.get("resourceClaimName") for each in pod["spec"].get("resourceClaims") or ()]
    names += [each.get("resourceClaimName") for each in status.get("resourceClaimStatuses") or ()]
    names.append((status.get("extendedResourceClaimStatus") or {}).get("resourceClaimName"))
    return [name for name in names if name]


def results_of(claim: Tree) -> list[Tree]:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    return list((allocation.get("devices") or {}).get("results") or ())


def is_reserved(claim: Tree, pod: Tree) -> bool:
    group = (pod["spec"].get("schedulingGroup") or {}).get("podGroupName")
    return any(
        each["uid"] == pod["metadata"]["uid"]
        or (each["resource"] == "podgroups" and each["name"] == group)
        for each in (claim.get("status") or {}).get("reservedFor") or ()
    )


def is_over(pod: Tree) -> bool:
    return pod["status"].get("phase") in ("Succeeded", "Failed")


def has_condition(claim: Tree, result: Tree, wanted: str) -> bool:
    return any(
        condition["type"] == wanted and condition["status"] == "True"
        for device in (claim.get("status") or {}).get("devices") or ()
        if _device(device) == _device(result)
        for condition in device.get("conditions") or ()
    )


def _device(result: Tree) -> Device:
    return (result["driver"], result["pool"], result["device"])
