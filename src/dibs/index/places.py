"""Which devices of one node an ask may possibly have: what the index tells the exact search.

As `allocator.Places` wants it: a bit for each device of the node's usable pools, in order. Worth
its while only where a node sees very many devices.
"""

from __future__ import annotations

from dibs.allocate.allocator import Places
from dibs.index import bits, wants
from dibs.index.bits import Set
from dibs.index.index import Index
from dibs.index.loading import Load
from dibs.index.wants import Demand
from dibs.request.asks import Ask
from dibs.supply.identity import PoolId

# A node that sees fewer devices is searched as it is.
MANY = 256


def on(index: Index, number: int) -> Places | None:
    """What is known of the devices of a node; None when it isn't worth asking."""
    if bits.at(index.layout.sizes, number) < MANY:
        return None

    def told(ask: Ask) -> Set:
        return of(index, number, wants.demand(ask, index.ledger.features))

    return told


def of(index: Index, number: int, demand: Demand) -> Set:
    """The devices that are good for a demand and, unless it has admin access, open."""
    starts = _starts(index, number)
    found = bits.NONE
    for load, places in _loads(index, number, demand):
        start = starts[load.pool.id]
        if isinstance(load.spots, range):
            found |= places << start
        else:
            found |= bits.union(1 << start + load.spots[place] for place in bits.numbers(places))
    return found


def _loads(index: Index, number: int, demand: Demand) -> list[tuple[Load, Set]]:
    good = index.learned.good(index.layout, demand.tests)
    standing = index.standing
    found: list[tuple[Load, Set]] = []
    for tray in index.layout.slotted[number]:
        assert tray.slot is not None, "trays without slots are wide"
        places = bits.NONE
        for place in range(len(tray.load)):
            nodes = good.slots.get(tray.slot + place, bits.NONE)
            if not demand.is_admin:
                nodes &= standing.open_in(tray.slot + place, demand.capacity)
            places |= (nodes >> number & 1) << place
        found.append((tray.load, places))
    for load, places in good.wide.items():
        if index.layout.reach[load] >> number & 1:
            opened = -1 if demand.is_admin else standing.open_on(load, demand.capacity)
            found.append((load, places & opened))
    return found


def _starts(index: Index, number: int) -> dict[PoolId, int]:
    """Where the devices of each pool begin; faulty pools have none."""
    starts: dict[PoolId, int] = {}
    start = 0
    for pool in index.layout.pools(number):
        starts[pool.id] = start
        start += len(pool.candidates)
    return starts
