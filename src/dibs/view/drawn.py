"""What a Pod draws from its node through claims (KEP-5517), in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dibs.model.core import NodeAllocatableResourceClaimStatus
from dibs.schedule import footprint
from dibs.view import words
from dibs.view.tree import Tree


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
