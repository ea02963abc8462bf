"""What a Pod draws from its node through claims (KEP-5517), in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dibs.model.core import NodeAllocatableResourceClaimStatus
from dibs.schedule import footprint
from dibs.schedule.plan import Decision, Placed, Settled
from dibs.schedule.state import State
from dibs.view import words
from dibs.view.tree import Tree


def of_account(decision: Decision, before: State) -> tuple[NodeAllocatableResourceClaimStatus, ...]:
    """What a Pod draws by a plan, or as its status says."""
    if isinstance(decision, Placed):
        return decision.natives
    if isinstance(decision, Settled) and decision.subject.kind == "Pod":
        pod = before.snapshot.pods[decision.subject.key]
        return pod.status.node_allocatable_resource_claim_statuses
    return ()


def trees(statuses: Iterable[NodeAllocatableResourceClaimStatus]) -> Iterator[Tree]:
    """One line a claim: `through claim cores it draws 4 cpu of the node, for container main`."""
    for status in statuses:
        amounts = footprint.through_claims([status])
        told = words.listed([f"{amount} {name}" for name, amount in sorted(amounts.items())])
        text = f"through claim {status.resource_claim_name} it draws {told} of the node"
        if status.containers:
            names = words.listed(list(status.containers))
            text = f"{text}, for container{'s' if len(status.containers) > 1 else ''} {names}"
        yield Tree(text)
