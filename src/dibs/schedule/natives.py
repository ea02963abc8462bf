"""CPU and memory that a Pod draws from its node through claims: what is left, and what it took.

Of the node's allocatable amounts go what its Pods have, what the Pod's containers ask for, and
what the Pod draws through claims that are allocated already; the rest may be drawn by devices that
are still to be chosen (`allocate`). Where the Pod limits itself (spec.resources), that counts.
Source: KEP-5517; PodStatus.nodeAllocatableResourceClaimStatuses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dibs.allocate.spare import Allowance, Spare, mapped
from dibs.model.core import (
    ContainerExtendedResourceRequest,
    Node,
    NodeAllocatableMappedAmount,
    NodeAllocatableOverheadAmount,
    NodeAllocatableResourceClaimStatus,
    Pod,
)
from dibs.model.objects import Device, DeviceRequestAllocationResult, ResourceClaim
from dibs.schedule import footprint, groups, ids
from dibs.schedule.footprint import NOTHING, ZERO, Amounts
from dibs.schedule.plan import ClaimUse, Objection
from dibs.schedule.snapshot import Key, key_of
from dibs.schedule.state import State
from dibs.supply.identity import DeviceId
from dibs.values.quantity import Quantity


@dataclass(frozen=True, slots=True)
class Needs:
    """What a Pod takes of any node: `own` by its containers, `pinned` through claims that are
    allocated, `limits` what it limits itself to, `overhead` beside all that.
    """

    own: Amounts = field(default_factory=dict)
    pinned: Amounts = field(default_factory=dict)
    limits: Amounts = field(default_factory=dict)
    overhead: Amounts = field(default_factory=dict)

    @classmethod
    def of(cls, pod: Pod | None, uses: Sequence[ClaimUse], state: State) -> Needs:
        if pod is None or not state.natives:
            return cls()
        held = footprint.through_claims(statuses(pod, uses, state))
        limits = footprint.at_pod_level(pod)
        return cls(footprint.of_containers(pod), held, limits, pod.spec.overhead)


def spare(needs: Needs, node: Node, state: State, containers: Sequence[int]) -> Spare | None:
    """What is left for devices; `containers` says how many of them refer to each open claim."""
    if not state.natives:
        return None
    return Spare(allowances(needs, node, state), containers)


def objection(needs: Needs, node: Node, state: State) -> Objection | None:
    """Whether what the Pod draws through claims that are allocated is too much for the node."""
    if not needs.pinned:
        return None
    for name, allowance in allowances(needs, node, state).items():
        drawn = needs.pinned.get(name, ZERO)
        if drawn > ZERO and allowance.left < ZERO:
            text = f"its allocated claims draw {drawn} of {name}, and that is too much"
            before = allowance._replace(left=allowance.left.plus(drawn))
            return Objection("node resources", text, detail=str(before))
    return None


def allowances(needs: Needs, node: Node, state: State) -> Mapping[str, Allowance]:
    used = state.used.get(node.metadata.name, NOTHING)
    found: dict[str, Allowance] = {}
    for name in sorted(state.natives):
        taken = needs.own.get(name, ZERO).plus(needs.pinned.get(name, ZERO))
        limit = needs.limits.get(name)
        if limit is not None:
            found[name] = Allowance(limit.minus(taken), limit, of_pod=True)
        # A node about which nothing is known may have any amount.
        if node.status.allocatable:
            total = node.status.allocatable.get(name, ZERO)
            rest = total.minus(used.get(name, ZERO)).minus(needs.overhead.get(name, ZERO))
            if limit is None:
                found[name] = Allowance(rest.minus(taken), total)
            elif limit > rest:
                # What the Pod has to itself must be there, whatever of it is drawn.
                found[name] = Allowance(rest.minus(limit), total)
    return found


# --- what is drawn ------------------------------------------------------------------------------


def statuses(
    pod: Pod, uses: Iterable[ClaimUse], state: State
) -> tuple[NodeAllocatableResourceClaimStatus, ...]:
    """What the Pod draws through each allocated claim, as its status has it, by claim name."""
    if not state.natives:
        return ()
    everything = tuple(uses)
    found: dict[str, NodeAllocatableResourceClaimStatus] = {}
    for use in everything:
        devices = tuple(drawing(use.claim, state))
        if devices:
            name = use.claim.metadata.name
            found[name] = NodeAllocatableResourceClaimStatus(
                resource_claim_name=name,
                containers=containers(pod, key_of(use.claim.metadata), everything),
                mapping=tuple(mappings(devices)),
                overhead=tuple(overheads(device for device, _ in devices)),
            )
    return tuple(found[name] for name in sorted(found))


Drawn = tuple[Device, DeviceRequestAllocationResult]


def drawing(claim: ResourceClaim, state: State) -> Iterator[Drawn]:
    """The claim's devices that draw from a node. Admin access draws nothing."""
    allocation = claim.status.allocation
    for result in allocation.devices.results if allocation else ():
        device = state.draws_natively(DeviceId(result.driver, result.pool, result.device))
        if device is not None and not result.admin_access:
            yield device, result


