"""What a counter set has left as one integer: a pick of a partition is a subtraction (KEP-4815).

Each counter has a field in the integer, in billionths, with a guard bit on top. The guard is set
as long as no more was taken than was there. So a device can be paid for if, with its price taken
off, the guards of all counters that it names are still set. This is exact: an amount that is too
large for its field is one more than the counter ever has.
How much is left, and what is drawn, `counters` works out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from dibs.supply.identity import CounterId, CounterSetId
from dibs.values.quantity import Quantity

Purse = int

# What counter sets have left, of those that somebody drew from.
Purses = Mapping[CounterSetId, Purse]

# No counter has more than this: of two that have 10^2000 nobody can tell which is more.
MOST = 10**2010


class Price(NamedTuple):
    """What a device draws from one counter set, and the guards of the counters that it names."""

    owner: CounterSetId
    amount: Purse
    guards: int

    def is_covered(self, purse: Purse) -> bool:
        return (purse - self.amount) & self.guards == self.guards


Prices = tuple[Price, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """Where in the integer each counter of a set is, by its name; `whole` is with nothing taken."""

    owner: CounterSetId
    counters: tuple[CounterId, ...]
    shifts: Mapping[str, int]
    most: Mapping[str, int]
    width: int
    whole: Purse

    @classmethod
    def of(cls, owner: CounterSetId, given: Mapping[CounterId, Quantity]) -> Layout:
        most = {counter.name: min(max(_nano(amount), 0), MOST) for counter, amount in given.items()}
        # Room for a fixed price and one by capacity, each up to one more than there is.
        width = max(most.values(), default=0).bit_length() + 3
        shifts = {name: number * width for number, name in enumerate(most)}
        bare = cls(owner, tuple(given), shifts, most, width, 0)
        return replace(bare, whole=bare.filled(given))

    def filled(self, left: Mapping[CounterId, Quantity]) -> Purse:
        """The purse with so much left of each counter; one that is overdrawn has no guard."""
        guard, purse = 1 << self.width - 1, 0
        for counter, amount in left.items():
            rest = min(_nano(amount), self.most[counter.name])
            # Below the guard there is room for any price to be taken off.
            purse |= (guard + max(rest, -1)) << self.shifts[counter.name]
        return purse

    def left(self, purse: Purse, name: str) -> int:
        """How much a purse has of a counter, in billionths; -1 when it is overdrawn."""
        field = purse >> self.shifts[name] & (1 << self.width) - 1
        return field - (1 << self.width - 1)

    def short(self, purse: Purse, price: Price) -> str:
        """The first counter that a purse has too little of for a price."""
        missing = price.guards & ~(purse - price.amount)
        return next(name for name in self.shifts if missing >> self.top(name) & 1)

    def top(self, name: str) -> int:
        """Which bit is the guard of a counter."""
        return self.shifts[name] + self.width - 1

    def price(self, draws: Iterable[tuple[CounterId, Quantity]]) -> Price:
        """Of what is drawn from this set. Nobody draws less than nothing."""
        amounts: dict[str, int] = defaultdict(int)
        for counter, amount in draws:
            amounts[counter.name] += _nano(amount)
        total = guards = 0
        for name, drawn in amounts.items():
            total += min(drawn, self.most[name] + 1) << self.shifts[name]
            guards |= 1 << self.top(name)
        return Price(self.owner, total, guards)


def joined(prices: Iterable[Price]) -> Prices:
    """One price for each set, where a device draws both fixed amounts and by capacity."""
    sums: dict[CounterSetId, Price] = {}
    for price in prices:
        if known := sums.get(price.owner):
            price = Price(price.owner, known.amount + price.amount, known.guards | price.guards)
        sums[price.owner] = price
    return tuple(sums.values())


def _nano(amount: Quantity) -> int:
    nano = amount.exact_nano()
    return amount.sign() * (MOST + 1) if nano is None else nano
