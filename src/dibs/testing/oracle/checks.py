"""What speaks against one pick, given all earlier picks of the attempt.

Every sum is taken anew from the picks and from what other claims hold, so there is nothing to
keep in step. Order matters only for errors: `selectable` evaluates CEL and may be fatal.
"""

from __future__ import annotations

from dataclasses import dataclass

from dibs.model.core import Node
from dibs.model.objects import (
    Device,
    DeviceCapacity,
    DeviceConstraint,
    DeviceTaint,
    DeviceToleration,
    ResourceClaim,
)
from dibs.request import selectors
from dibs.supply.features import Features
from dibs.supply.identity import DeviceId
from dibs.testing.oracle import capacity as capacities
from dibs.testing.oracle import cards, constraints, pools
from dibs.testing.oracle.cards import Cards
from dibs.testing.oracle.holding import Held, Pick
from dibs.testing.oracle.pools import Candidate, Fatal, Pool
from dibs.testing.oracle.wishes import Ask
from dibs.values.mistake import Mistake
from dibs.values.quantity import Quantity

ZERO = Quantity.of(0)


@dataclass(frozen=True, slots=True)
class Judge:
    """Everything a check may look at that does not change during the search."""

    node: Node
    pools: tuple[Pool, ...]
    claims: tuple[ResourceClaim, ...]
    held: Held
    features: Features
    # With the defects of upstream 0.37 that conformance/differences.md lists.
    as_upstream: bool = False

    def takes_nothing(self, ask: Ask) -> bool:
        """Admin access takes nothing from anyone (KEP-5018); upstream has it pay like others."""
        return self._cards.takes_nothing(ask)

    def is_selectable(self, ask: Ask, candidate: Candidate) -> bool:
        """Binding conditions, then CEL (class before request), then the device's own nodes."""
        device = candidate.device
        if device.binding_conditions and not self.features.device_binding_and_status:
            return False
        if not all(_matches(text, candidate) for text in ask.selectors):
            return False
        return pools.reaches(candidate, self.node)

    def is_shareable(self, candidate: Candidate) -> bool:
        return self.features.consumable_capacity and bool(
            candidate.device.allow_multiple_allocations
        )

    def is_free(self, ask: Ask, candidate: Candidate, picks: tuple[Pick, ...]) -> bool:
        if self.is_shareable(candidate):
            return ask.is_admin or candidate.key not in self.held.whole
        same = [pick for pick in picks if pick.candidate.key == candidate.key]
        if any(pick.ask.claim == ask.claim for pick in same):
            return False
        if ask.is_admin:
            return True
        taken = candidate.key in self.held.whole or candidate.key in self.held.shared
        return not taken and all(self.takes_nothing(pick.ask) for pick in same)

    def could_hold(self, ask: Ask, candidate: Candidate) -> bool:
        """Whether the device has what the ask wants of it when nothing is taken (KEP-5075)."""
        if not self.features.consumable_capacity:
            return True
        capacity = candidate.device.capacity
        unknown = set(ask.capacity) - set(capacity)
        if not all(cards.meters(candidate, name) for name in unknown):
            return False
        for name, each in capacity.items():
            if self._takes(each, ask.capacity.get(name)) < ZERO:
                raise Fatal(f"capacity {name} is negative")
        return all(
            capacities.is_allowed(
                each, self._takes(each, ask.capacity.get(name)), ask.capacity.get(name)
            )
            for name, each in capacity.items()
        )

    def _takes(self, capacity: DeviceCapacity, wanted: Quantity | None) -> Quantity:
        return capacities.consumption(capacity, wanted, self.features.fractional_capacity_range)

    def is_prepared(self, candidate: Candidate) -> bool:
        """Whether the node can do without the operations that the slice leaves out (KEP-5945)."""
        if not candidate.slice.spec.skip_node_operations:
            return True
        declared = self.node.status.declared_features
        return self.features.optional_node_operations and "DRAOptionalNodeOperations" in declared

    def has_left(self, ask: Ask, candidate: Candidate, picks: tuple[Pick, ...]) -> bool:
        """Whether the sums of all shares stay within the capacity; admin access adds to none."""
        if not self.is_shareable(candidate) or self.takes_nothing(ask):
            return True
        for name, capacity in candidate.device.capacity.items():
            total = self.held.capacity.get((candidate.key, name), ZERO)
            for pick in picks:
                if pick.candidate.key == candidate.key and not self.takes_nothing(pick.ask):
                    total = total.plus(pick.consumed[name])
            total = total.plus(self._takes(capacity, ask.capacity.get(name)))
            if total > capacities.total(capacity):
                return False
        return True

    def is_covered(self, ask: Ask, candidate: Candidate, picks: tuple[Pick, ...]) -> bool:
        return self._cards.is_covered(ask, candidate, picks)

    @property
    def _cards(self) -> Cards:
        return Cards(self.pools, self.held, self.features, self.as_upstream)

    def is_tolerated(self, ask: Ask, candidate: Candidate) -> bool:
        if not self.features.device_taints:
            return True
        blocking = [
            each for each in candidate.device.taints if each.effect in ("NoSchedule", "NoExecute")
        ]
        return all(any(_tolerates(t, taint) for t in ask.tolerations) for taint in blocking)

    def is_constrained_well(self, ask: Ask, candidate: Candidate, picks: tuple[Pick, ...]) -> bool:
        """Whether all constraints of the claim still hold with this device."""
        lists = self.features.list_type_attributes
        return all(
            constraints.holds(
                constraint, ask, candidate, self._under(constraint, ask, picks), lists
            )
            for constraint in self.claims[ask.claim].spec.devices.constraints
            if constraints.concerns(constraint, ask)
        )

    def _under(
        self, constraint: DeviceConstraint, ask: Ask, picks: tuple[Pick, ...]
    ) -> list[tuple[Ask, Candidate]]:
        """The devices that the claim has under this constraint already."""
        return [
            (pick.ask, pick.candidate)
            for pick in picks
            if pick.ask.claim == ask.claim and constraints.concerns(constraint, pick.ask)
        ]


# --- selectors ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Asked:
    """A device as selectors want to be asked about it."""

    id: DeviceId
    device: Device


def _matches(expression: str, candidate: Candidate) -> bool:
    """Whether the selector is true. Raises Fatal when it doesn't compile, or fails."""
    try:
        selector = selectors.Selector.compile(expression)
        return selector.matches(_Asked(DeviceId(*candidate.key), candidate.device))
    except Mistake as mistake:
        raise Fatal(f"selector on device {candidate.device.name}: {mistake}") from mistake


# --- taints ----------------------------------------------------------------------------------


def _tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.value == taint.value
