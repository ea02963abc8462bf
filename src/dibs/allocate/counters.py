"""Partitions of one card draw from its counters: what is left, and what a device adds (KEP-4815).

What is left of a pool's counters follows from the devices that are held; what the attempt itself
has drawn is in its draft. A device that is shared draws once, for its first share.
Names are scoped to the pool of one driver (kubernetes#140434).
"""

from __future__ import annotations

from dibs.allocate.draft import Drawn
from dibs.supply.identity import CounterId
from dibs.supply.ledger import Ledger
from dibs.supply.pools import Candidate, Pool
from dibs.values.quantity import Quantity

ZERO = Quantity.of(0)


def left_of(pool: Pool, ledger: Ledger) -> dict[CounterId, Quantity]:
    """What each counter of the pool has left; negative when it is overdrawn."""
    left = {
        CounterId(pool.id, each.name, name): counter.value or ZERO
        for each in pool.counters.values()
        for name, counter in each.counters.items()
    }
    for candidate in (*pool.candidates, *pool.elsewhere):
        if candidate.draws and not ledger.held(candidate.id).is_free:
            for counter, amount in candidate.draws:
                left[counter] = left[counter].minus(amount)
    return left


def plus(drawn: Drawn, candidate: Candidate) -> Drawn:
    """What the attempt has drawn once it has this device too."""
    summed = dict(drawn)
    for counter, amount in candidate.draws:
        summed[counter] = summed[counter].plus(amount) if counter in summed else amount
    return summed


def shortage(candidate: Candidate, left: Drawn, drawn: Drawn) -> CounterId | None:
    """Which counter can't give what the device draws; None when all can."""
    for counter, amount in candidate.draws:
        rest = left[counter].minus(drawn[counter]) if counter in drawn else left[counter]
        if amount > rest:
            return counter
    return None


def text_of(counter: CounterId, candidate: Candidate, left: Drawn) -> str:
    """The shortage in words: "card-0/memory: 40Gi left, 80Gi needed"."""
    needed = dict(candidate.draws)[counter]
    return f"{counter.set}/{counter.name}: {max(left[counter], ZERO)} left, {needed} needed"


def unsupported(candidate: Candidate) -> str:
    """What of later KEPs the device's counters need and we don't have yet; empty if nothing."""
    for draw in candidate.device.consumes_counters:
        if draw.compatibility_groups:
            return "declares compatibility groups (KEP-5963), which are not supported yet"
        for name, amount in draw.counters.items():
            if amount.value_from is not None:
                return f"draws counter {name} by capacity (KEP-5941), which is not supported yet"
    return ""
