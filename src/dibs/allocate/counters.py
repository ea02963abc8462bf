"""Partitions of one card draw from its counters: what is left, and what a device adds (KEP-4815).

What is left of a pool's counters follows from the devices that are held; what the attempt itself
has drawn is in its draft. A device that is shared draws once, for its first share.
Names are scoped to the pool of one driver (kubernetes#140434).
"""

from __future__ import annotations

from dibs.allocate.draft import Counter, Drawn
from dibs.supply.ledger import Ledger
from dibs.supply.pools import Candidate, Pool
from dibs.values.quantity import Quantity

ZERO = Quantity.of(0)


def left_of(pool: Pool, ledger: Ledger) -> dict[Counter, Quantity]:
    """What each counter of the pool has left; negative when it is overdrawn."""
    left = {
        Counter(pool.id, each.name, name): counter.value or ZERO
        for each in pool.counters.values()
        for name, counter in each.counters.items()
    }
    for candidate in (*pool.candidates, *pool.elsewhere):
        if candidate.device.consumes_counters and not ledger.held(candidate.id).is_free:
            for counter, amount in draws(candidate):
                left[counter] = left[counter].minus(amount)
    return left


def draws(candidate: Candidate) -> list[tuple[Counter, Quantity]]:
    return [
        (Counter(candidate.pool, draw.counter_set, name), amount.value or ZERO)
        for draw in candidate.device.consumes_counters
        for name, amount in draw.counters.items()
    ]


def plus(drawn: Drawn, candidate: Candidate) -> Drawn:
    """What the attempt has drawn once it has this device too."""
    summed = dict(drawn)
    for counter, amount in draws(candidate):
        summed[counter] = summed[counter].plus(amount) if counter in summed else amount
    return summed


def shortage(candidate: Candidate, left: Drawn, drawn: Drawn) -> str:
    """Which counter can't give what the device draws; empty when all can."""
    for counter, amount in draws(candidate):
        rest = left[counter].minus(drawn.get(counter, ZERO))
        if amount > rest:
            rest = max(rest, ZERO)
            return f"{counter.set}/{counter.name}: {rest} left, {amount} needed"
    return ""


def unsupported(candidate: Candidate) -> str:
    """What of later KEPs the device's counters need and we don't have yet; empty if nothing."""
    for draw in candidate.device.consumes_counters:
        if draw.compatibility_groups:
            return "declares compatibility groups (KEP-5963), which are not supported yet"
        for name, amount in draw.counters.items():
            if amount.value_from is not None:
                return f"draws counter {name} by capacity (KEP-5941), which is not supported yet"
    return ""