def mappings(devices: Iterable[Drawn]) -> Iterator[NodeAllocatableMappedAmount]:
    total: dict[str, Quantity] = {}
    for device, result in devices:
        share = result.consumed_capacity if result.share_id is not None else None
        for name, resource in device.node_allocatable_resources.items():
            if resource.mapping is not None:
                footprint.add(total, name, mapped(resource.mapping, device, share))
    for name in sorted(total):
        yield NodeAllocatableMappedAmount(name=name, quantity=total[name])


def overheads(devices: Iterable[Device]) -> Iterator[NodeAllocatableOverheadAmount]:
    per_pod: dict[str, Quantity] = {}
    per_container: dict[str, Quantity] = {}
    for device in devices:
        for name, resource in device.node_allocatable_resources.items():
            if resource.overhead is not None and resource.overhead.per_pod is not None:
                footprint.add(per_pod, name, resource.overhead.per_pod)
            if resource.overhead is not None and resource.overhead.per_container is not None:
                footprint.add(per_container, name, resource.overhead.per_container)
    for name in sorted({*per_pod, *per_container}):
        yield NodeAllocatableOverheadAmount(
            name=name, per_pod=per_pod.get(name), per_container=per_container.get(name)
        )


def containers(pod: Pod, claim: Key, uses: Iterable[ClaimUse]) -> tuple[str, ...]:
    """The containers that refer to a claim, by entry or by extended resource."""
    own = [use for use in uses if key_of(use.claim.metadata) == claim]
    entries = {use.entry for use in own if not use.mappings}
    by_name = {each.container_name for use in own for each in use.mappings}
    return tuple(
        container.name
        for container in (*pod.spec.init_containers, *pod.spec.containers)
        if container.name in by_name
        or any(each.name in entries for each in container.resources.claims)
    )


def referring(
    pod: Pod | None,
    claims: Iterable[ResourceClaim],
    uses: Sequence[ClaimUse],
    mapped_to: Iterable[ContainerExtendedResourceRequest],
) -> tuple[int, ...]:
    """How many containers refer to each claim; `mapped_to` is the special one's, the last."""
    if pod is None:
        return tuple(0 for _ in claims)
    counts = [len(containers(pod, key_of(claim.metadata), uses)) for claim in claims]
    if named := {each.container_name for each in mapped_to}:
        counts[-1] = len(named)
    return tuple(counts)


# --- one Pod only -------------------------------------------------------------------------------


def shared(pod: Pod, uses: Iterable[ClaimUse], state: State) -> Objection | None:
    """A claim whose devices stand for CPU or memory of the node may be used by one Pod only."""
    for use in uses:
        names = {
            name
            for device, _ in drawing(use.claim, state)
            for name, resource in device.node_allocatable_resources.items()
            if resource.mapping is not None
        }
        if names and (other := other_user(pod, use.claim, state)):
            text = (
                f"claim {key_of(use.claim.metadata)} draws {', '.join(sorted(names))} from the "
                f"node, so only one Pod may use it: {other} does"
            )
            return Objection("claim", text, "give each Pod a claim of its own: use a template")
    return None


def other_user(pod: Pod, claim: ResourceClaim, state: State) -> str:
    for reference in claim.status.reserved_for:
        if reference.uid != ids.pod_uid(pod) and not groups.is_consumer(reference, pod):
            return reference.name
    # A group's claim is reserved for the group, whichever of its Pods use it.
    own = key_of(pod.metadata)
    for key, other in state.snapshot.pods.items():
        if key != own and key.namespace == own.namespace and other.spec.node_name:
            drawn = other.status.node_allocatable_resource_claim_statuses
            is_user = any(each.resource_claim_name == claim.metadata.name for each in drawn)
            if is_user and other.status.phase not in footprint.ENDED:
                return key.name
    return ""
