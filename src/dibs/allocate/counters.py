"""Partitions of one card draw from its counters: what is left, and what a device adds (KEP-4815).

What is left of a pool's counters follows from the devices that are held: from what was recorded
when they were allocated, or, where nothing was, from what is published now (designs/031). What
the attempt itself has drawn is in its draft. A device that is shared draws a fixed amount once,
for its first share; what it draws by capacity (KEP-5941), each share draws for itself.
Names are scoped to the pool of one driver (kubernetes#140434).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from dibs.allocate import capacity
from dibs.allocate.draft import NO_AMOUNTS, Amounts, Drawn
from dibs.model.objects import DeviceCapacity
from dibs.supply.identity import CounterId, DeviceId
from dibs.supply.ledger import Holder, Holding, Ledger
from dibs.supply.pools import Candidate, Pool
from dibs.values.quantity import Quantity

ZERO = Quantity.of(0)

# What one pick draws, or one device.
Draws = tuple[tuple[CounterId, Quantity], ...]

# Of more claims that draw from a counter than this, only the number is told.
SHOWN = 4


@dataclass(frozen=True, slots=True)
class Drawing:
    """What a claim draws from one counter by one device."""

    counter: CounterId
    amount: Quantity
    claim: str
    device: DeviceId


class Left(dict[CounterId, Quantity]):
    """What the counters of a pool have left, worked out for a card when one of its counters is
    asked for: most attempts look at few of them. Use `left[counter]`, nothing else."""

    __slots__ = ("drawing", "given", "in_milli", "ledger", "pool", "recorded")

    def __init__(
        self,
        pool: Pool,
        ledger: Ledger,
        drawing: Mapping[str, Mapping[DeviceId, Candidate]],
        given: Callable[[str], Mapping[CounterId, Quantity]],
        *,
        in_milli: bool,
    ) -> None:
        """`drawing` has the published devices of the pool by the sets that they draw from, `given`
        says what a set has with nothing taken."""
        super().__init__()
        self.pool, self.ledger, self.drawing, self.in_milli = pool, ledger, drawing, in_milli
        self.given = given
        # Records may say that a device drew from another set than it is published with now.
        self.recorded: dict[str, list[DeviceId]] = {}
        for device in ledger.recorded.get(pool.id, ()):
            records = [holder.record for holder in ledger.held(device).holders if holder.record]
            for owner in {counter.set for each in records for counter in (*each.once, *each.each)}:
                self.recorded.setdefault(owner, []).append(device)

    def is_untouched(self, owner: str) -> bool:
        """Whether it is sure that nobody draws from the set."""
        if owner in self.recorded:
            return False
        return self.ledger.holdings.has_none_of(self.drawing.get(owner, {}).keys())

    def __missing__(self, counter: CounterId) -> Quantity:
        devices: dict[DeviceId, Candidate | None] = dict(self.drawing.get(counter.set, {}))
        for device in sorted(self.recorded.get(counter.set, ())):
            if device not in devices:
                drawing = (each[device] for each in self.drawing.values() if device in each)
                devices[device] = next(drawing, None)
        given = self.given(counter.set)
        self.update(_left(given, self.pool, self.ledger, devices, in_milli=self.in_milli))
        return self[counter]


def left_of(pool: Pool, ledger: Ledger, *, in_milli: bool = True) -> dict[CounterId, Quantity]:
    """What each counter of the pool has left; negative when it is overdrawn."""
    given = {
        CounterId(pool.id, each.name, name): counter.value or ZERO
        for each in pool.counters.values()
        for name, counter in each.counters.items()
    }
    return _left(given, pool, ledger, _drawing(pool, ledger), in_milli=in_milli)


def drawings(pool: Pool, ledger: Ledger, *, in_milli: bool = True) -> Iterator[Drawing]:
    """Everything that held devices draw from the pool, also those it no longer publishes."""
    return _drawings(pool, ledger, _drawing(pool, ledger), in_milli=in_milli)


def _drawing(pool: Pool, ledger: Ledger) -> Mapping[DeviceId, Candidate | None]:
    """The devices that draw from the pool, with None for those that it no longer publishes."""
    devices: dict[DeviceId, Candidate | None] = {
        each.id: each for each in (*pool.candidates, *pool.elsewhere) if each.draws or each.meters
    }
    for device in sorted(ledger.recorded.get(pool.id, ())):
        devices.setdefault(device, None)
    return devices


def _left(
    given: Mapping[CounterId, Quantity],
    pool: Pool,
    ledger: Ledger,
    devices: Mapping[DeviceId, Candidate | None],
    *,
    in_milli: bool,
) -> dict[CounterId, Quantity]:
    left = dict(given)
    for drawing in _drawings(pool, ledger, devices, in_milli=in_milli):
        # A counter that was recorded and is gone since has nothing left to give anyway.
        if drawing.counter in left:
            left[drawing.counter] = left[drawing.counter].minus(drawing.amount)
    return left


def _drawings(
    pool: Pool,
    ledger: Ledger,
    devices: Mapping[DeviceId, Candidate | None],
    *,
    in_milli: bool,
) -> Iterator[Drawing]:
    held = ledger.holdings
    for device, candidate in devices.items():
        holding = held.get(device)
        if holding is not None and not holding.is_free:
            for holder, draws in (
                _fixed(candidate, holding, pool),
                *_metered(candidate, holding, pool, in_milli=in_milli),
            ):
                for counter, amount in draws:
                    yield Drawing(counter, amount, holder.claim, device)


def is_metered(candidate: Candidate, name: str) -> bool:
    """Whether a request for this capacity is met from a counter (KEP-5941)."""
    return any(is_same_capacity(key, name, candidate.id.driver) for _, key in candidate.meters)


def is_same_capacity(key: str, name: str, driver: str) -> bool:
    """Whether a counter's `capacityKey` means the capacity of this name."""
    return name in _spellings(key, driver)


