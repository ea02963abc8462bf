"""The state of one attempt: what has been picked so far, and what it adds up to.

A draft is a value. Growing it makes a new one and leaves the old one as it was, so that going
back is forgetting and nothing is ever undone.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from dibs.allocate.purses import Purses
from dibs.request.asks import Ask
from dibs.supply.identity import CounterId, CounterSetId, DeviceId, Groups
from dibs.supply.pools import Candidate
from dibs.values.quantity import Quantity

# What a constraint has seen: tagged values such as ("string", "pci0000:01").
Values = frozenset[tuple[str, object]]


Amounts = Mapping[str, Quantity]
Drawn = Mapping[CounterId, Quantity]

NO_AMOUNTS: Amounts = {}


class Pick(msgspec.Struct, frozen=True, eq=False):
    """One device for one ask; `share` is what it consumes of a shareable device, else None."""

    ask: Ask
    candidate: Candidate
    place: int  # the candidate's index in the order of candidates
    share: Amounts | None = None


class Use(msgspec.Struct, frozen=True):
    """How this attempt uses one device: wholly, or by how many shares, for which claims."""

    is_whole: bool = False
    shares: int = 0
    consumed: Amounts = NO_AMOUNTS
    claims: frozenset[int] = frozenset()


UNUSED = Use()


class Draft(msgspec.Struct, frozen=True, eq=False):
    """Picks of the asks chosen so far; the last ask chosen may still want some.

    `taken` has a bit for each candidate that is used up, `blocked` (where somebody works it out)
    one for each that the counters can't pay for any more. `purses` is what counter sets have left
    (`purses`), of those from which the picks draw. `values` is what each constraint has seen, by
    the constraint's number in the problem.
    """

    chosen: tuple[Ask, ...] = ()
    picks: tuple[Pick, ...] = ()
    # The last ask: how many devices it still wants, and the place from which it looks on.
    left: int = 0
    start: int = 0
    # Devices promised to the claim of the last ask: at most MAX_DEVICES.
    in_claim: int = 0
    taken: int = 0
    blocked: int = 0
    uses: Mapping[DeviceId, Use] = {}
    purses: Purses = {}
    values: Mapping[int, Values] = {}
    # In which modes the picks use counter sets (KEP-5963).
    modes: Mapping[CounterSetId, Groups | None] = {}

    @property
    def is_between(self) -> bool:
        """Whether the last ask has all it wants."""
        return self.left == 0

    def choosing(self, ask: Ask, wanted: int, promised: int, start: int) -> Draft:
        """One ask more; its claim has `promised` devices to earlier ones."""
        return Draft(
            (*self.chosen, ask),
            self.picks,
            wanted,
            start,
            promised + wanted,
            self.taken,
            self.blocked,
            self.uses,
            self.purses,
            self.values,
            self.modes,
        )

    def plus(
        self,
        pick: Pick,
        purses: Purses,
        blocked: int,
        values: Mapping[int, Values],
        modes: Mapping[CounterSetId, Groups | None],
    ) -> Draft:
        """One device more; the other arguments are what they are with this pick in them."""
        device = pick.candidate.id
        use = self.uses.get(device, UNUSED)
        is_whole = not pick.ask.is_admin and pick.share is None
        return Draft(
            self.chosen,
            (*self.picks, pick),
            self.left - 1,
            pick.place + 1,
            self.in_claim,
            self.taken | 1 << pick.place if is_whole else self.taken,
            blocked,
            {**self.uses, device: _grown(use, pick, is_whole)},
            purses,
            values,
            modes,
        )


@lru_cache(maxsize=64)
def _whole(claim: int) -> Use:
    """How most devices are used: by one claim, and wholly."""
    return Use(is_whole=True, claims=frozenset([claim]))


def _grown(use: Use, pick: Pick, is_whole: bool) -> Use:
    if is_whole and use is UNUSED:
        return _whole(pick.ask.claim_number)
    claims = use.claims | {pick.ask.claim_number}
    if pick.ask.is_admin or pick.share is None:
        # Admin access takes nothing from anyone (KEP-5018).
        return Use(use.is_whole or is_whole, use.shares, use.consumed, claims)
    return Use(use.is_whole, use.shares + 1, total(use.consumed, pick.share), claims)


def total(left: Amounts, right: Amounts) -> Amounts:
    """The sum, name by name."""
    summed = dict(left)
    for name, amount in right.items():
        summed[name] = summed[name].plus(amount) if name in summed else amount
    return summed
