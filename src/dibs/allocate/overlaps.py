"""Which held devices a partition can't be held beside, whatever else is taken (KEP-4815).

Two partitions overlap when one counter can't give both: the memory slices of a MIG card, say, or
all of a card's memory. Drivers publish no such list; it follows from the counters. It only words
what `counters` has found short already, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from dibs.allocate import counters
from dibs.allocate.counters import Drawing, Draws
from dibs.allocate.draft import Drawn
from dibs.supply.identity import CounterId, DeviceId
from dibs.supply.pools import Pool
from dibs.values.quantity import Quantity

ZERO = Quantity.of(0)

# Of a whole card that many partitions overlap, so many are named.
SHOWN = 3


@dataclass(frozen=True, slots=True)
class Overlap:
    """A held device that stands in the way, who holds it, and the counters that can't give both."""

    device: DeviceId
    claim: str
    counters: tuple[CounterId, ...]


def found(draws: Draws, pool: Pool, by: Iterable[Drawing]) -> tuple[Overlap, ...]:
    """Every held device that overlaps one with these draws; in the order in which they are tried.

    Empty where only several together use the counters up.
    """
    wanted = dict(draws)
    taken: dict[tuple[DeviceId, str], dict[CounterId, Quantity]] = {}
    for drawing in by:
        if drawing.counter in wanted:
            drawn = taken.setdefault((drawing.device, drawing.claim), {})
            drawn[drawing.counter] = drawn.get(drawing.counter, ZERO).plus(drawing.amount)
    overlaps = []
    for (device, claim), drawn in taken.items():
        shared = tuple(
            counter
            for counter, amount in drawn.items()
            if amount > ZERO and amount.plus(wanted[counter]) > _total(pool, counter)
        )
        if shared:
            overlaps.append(Overlap(device, claim, shared))
    return tuple(overlaps)


def told(
    short: tuple[CounterId, Quantity],
    left: Drawn,
    by: Iterable[Drawing],
    overlaps: Collection[Overlap],
) -> str:
    """The shortage in words: what overlaps if anything does, and who draws how much."""
    text = counters.text_of(*short, left, by)
    return f"{text_of(overlaps)}; {text}" if overlaps else text


def text_of(overlaps: Collection[Overlap], planned: Collection[str] = ()) -> str:
    """`overlaps gpu-0-mig-3g40gb-0, held by default/chat`; `planned` claims get theirs first."""
    shown = [_one(each, planned) for each in list(overlaps)[:SHOWN]]
    if len(overlaps) > SHOWN:
        shown.append(f"{len(overlaps) - SHOWN} more")
    return f"overlaps {'; '.join(shown)}"


def _one(overlap: Overlap, planned: Collection[str]) -> str:
    if overlap.claim in planned:
        return f"{overlap.device.device}, which goes to {overlap.claim} first"
    return f"{overlap.device.device}, held by {overlap.claim}"


def _total(pool: Pool, counter: CounterId) -> Quantity:
    published = pool.counters.get(counter.set)
    known = published.counters.get(counter.name) if published is not None else None
    return (known.value if known is not None else None) or ZERO