def metered(
    candidate: Candidate, pool: Pool, share: Amounts, wanted: Amounts, *, in_milli: bool = True
) -> tuple[Draws, str]:
    """What a pick draws by capacity, and why it never could.

    `share` is what it takes of the capacities that the device itself publishes; a capacity that
    only the counter knows is taken as the request wants it, by the counter's own policy.
    """
    draws: list[tuple[CounterId, Quantity]] = []
    for counter, key in candidate.meters:
        asked = _asked(candidate, key, share, wanted)
        amount, why = _by_policy(pool, counter, key, asked, in_milli=in_milli)
        if why:
            return (), f"{counter.set}/{counter.name}: {why}"
        draws.append((counter, amount))
    return tuple(draws), ""


def _by_policy(
    pool: Pool, counter: CounterId, key: str, asked: Quantity | None, *, in_milli: bool
) -> tuple[Quantity, str]:
    """What the counter's policy makes of what is asked, and why it allows no such thing."""
    declared = pool.counters[counter.set].counters[counter.name]
    terms = {key: DeviceCapacity(declared.value, declared.request_policy)}
    wanted = NO_AMOUNTS if asked is None else {key: asked}
    amounts, why = capacity.consumption(terms, wanted, in_milli=in_milli)
    # Nobody draws less than nothing: it would make room for others.
    why = why or capacity.unmeasurable(terms, wanted, in_milli=in_milli)
    return (ZERO, why) if why else (amounts[key], "")


def _asked(candidate: Candidate, key: str, share: Amounts, wanted: Amounts) -> Quantity | None:
    """What is asked of a capacity that a counter knows, under whichever of its names."""
    known = (
        amounts[name]
        for amounts in (share, wanted)
        for name in _spellings(key, candidate.id.driver)
        if name in amounts
    )
    return next(known, None)


