"""Which devices could still be given to somebody, and how many of a node's are free.

`open` says of a device that nothing which is held keeps everybody from it: it isn't held whole,
its counters can pay what it draws, it goes with the users of its card. It may be closed only if
`allocate.checks` refuse it to every ask without admin access; what depends on who asks isn't
judged here. Of the ledger only what a change touches is looked at again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from dibs.allocate import checks, counters, groups
from dibs.allocate.draft import Drawn
from dibs.allocate.groups import Modes
from dibs.index import bits, slotting
from dibs.index.bits import Planes, Set
from dibs.index.layout import Layout
from dibs.index.loading import Load, Tray, views_of
from dibs.index.shares import Shares, Wanted
from dibs.supply.features import Features
from dibs.supply.identity import DeviceId, PoolId
from dibs.supply.ledger import Holding, Ledger
from dibs.supply.published import Candidate
from dibs.supply.stock import Pool


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """`open` has a plane a slot, `wide` the devices of each load without slots. `idle` counts the
    devices that each node sees and nobody holds. `shares` has the room of shared devices."""

    open: Planes
    wide: Mapping[Load, Set]
    idle: Planes
    shares: Shares

    @classmethod
    def of(cls, layout: Layout, ledger: Ledger) -> Standing:
        judge = Judge(layout, ledger)
        return cls(
            slotting.planes(layout, judge.told),
            {tray.load: judge.told(tray) for tray in layout.wide},
            _idle(layout, ledger),
            Shares.of(layout, ledger),
        )

    def with_ledger(
        self, layout: Layout, before: Ledger, ledger: Ledger, touched: Collection[DeviceId]
    ) -> Standing:
        """After the holdings of these devices, and no others, have changed."""
        judge = Judge(layout, ledger)
        planes = list(self.open)
        wide: dict[Load, Set] = {}
        places: list[tuple[Tray, int]] = []
        for pool, names in _by_pool(touched).items():
            for tray in layout.trays.get(pool, ()):
                places += ((tray, tray.load.at[name]) for name in names if name in tray.load.at)
                for place in judge.concerned(tray, names):
                    is_open = judge.is_open(tray, place)
                    if tray.slot is None:
                        now = wide.get(tray.load, self.wide[tray.load])
                        wide[tray.load] = now & ~(1 << place) | is_open << place
                    elif bool(planes[tray.slot + place] & tray.nodes) != is_open:
                        planes[tray.slot + place] ^= tray.nodes
        idle = self.idle
        for device in touched:
            was, now_free = before.held(device).is_free, ledger.held(device).is_free
            if was != now_free:
                for _, viewers in _offering(layout, device):
                    one = bits.constant(1, viewers)
                    idle = bits.plus(idle, one) if now_free else bits.minus(idle, one)
        return Standing(
            tuple(planes),
            {**self.wide, **wide} if wide else self.wide,
            idle,
            self.shares.with_ledger(ledger, places),
        )

    def with_layout(
        self, before: Layout, layout: Layout, ledger: Ledger, pools: Collection[PoolId]
    ) -> Standing:
        """After these pools have changed, or who sees them."""
        judge = Judge(layout, ledger)
        wide = {
            tray.load: self.wide[tray.load] if tray.load in self.wide else judge.told(tray)
            for tray in layout.wide
        }
        idle = self.idle
        for pool in pools:
            for view, viewers in views_of(before.trays.get(pool, ())):
                idle = bits.minus(idle, bits.constant(_free(view, ledger), viewers))
            for view, viewers in views_of(layout.trays.get(pool, ())):
                idle = bits.plus(idle, bits.constant(_free(view, ledger), viewers))
        return Standing(
            slotting.patched(self.open, before, layout, judge.told),
            wide,
            idle,
            self.shares.with_layout(before, layout, ledger, pools),
        )

    def open_in(self, slot: int, wanted: Wanted) -> Set:
        """The nodes whose device in a slot is open, and may have what is wanted of capacities."""
        nodes = self.open[slot]
        return nodes & self.shares.in_slot(slot, wanted) if self.shares.rooms else nodes

    def open_on(self, load: Load, wanted: Wanted) -> Set:
        """The devices of a load without slots that are open, and may have what is wanted."""
        places = self.wide[load]
        return places & self.shares.on_load(load, wanted) if self.shares.rooms else places


# --- one device --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Judge:
    """Looks at devices on one ledger. What the counters of a pool have left is worked out once."""

    layout: Layout
    ledger: Ledger
    _left: dict[Pool, Drawn] = field(default_factory=dict)
    _modes: dict[Pool, Modes] = field(default_factory=dict)

    def told(self, tray: Tray) -> Set:
        """The tray's devices that are open."""
        found = bits.NONE
        for place in range(len(tray.load)):
            if self.is_open(tray, place):
                found |= 1 << place
        return found

    def concerned(self, tray: Tray, names: Iterable[str]) -> Iterable[int]:
        """The places at which something may be otherwise, once these devices of its pool are."""
        load = tray.load
        if load.is_entangled:
            return range(len(load))
        return [load.at[name] for name in names if name in load.at]

    def is_open(self, tray: Tray, place: int) -> bool:
        """No when every ask without admin access is refused the device as things stand."""
        load = tray.load
        candidate = load.candidates[place]
        holding = self.ledger.held(candidate.id)
        if holding.whole or (holding.shares and not candidate.is_shareable):
            return False
        if load.is_entangled and not self._is_payable(load.pool, candidate, holding):
            return False
        if load.skips and candidate.slice.spec.skip_node_operations:
            return self._does_without(tray)
        return _is_usable(candidate, self.ledger.features)

    def _is_payable(self, pool: Pool, candidate: Candidate, holding: Holding) -> bool:
        """Whether its counters have what a first pick draws; of a shared device that is paid."""
        if holding.shares:
            return True
        if candidate.draws and counters.shortage(candidate.draws, self._left_of(pool)):
            return False
        return not candidate.groups or groups.clash(candidate, self._modes_of(pool)) is None

    def _does_without(self, tray: Tray) -> bool:
        if not self.ledger.features.optional_node_operations:
            return False
        # Of several nodes some may declare it: then nothing is said.
        if tray.slot is None:
            return True
        return checks.SKIPS_OPERATIONS in self.layout.node_of(tray).status.declared_features

    def _left_of(self, pool: Pool) -> Drawn:
        if pool not in self._left:
            in_milli = self.ledger.features.fractional_capacity_range
            self._left[pool] = counters.left_of(pool, self.ledger, in_milli=in_milli)
        return self._left[pool]

    def _modes_of(self, pool: Pool) -> Modes:
        if pool not in self._modes:
            self._modes[pool] = groups.held(pool, self.ledger)
        return self._modes[pool]


