"""What a node's pools offer, laid out for the search: devices in order, and who draws on what.

A shelf follows from pools alone, and pools never change: so it is made once for each set of pools
and kept in `Answers`, under these pools. What is taken and what is wanted come later.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from dibs.allocate import cards, modes, places
from dibs.allocate.cards import Plan
from dibs.allocate.places import Places
from dibs.allocate.purses import Layout, Price, Prices
from dibs.supply.identity import (
    NO_GROUPS,
    CounterId,
    CounterSetId,
    DeviceId,
    Groups,
    PoolId,
)
from dibs.supply.pools import Candidate, Pool, PoolFault
from dibs.values.quantity import Quantity

ZERO = Quantity.of(0)

# A counter's name in all sets of a pool: "memory" of every card.
Name = tuple[PoolId, str]

# What some devices have, and some checks are about.
Trait = Literal[
    "shareable",
    "tainted",
    "drawing",
    "metered",
    "grouped",
    "partition",
    "binding",
    "native",
    "skipping",
    "selective",
]


# What is known of selectors is kept for nodes of so many devices, and for so many selectors each.
MOST_LEFT_OUT = 2_048
MOST_SELECTORS = 64


@dataclass(frozen=True, eq=False)
class Shelf:
    """`all` are the node's pools, `candidates` the devices of the usable ones, in their order."""

    all: tuple[Pool, ...]
    candidates: tuple[Candidate, ...]
    # By the selectors' texts, the places that they are known to leave out: that never changes.
    _unselected: dict[tuple[str, ...], Places] = field(default_factory=dict)

    def unselected(self, expressions: tuple[str, ...]) -> Places:
        """The places at which one of the selectors is known to be false."""
        return self._unselected.get(expressions, 0)

    def leave_out(self, expressions: tuple[str, ...], place: int) -> None:
        """Remember that one of the selectors is false there; of a few selectors, on usual nodes."""
        known = self._unselected
        if len(self.candidates) <= MOST_LEFT_OUT:
            if len(known) >= MOST_SELECTORS:
                known.clear()
            known[expressions] = known.get(expressions, 0) | 1 << place

    def __len__(self) -> int:
        return len(self.candidates)

    @classmethod
    def of(cls, pools: Sequence[Pool]) -> Shelf:
        return cls(tuple(pools), tuple(each for pool in _usable(pools) for each in pool.candidates))

    def translated(self, places_: Places, other: Shelf) -> Places:
        """A set of another shelf's places as one of this shelf's, where devices are the same."""
        inside = {other.candidates[place].id for place in places.each(places_)}
        return places.where(each.id in inside for each in self.candidates)

    @cached_property
    def pools(self) -> Mapping[PoolId, Pool]:
        return {pool.id: pool for pool in self.all}

    @cached_property
    def faults(self) -> tuple[PoolFault, ...]:
        return tuple(pool.fault for pool in self.all if pool.fault is not None)

    @cached_property
    def usable(self) -> Sequence[Pool]:
        """The pools whose devices count; mode All must see all of them whole."""
        return _usable(self.all)

    @cached_property
    def traits(self) -> frozenset[Trait]:
        """What is there at all: most shelves have none of them."""
        return frozenset(trait for each in self.candidates for trait in _traits(each))

    @cached_property
    def grouped(self) -> frozenset[PoolId]:
        """The pools of which some device declares a compatibility group (KEP-5963)."""
        return frozenset(
            pool.id
            for pool in self.all
            for each in (*pool.candidates, *pool.elsewhere)
            for _, groups in each.groups
            if groups != NO_GROUPS
        )

    @cached_property
    def everything(self) -> Places:
        return places.full(len(self.candidates))

    @cached_property
    def shareable(self) -> Places:
        return places.where(each.is_shareable for each in self.candidates)

    @cached_property
    def users(self) -> Mapping[CounterSetId, Mapping[Price, Places]]:
        """Which devices draw how much from a counter set, by fixed amounts."""
        users: dict[CounterSetId, dict[Price, Places]] = defaultdict(lambda: defaultdict(int))
        for place, candidate in enumerate(self.candidates):
            for price in self.prices(candidate):
                users[price.owner][price] |= 1 << place
        return users

    def layout(self, owner: CounterSetId) -> Layout:
        """How the counters of a set are laid out in its purse."""
        if owner not in self._layouts:
            self._layouts[owner] = Layout.of(owner, self.given(owner.pool, owner.name))
        return self._layouts[owner]

    def prices(self, candidate: Candidate) -> Prices:
        """What a device draws from its counter sets by fixed amounts."""
        prices = self._prices.get(candidate)
        if prices is None:
            prices = self._prices[candidate] = self.priced(candidate.draws)
        return prices

    def priced(self, draws: Iterable[tuple[CounterId, Quantity]]) -> Prices:
        """What is drawn, set by set."""
        by_set: dict[CounterSetId, list[tuple[CounterId, Quantity]]] = defaultdict(list)
        for counter, amount in draws:
            by_set[CounterSetId(counter.pool, counter.set)].append((counter, amount))
        return tuple(self.layout(owner).price(drawn) for owner, drawn in by_set.items())

    @cached_property
    def _layouts(self) -> dict[CounterSetId, Layout]:
        return {}

    @cached_property
    def _prices(self) -> dict[Candidate, Prices]:
        return {}

    @cached_property
    def members(self) -> Mapping[CounterSetId, Mapping[Groups, Places]]:
        """Which devices use a counter set, by the groups with which they go there (KEP-5963)."""
        members: dict[CounterSetId, dict[Groups, Places]] = defaultdict(lambda: defaultdict(int))
        for place, candidate in enumerate(self.candidates):
            for owner, groups in candidate.groups:
                members[owner][groups] |= 1 << place
        return members

    @cached_property
    def modes(self) -> Sequence[modes.Card]:
        """The cards that have devices of several modes (KEP-5963)."""
        return modes.of(self.candidates)

    @cached_property
    def cards(self) -> Sequence[Plan]:
        """The cards that may be exchanged for others."""
        return cards.plans(self.candidates)

    def given(self, pool: PoolId, owner: str) -> Mapping[CounterId, Quantity]:
        """What a counter set has to give, with nothing taken."""
        key = pool, owner
        if key not in self._given:
            counters = self.pools[pool].counters[owner].counters
            amounts = {CounterId(pool, owner, name): each.value for name, each in counters.items()}
            self._given[key] = {counter: each or ZERO for counter, each in amounts.items()}
        return self._given[key]

    @cached_property
    def _given(self) -> dict[tuple[PoolId, str], Mapping[CounterId, Quantity]]:
        return {}

    def drawing(self, pool: PoolId) -> Mapping[str, Mapping[DeviceId, Candidate]]:
        """The published devices of a pool, seen here or not, by the counter sets they draw from."""
        return self._drawing[pool] if pool in self._drawing else self._drawing_of(pool)

    @cached_property
    def _drawing(self) -> dict[PoolId, Mapping[str, Mapping[DeviceId, Candidate]]]:
        return {}

    def _drawing_of(self, pool: PoolId) -> Mapping[str, Mapping[DeviceId, Candidate]]:
        found: dict[str, dict[DeviceId, Candidate]] = defaultdict(dict)
        known = self.pools[pool]
        for candidate in (*known.candidates, *known.elsewhere):
            for owner, _ in candidate.groups:
                found[owner.name][candidate.id] = candidate
        self._drawing[pool] = found
        return found


def _usable(pools: Iterable[Pool]) -> Sequence[Pool]:
    return [pool for pool in pools if pool.fault is None or pool.fault.kind != "obsolete"]


def _traits(candidate: Candidate) -> Iterator[Trait]:
    if candidate.is_shareable:
        yield "shareable"
    if candidate.blocking:
        yield "tainted"
    if candidate.draws or candidate.meters:
        yield "drawing"
    if candidate.meters:
        yield "metered"
    if candidate.groups:
        yield "grouped"
    device, spec = candidate.device, candidate.slice.spec
    if device.consumes_counters:
        yield "partition"
    if device.binding_conditions:
        yield "binding"
    if device.node_allocatable_resources:
        yield "native"
    if spec.skip_node_operations:
        yield "skipping"
    if spec.per_device_node_selection:
        yield "selective"