def shortage(draws: Draws, left: Drawn) -> tuple[CounterId, Quantity] | None:
    """Which counter can't give how much; None when all can."""
    for counter, amount in draws:
        if amount > left[counter]:
            return counter, amount
    return None


def text_of(counter: CounterId, needed: Quantity, left: Drawn, by: Iterable[Drawing]) -> str:
    """The shortage in words: "card-0/memory: 40Gi left, 80Gi needed; default/serve draws 40Gi"."""
    text = f"{counter.set}/{counter.name}: {max(left[counter], ZERO)} left, {needed} needed"
    drawn = drawn_by(counter, by)
    return f"{text}; {drawn}" if drawn else text


def drawn_by(counter: CounterId, by: Iterable[Drawing]) -> str:
    """`default/serve draws 40Gi`: who draws from the counter, the most first."""
    sums: dict[str, Quantity] = {}
    for drawing in by:
        if drawing.counter == counter and drawing.amount > ZERO:
            sums[drawing.claim] = sums.get(drawing.claim, ZERO).plus(drawing.amount)
    largest = sorted(sums.items(), key=lambda each: each[1], reverse=True)
    told = [f"{claim} draws {amount}" for claim, amount in largest[:SHOWN]]
    if len(largest) > SHOWN:
        told.append(f"{len(largest) - SHOWN} more claims draw the rest")
    return ", ".join(told)


def _fixed(
    candidate: Candidate | None, holding: Holding, pool: Pool
) -> tuple[Holder, Iterable[tuple[CounterId, Quantity]]]:
    """What a held device draws once: the most that any record says, else what is published.

    Both, when a recorded counter has another name by now: what it gave must not be free again.
    """
    records = [holder.record for holder in holding.holders if holder.record is not None]
    amounts: dict[CounterId, Quantity] = {}
    for record in records:
        for counter, amount in record.once.items():
            amounts[counter] = max(amounts.get(counter, amount), amount)
    if candidate is not None and not all(_is_published(each, pool) for each in amounts):
        amounts = dict(candidate.draws) | amounts
    if records:
        return holding.holders[0], amounts.items()
    return holding.holders[0], candidate.draws if candidate is not None else ()


def _is_published(counter: CounterId, pool: Pool) -> bool:
    found = pool.counters.get(counter.set)
    return found is not None and counter.name in found.counters


def _metered(
    candidate: Candidate | None, holding: Holding, pool: Pool, *, in_milli: bool
) -> Iterator[tuple[Holder, Iterable[tuple[CounterId, Quantity]]]]:
    """What each holder draws by capacity."""
    for holder in holding.holders:
        if holder.record is not None:
            yield holder, holder.record.each.items()
        elif candidate is not None and candidate.meters:
            share = holder.consumed
            if holder.share is None:
                share, _ = capacity.consumption(
                    candidate.device.capacity,
                    {n: q for n, q in holder.wanted.items() if n in candidate.device.capacity},
                    in_milli=in_milli,
                )
            yield holder, _drawn_anyway(candidate, pool, share, holder.wanted, in_milli=in_milli)


def _drawn_anyway(
    candidate: Candidate, pool: Pool, share: Amounts, wanted: Amounts, *, in_milli: bool
) -> Iterator[tuple[CounterId, Quantity]]:
    """What a device that is held draws by capacity. A policy that forbids it by now came later:
    then it draws what it was given."""
    for counter, key in candidate.meters:
        asked = _asked(candidate, key, share, wanted)
        amount, why = _by_policy(pool, counter, key, asked, in_milli=in_milli)
        yield counter, max(asked or ZERO, ZERO) if why else amount


def _spellings(key: str, driver: str) -> tuple[str, ...]:
    """A capacity's name as written, and with or without the driver's domain (KEP-5941)."""
    domain, slash, name = key.partition("/")
    if not slash:
        return key, f"{driver}/{key}"
    return (key, name) if domain == driver else (key,)