def _is_usable(candidate: Candidate, features: Features) -> bool:
    """Whether gates that are off leave the device to anybody."""
    if not features.device_binding_and_status and candidate.device.binding_conditions:
        return False
    return features.partitionable_devices or not candidate.device.consumes_counters


# --- counting free devices -----------------------------------------------------------------------


def _idle(layout: Layout, ledger: Ledger) -> Planes:
    views = (each for trays in layout.trays.values() for each in views_of(trays))
    free = ((_free(view, ledger), viewers) for view, viewers in views)
    return bits.tally(free, len(layout.slotted))


def _free(pool: Pool, ledger: Ledger) -> int:
    return sum(ledger.held(candidate.id).is_free for candidate in pool.candidates)


def _offering(layout: Layout, device: DeviceId) -> Iterable[tuple[Pool, Set]]:
    """The views in which the device is offered, with who sees them."""
    trays = layout.trays.get(PoolId(device.driver, device.pool), ())
    return views_of(tray for tray in trays if device.device in tray.load.at)


def _by_pool(devices: Iterable[DeviceId]) -> Mapping[PoolId, list[str]]:
    found: dict[PoolId, list[str]] = defaultdict(list)
    for device in devices:
        found[PoolId(device.driver, device.pool)].append(device.device)
    return found
