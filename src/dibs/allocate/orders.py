"""In which order devices are tried: as published, or so that what is begun is used up first.

`first-fit` is the order of the pools, by which drivers steer (KEP-4381). `packed` tries devices
that others share already, then partitions of cards that are in use, fullest first, and breaks
into something untouched last. Either way all devices are tried: only the choice differs.
"""

from __future__ import annotations

from typing import Literal

from dibs.allocate.scene import Scene
from dibs.allocate.shelf import Shelf
from dibs.supply.identity import CounterId
from dibs.supply.pools import Candidate
from dibs.values.quantity import Quantity

Order = Literal["first-fit", "packed"]

ZERO = Quantity.of(0)


def arranged(shelf: Shelf, order: Order, scene: Scene) -> Shelf:
    """The shelf with its devices in the order in which they are tried."""
    if order == "first-fit":
        return shelf
    # Sorting is stable: what packs alike keeps the order of the pools.
    packed = sorted(shelf.candidates, key=lambda candidate: _packing(candidate, scene))
    return Shelf(shelf.all, tuple(packed))


def _packing(candidate: Candidate, scene: Scene) -> tuple[bool, float]:
    is_shared = bool(scene.ledger.held(candidate.id).shares)
    # With partitionable devices off, pools have no counters.
    if not candidate.device.consumes_counters or not scene.features.partitionable_devices:
        return not is_shared, 1.0
    return not is_shared, _freedom(candidate, scene)


def _freedom(candidate: Candidate, scene: Scene) -> float:
    """Which part of the counter sets it draws from is left, from 0 (all gone) to 1 (untouched)."""
    left = scene.left(candidate.pool)
    pool = scene.shelf.pools[candidate.pool]
    parts = []
    for draw in candidate.device.consumes_counters:
        for name, counter in pool.counters[draw.counter_set].counters.items():
            whole = counter.value or ZERO
            if whole > ZERO:
                rest = left[CounterId(candidate.pool, draw.counter_set, name)]
                parts.append(max(0.0, rest.approximate_float() / whole.approximate_float()))
    return sum(parts) / len(parts) if parts else 1.0
