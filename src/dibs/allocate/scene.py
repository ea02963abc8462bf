"""What an attempt on one node is judged against: the node, what is taken, what is left.

It stays as it is during the whole attempt. Its memos hold answers that can't change meanwhile;
they belong to the attempt and go with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec

from dibs.allocate import capacity, constraints, counters, groups, purses
from dibs.allocate.counters import Drawing, Draws, Left
from dibs.allocate.draft import Amounts, Values
from dibs.allocate.groups import Modes
from dibs.allocate.purses import Prices, Purse, Purses
from dibs.allocate.selecting import Answers
from dibs.allocate.shelf import Name, Shelf
from dibs.allocate.spare import NOTHING, Spare
from dibs.model.core import Node
from dibs.request.asks import Ask
from dibs.supply.features import Features
from dibs.supply.identity import CounterSetId, DeviceId, PoolId
from dibs.supply.ledger import Ledger
from dibs.supply.pools import Candidate


class Scene(msgspec.Struct, frozen=True, eq=False):
    node: Node
    shelf: Shelf
    ledger: Ledger
    features: Features
    answers: Answers
    # What the Pod may draw from the node through devices, where that is known (KEP-5517).
    spare: Spare | None = None
    _left: dict[PoolId, Left] = {}
    _rooms: dict[DeviceId, Amounts] = {}
    _shares: dict[tuple[int, DeviceId], tuple[Amounts, str]] = {}
    _values: dict[tuple[DeviceId, str], Values | None] = {}
    _modes: dict[PoolId, Modes] = {}
    _metered: dict[tuple[int, DeviceId], tuple[Draws, str]] = {}
    _drawings: dict[PoolId, tuple[Drawing, ...]] = {}
    _purses: dict[CounterSetId, Purse] = {}
    _drawn: dict[tuple[CounterSetId, Purse], Sequence[tuple[Name, int]]] = {}
    _prices: dict[tuple[int, DeviceId], tuple[Prices, Prices]] = {}

    def purse(self, owner: CounterSetId) -> Purse:
        """What a counter set has left beside what others hold."""
        purse = self._purses.get(owner)
        if purse is None:
            layout, left = self.shelf.layout(owner), self.left(owner.pool)
            if left.is_untouched(owner.name):
                purse = layout.whole
            else:
                purse = layout.filled({counter: left[counter] for counter in layout.counters})
            self._purses[owner] = purse
        return purse

    def purses_after(self, before: Purses, prices: Prices) -> Purses:
        """The purses of a draft once it has paid these prices too."""
        after = dict(before)
        for owner, amount, _ in prices:
            after[owner] = (after[owner] if owner in after else self.purse(owner)) - amount
        return after

    def drawn(self, owner: CounterSetId, purse: Purse) -> Sequence[tuple[Name, int]]:
        """What the attempt took from a set that now has this purse, name by name, in billionths."""
        state = owner, purse
        if state not in self._drawn:
            layout, before = self.shelf.layout(owner), self.purse(owner)
            amounts = [
                ((owner.pool, name), layout.left(before, name) - layout.left(purse, name))
                for name in layout.shifts
            ]
            self._drawn[state] = [each for each in amounts if each[1]]
        return self._drawn[state]

    def prices(self, ask: Ask, candidate: Candidate, *, is_first: bool) -> Prices:
        """What a pick draws from counter sets; `is_first` of a device that nobody has a share of.

        Nothing by capacity where it never could: see `metered`.
        """
        if not candidate.meters:
            return self.shelf.prices(candidate) if is_first else ()
        key = id(ask), candidate.id
        if key not in self._prices:
            metered = self.shelf.priced(self.metered(ask, candidate)[0])
            first = purses.joined((*self.shelf.prices(candidate), *metered))
            self._prices[key] = first, metered
        return self._prices[key][0 if is_first else 1]

    def left(self, pool: PoolId) -> Left:
        """What the counters of a pool have left beside what others hold."""
        if pool not in self._left:
            self._left[pool] = counters.Left(
                self.shelf.pools[pool],
                self.ledger,
                self.shelf.drawing(pool),
                partial(self.shelf.given, pool),
                in_milli=self.features.fractional_capacity_range,
            )
        return self._left[pool]

    def drawings(self, pool: PoolId) -> tuple[Drawing, ...]:
        """Who draws what from a pool's counters; only asked for people."""
        if pool not in self._drawings:
            in_milli = self.features.fractional_capacity_range
            found = counters.drawings(self.shelf.pools[pool], self.ledger, in_milli=in_milli)
            self._drawings[pool] = tuple(found)
        return self._drawings[pool]

    def modes(self, pool: PoolId) -> Modes:
        """In which modes held devices use a pool's counter sets (KEP-5963)."""
        if pool not in self._modes:
            # Most pools have no groups at all: then every set is left out.
            is_plain = pool not in self.shelf.grouped
            self._modes[pool] = (
                {}
                if is_plain and not groups.are_recorded(pool, self.ledger)
                else groups.held(self.shelf.pools[pool], self.ledger)
            )
        return self._modes[pool]

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
            in_milli = self.features.fractional_capacity_range
            wanted = self.own(ask, candidate)
            amounts = capacity.consumption(candidate.device.capacity, wanted, in_milli=in_milli)
            self._shares[key] = amounts
        return self._shares[key]

    def own(self, ask: Ask, candidate: Candidate) -> Amounts:
        """What the ask wants of the device's own capacities: the rest is a counter's (KEP-5941)."""
        if not candidate.meters:
            return ask.capacity
        published = candidate.device.capacity
        return {
            name: amount
            for name, amount in ask.capacity.items()
            if name in published or not counters.is_metered(candidate, name)
        }

    def metered(self, ask: Ask, candidate: Candidate) -> tuple[Draws, str]:
        """What the ask draws from counters by capacity, and why it never could (KEP-5941)."""
        if not candidate.meters:
            return (), ""
        key = id(ask), candidate.id
        if key not in self._metered:
            share, _ = self.share(ask, candidate)
            pool = self.shelf.pools[candidate.pool]
            in_milli = self.features.fractional_capacity_range
            self._metered[key] = counters.metered(
                candidate, pool, share, ask.capacity, in_milli=in_milli
            )
        return self._metered[key]

    def values(self, ask: Ask, candidate: Candidate, attribute: str) -> Values | None:
        """The device's values of a constraint's attribute; None when it has none.

        The ask's own derived attribute comes before what the driver publishes (KEP-6080).
        """
        expression = ask.derived.get(attribute)
        # An expression is no attribute's name: "=" keeps them apart.
        key = candidate.id, attribute if expression is None else f"={expression}"
        if key not in self._values:
            with_lists = self.features.list_type_attributes
            if expression is not None:
                self._values[key] = self._derived(expression, candidate)
            else:
                self._values[key] = constraints.values_of(candidate, attribute, with_lists)
        return self._values[key]

    def failure(self, ask: Ask, candidate: Candidate, attribute: str) -> str:
        """Why the ask's derived attribute can't be worked out for the device; empty if it can."""
        if attribute not in ask.derived:
            return ""
        found = self.answers.derived(ask.derived[attribute], candidate)
        return found if isinstance(found, str) else ""

    def _derived(self, expression: str, candidate: Candidate) -> Values | None:
        found = self.answers.derived(expression, candidate)
        if isinstance(found, str):
            return None
        return constraints.of_attribute(found, self.features.list_type_attributes)

    def natives(self, ask: Ask, candidate: Candidate) -> Amounts:
        """What the ask draws from the node if it has this device."""
        if self.spare is None:
            return NOTHING
        share = self.share(ask, candidate)[0] if candidate.is_shareable else None
        return self.spare.draws(ask, candidate, share)
