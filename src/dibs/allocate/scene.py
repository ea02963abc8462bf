"""What an attempt on one node is judged against: the node, what is taken, what is left.

It stays as it is during the whole attempt. Its memos hold answers that can't change meanwhile;
they belong to the attempt and go with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dibs.allocate import capacity, constraints, counters
from dibs.allocate.draft import Amounts, Drawn, Values
from dibs.allocate.selecting import Answers
from dibs.model.core import Node
from dibs.request.asks import Ask
from dibs.supply.features import Features
from dibs.supply.identity import DeviceId, PoolId
from dibs.supply.ledger import Ledger
from dibs.supply.pools import Candidate, Pool


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    node: Node
    pools: Mapping[PoolId, Pool]
    ledger: Ledger
    features: Features
    answers: Answers
    _left: dict[PoolId, Drawn] = field(default_factory=dict)
    _rooms: dict[DeviceId, Amounts] = field(default_factory=dict)
    _shares: dict[tuple[int, DeviceId], tuple[Amounts, str]] = field(default_factory=dict)
    _values: dict[tuple[DeviceId, str], Values | None] = field(default_factory=dict)

    def left(self, pool: PoolId) -> Drawn:
        """What the counters of a pool have left beside what others hold."""
        if pool not in self._left:
            self._left[pool] = counters.left_of(self.pools[pool], self.ledger)
        return self._left[pool]

    def room(self, candidate: Candidate) -> Amounts:
        """What the capacities of a shared device have left beside what others consume."""
        if candidate.id not in self._rooms:
            held = self.ledger.held(candidate.id).consumed
            self._rooms[candidate.id] = capacity.room(candidate.device.capacity, held)
        return self._rooms[candidate.id]

    def share(self, ask: Ask, candidate: Candidate) -> tuple[Amounts, str]:
        """What the ask takes of the device's capacities, and why it never could."""
        key = id(ask), candidate.id
        if key not in self._shares:
            amounts = capacity.consumption(candidate.device.capacity, ask.capacity)
            self._shares[key] = amounts
        return self._shares[key]

    def values(self, candidate: Candidate, attribute: str) -> Values | None:
        """The device's values of a constraint's attribute; None when it has none."""
        key = candidate.id, attribute
        if key not in self._values:
            with_lists = self.features.list_type_attributes
            self._values[key] = constraints.values_of(candidate, attribute, with_lists)
        return self._values[key]
