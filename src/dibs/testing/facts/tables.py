"""The nouns of a question as numbers: spots, wants, rules, and what a solution is.

Amounts are in thousandths. A spot and a want are known by their numbers: their places in `Facts`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dibs.model.objects import Device, DeviceToleration, ResourceSlice
from dibs.supply.identity import DeviceId
from dibs.values.quantity import Quantity

MOST_DEVICES = 32

# (driver, pool, counter set), and one counter of it.
CardKey = tuple[str, str, str]
CounterKey = tuple[str, str, str, str]
# An attribute's value with its type; of a list, each element is one.
Value = tuple[str, object]
# By request (claim, request): the number of the want, and the spots that it takes, in order.
Solution = Mapping[tuple[int, int], tuple[int, tuple[int, ...]]]


@dataclass(frozen=True, slots=True)
class Spot:
    """One device that the node sees, of a pool that is whole. Spots are in candidate order.

    `is_shared`: a share of it is held, so that what it draws once is drawn already.
    """

    id: DeviceId
    device: Device
    slice: ResourceSlice
    is_held: bool
    is_shared: bool
    left: Mapping[str, int]

    @property
    def is_shareable(self) -> bool:
        return bool(self.device.allow_multiple_allocations)

    @property
    def draws(self) -> dict[CounterKey, int]:
        """What it draws once, however many shares of it there are (KEP-4815)."""
        return {
            (self.id.driver, self.id.pool, draw.counter_set, name): milli(each.value)
            for draw in self.device.consumes_counters
            for name, each in draw.counters.items()
            if each.value_from is None
        }


@dataclass(frozen=True, slots=True)
class Take:
    """What one request draws of one device: of its capacities, and of counters by them."""

    consumed: Mapping[str, int]
    metered: Mapping[CounterKey, int]


@dataclass(frozen=True, slots=True)
class Want:
    """One request of one claim, or one alternative of it.

    `takes` has the spots that are good for it, taken alone. `count` of mode All is the length
    of its list; `is_hopeless` then says that the list is empty, or has a spot that isn't good.
    """

    claim: int
    request: int
    alternative: int
    name: str
    count: int
    is_all: bool
    is_admin: bool
    is_hopeless: bool
    takes: Mapping[int, Take]
    tolerations: tuple[DeviceToleration, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """One constraint: the values of each spot for each want (by number) that it is about."""

    is_match: bool
    values: Mapping[int, Mapping[int, frozenset[Value]]]


@dataclass(frozen=True, slots=True)
class Facts:
    """`wants` by claim, request and alternative, flat. `counters` is what is left of each;
    `modes` the groups that users of a counter set may still have, None where nobody uses it.

    `hopeless` says why no device need be looked at: one of the pools must be seen whole, and
    isn't; `fatal` that the claim asks for more than any claim may have.
    """

    spots: tuple[Spot, ...]
    wants: tuple[Want, ...]
    rules: tuple[Rule, ...]
    counters: Mapping[CounterKey, int]
    modes: Mapping[CardKey, frozenset[str] | None]
    hopeless: str = ""
    fatal: str = ""


def milli(amount: Quantity | None) -> int:
    """In thousandths. Finer amounts are beyond what is reckoned with here."""
    if amount is None:
        return 0
    exact = amount.exact_milli()
    assert exact is not None, amount
    return exact


def modes_of(groups: Sequence[str]) -> frozenset[str]:
    """A device without groups goes with others of that kind only: as if these were a group."""
    return frozenset(groups) or frozenset([""])
