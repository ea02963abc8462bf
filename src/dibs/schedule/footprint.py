"""How much of what a node counts itself a Pod takes: CPU, memory, Pods, extended resources.

Containers run at once; an init container runs alone beside the sidecars that were started before
it. What a Pod draws through claims (KEP-5517) is in its status. Whether it fits is asked in
`room`, `natives` and `extended`.
Source: core/v1 PodSpec.resources, overhead, container resources; KEP-2837, KEP-753, KEP-5517.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dibs.model.core import (
    Container,
    NodeAllocatableResourceClaimStatus,
    Pod,
    ResourceRequirements,
)
from dibs.values.quantity import Quantity

Amounts = Mapping[str, Quantity]

ENDED = ("Succeeded", "Failed")
NOTHING: Amounts = {}
ZERO, ONE = Quantity.of(0), Quantity.of(1)
PODS = "pods"


def asked(resources: ResourceRequirements) -> Amounts:
    """The requests; a limit without one is one, as the API server fills it in."""
    return {**resources.limits, **resources.requests}


def is_sidecar(container: Container) -> bool:
    """Of an init container: it goes on running beside the later ones (KEP-753)."""
    return container.restart_policy == "Always"


def of_containers(pod: Pod) -> Amounts:
    """The most that the containers want at any one time, by resource."""
    running: Amounts = NOTHING
    peak: Amounts = NOTHING
    for container in pod.spec.init_containers:
        with_it = plus(running, asked(container.resources))
        peak = larger(peak, with_it)
        if is_sidecar(container):
            running = with_it
    for container in pod.spec.containers:
        running = plus(running, asked(container.resources))
    return larger(peak, running)


def at_pod_level(pod: Pod) -> Amounts:
    """spec.resources: where it names a resource, it is what the whole Pod may have of it."""
    return asked(pod.spec.resources) if pod.spec.resources is not None else NOTHING


def through_claims(statuses: Iterable[NodeAllocatableResourceClaimStatus]) -> Amounts:
    """What a Pod draws from its node beside its own requests."""
    total: dict[str, Quantity] = {}
    for status in statuses:
        for mapped in status.mapping:
            add(total, mapped.name, mapped.quantity or ZERO)
        count = Quantity.of(len(status.containers))
        for over in status.overhead:
            add(total, over.name, over.per_pod or ZERO)
            add(total, over.name, (over.per_container or ZERO).times(count))
    return total


def of_pod(pod: Pod) -> Amounts:
    """Everything that the Pod takes of its node, its place among the Pods too."""
    drawn = through_claims(pod.status.node_allocatable_resource_claim_statuses)
    return _taking(pod, plus(of_containers(pod), drawn))


def of_itself(pod: Pod) -> Amounts:
    """The same without what it draws through claims."""
    return _taking(pod, of_containers(pod))


def _taking(pod: Pod, amounts: Amounts) -> Amounts:
    # What is asked at Pod level covers containers and claims.
    return plus({**amounts, **at_pod_level(pod), PODS: ONE}, pod.spec.overhead)


def on_node(pod: Pod) -> tuple[str, Amounts] | None:
    """The node on which it is now, and what it takes there."""
    if not pod.spec.node_name or pod.status.phase in ENDED:
        return None
    return pod.spec.node_name, of_pod(pod)


def by_node(pods: Iterable[Pod]) -> Mapping[str, Amounts]:
    """What the Pods that are on nodes take there; what adds up to nothing is left out."""
    used: dict[str, Amounts] = {}
    for pod in pods:
        if (taking := on_node(pod)) is not None:
            node, amounts = taking
            used[node] = plus(used.get(node, NOTHING), amounts)
    nonzero = {node: without_zeros(taken) for node, taken in used.items()}
    return {node: taken for node, taken in nonzero.items() if taken}


def plus(left: Amounts, right: Amounts) -> Amounts:
    if not left or not right:
        return left or right
    total = dict(left)
    for name, amount in right.items():
        add(total, name, amount)
    return total


def minus(left: Amounts, right: Amounts) -> Amounts:
    """What is left of an amount that was there; what there is nothing of is left out."""
    total = dict(left)
    for name, amount in right.items():
        total[name] = total.get(name, ZERO).minus(amount)
    return without_zeros(total)


def without_zeros(amounts: Amounts) -> Amounts:
    if all(amount.sign() for amount in amounts.values()):
        return amounts
    return {name: amount for name, amount in amounts.items() if amount.sign()}


def add(total: dict[str, Quantity], name: str, amount: Quantity) -> None:
    total[name] = total[name].plus(amount) if name in total else amount


def larger(left: Amounts, right: Amounts) -> Amounts:
    """Name by name the larger amount."""
    most = dict(left)
    for name, amount in right.items():
        most[name] = max(most[name], amount) if name in most else amount
    return most
