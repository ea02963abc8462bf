"""What a Pod may still draw from its node through devices, and what each device draws (KEP-5517).

A device may stand for CPU, memory or huge pages of the node (mapping), or need some of them
(overhead). What is left for the Pod is worked out in `schedule`; here it is kept for the attempt.
Source: resource.k8s.io Device.nodeAllocatableResources.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dibs.allocate.draft import Amounts, Pick
from dibs.model.objects import Device, NodeAllocatableMapping
from dibs.request.asks import Ask
from dibs.supply.identity import DeviceId
from dibs.supply.pools import Candidate
from dibs.values.quantity import Quantity

ZERO = Quantity.of(0)
NOTHING: Amounts = {}


class Allowance(NamedTuple):
    """How much of one resource is left, and where: on the node, or of what the Pod limits itself
    to (spec.resources)."""

    left: Quantity
    total: Quantity
    of_pod: bool = False

    def __str__(self) -> str:
        where = "of the Pod's own spec.resources" if self.of_pod else "on the node"
        return f"{max(self.left, ZERO)} of {self.total} left {where}"


@dataclass(frozen=True, slots=True, eq=False)
class Spare:
    """`allowances` by resource; one that isn't there has no limit that is known.

    `containers` says for each claim, by its number, how many containers refer to it.
    """

    allowances: Mapping[str, Allowance]
    containers: Sequence[int]
    _drawn: dict[tuple[int, DeviceId], Amounts] = field(default_factory=dict)

    def draws(self, ask: Ask, candidate: Candidate, share: Amounts | None) -> Amounts:
        """What a pick draws from the node; `share` is None for a device that is taken whole."""
        if not candidate.device.node_allocatable_resources or ask.is_admin:
            return NOTHING
        key = id(ask), candidate.id
        if key not in self._drawn:
            count = self.containers[ask.claim_number]
            self._drawn[key] = draws(candidate.device, share, count)
        return self._drawn[key]

    def drawn(self, picks: Iterable[Pick]) -> Amounts:
        """What picks draw together."""
        total: dict[str, Quantity] = {}
        for pick in picks:
            for name, amount in self.draws(pick.ask, pick.candidate, pick.share).items():
                total[name] = total[name].plus(amount) if name in total else amount
        return total

    def shortage(self, wanted: Amounts, drawn: Amounts = NOTHING) -> str:
        """The first resource of which too little is left; "" when there is enough of all."""
        for name, amount in wanted.items():
            allowance = self.allowances.get(name)
            if allowance is not None and amount.plus(drawn.get(name, ZERO)) > allowance.left:
                return name
        return ""


def draws(device: Device, share: Amounts | None, containers: int) -> Amounts:
    """What one device draws for a Pod, of whose containers so many refer to its claim."""
    total: dict[str, Quantity] = {}
    for name, resource in device.node_allocatable_resources.items():
        amount = ZERO if resource.mapping is None else mapped(resource.mapping, device, share)
        if resource.overhead is not None:
            amount = amount.plus(resource.overhead.per_pod or ZERO)
            each = resource.overhead.per_container or ZERO
            amount = amount.plus(each.times(Quantity.of(containers)))
        total[name] = amount
    return total


def mapped(mapping: NodeAllocatableMapping, device: Device, share: Amounts | None) -> Quantity:
    """What the device stands for: so much for each unit of a capacity, or for the device."""
    if mapping.capacity_key is None:
        return mapping.device_multiplier or ZERO
    if share is not None:
        amount = share.get(mapping.capacity_key, ZERO)
    else:
        # Who has a device whole has all of its capacity.
        capacity = device.capacity.get(mapping.capacity_key)
        amount = (capacity.value if capacity else None) or ZERO
    return amount.times(mapping.capacity_multiplier or Quantity.of(1))
