"""What all devices mean to all asks, and when a draft can no longer become full.

Every device is judged for every ask once; sets of devices are ints, a bit a place. The bounds
count: too few devices left for all that is wanted, for one value of a match constraint, too few
values for a distinct one, too little of a counter or of a shared capacity. They only ever say no to
what is impossible.

Where skipping a branch could hide something fatal (`chances`) there is no survey.
Source: Hall's condition; kubernetes#131730 (unsatisfiable claims take forever).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dibs.allocate import (
    agreement,
    alike,
    capacity,
    matching,
    modes,
    natives,
    places,
    rooms,
    rules,
    totals,
)
from dibs.allocate.agreement import Rule
from dibs.allocate.alike import Likeness
from dibs.allocate.draft import Amounts, Draft
from dibs.allocate.groups import Modes
from dibs.allocate.modes import Card
from dibs.allocate.natives import Least
from dibs.allocate.places import Places
from dibs.allocate.problem import Problem, Slot
from dibs.allocate.purses import Price, Prices, Purse, Purses
from dibs.allocate.rooms import Room
from dibs.allocate.totals import Total
from dibs.allocate.wants import Choice, Demand, Rest
from dibs.request.asks import MAX_DEVICES, Ask
from dibs.supply.identity import CounterSetId, Groups
from dibs.supply.pools import Candidate

# A bound that looks at so many bits of so many sets takes as long as a step of the search.
BITS_A_STEP = 400_000
VALUES_A_STEP = 200
# … or that meets so many wants, each against each, from the same devices.
WANTS_A_STEP = 16


class Effort:
    """What bounds have cost, in steps of the search: on large nodes they are most of it."""

    __slots__ = ("spent",)

    def __init__(self) -> None:
        self.spent = 0


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """`good` are the places an ask may have, `rules` the constraints with who has which value.

    `users` says which devices draw how much from a counter set, `members` with what they go there,
    `rooms` what shared devices have left.
    """

    problem: Problem
    likeness: Likeness
    good: Mapping[Ask, Places]
    shareable: Places
    rules: Sequence[Rule]
    users: Mapping[CounterSetId, Mapping[Price, Places]]
    members: Mapping[CounterSetId, Mapping[Groups, Places]]
    modes: Sequence[Card]
    totals: Sequence[Total]
    rooms: Sequence[Room]
    natives: Sequence[Least]
    rest: Rest
    # For each number of asks chosen, how many devices the rest of the open claim takes at least.
    sizes: Sequence[int]
    has_admin: bool
    effort: Effort = field(default_factory=Effort)
    _unpaid: dict[tuple[CounterSetId, Purse], Places] = field(default_factory=dict)

    @classmethod
    def of(cls, problem: Problem, good: Mapping[Ask, Places]) -> Survey:
        shelf = problem.scene.shelf
        is_drawing = "drawing" in shelf.traits
        is_grouped = "grouped" in shelf.traits
        likeness = alike.compare(problem, good)
        shareable = shelf.shareable if "shareable" in shelf.traits else 0
        return cls(
            problem=problem,
            likeness=likeness,
            good=good,
            shareable=shareable,
            rules=rules.of(problem, good),
            users=shelf.users if is_drawing else {},
            members=shelf.members if is_grouped else {},
            modes=shelf.modes if is_grouped else (),
            totals=totals.of(problem, good) if is_drawing else (),
            rooms=rooms.of(problem, good, shareable),
            natives=natives.least(problem, good),
            rest=Rest(problem, likeness.sorts, likeness.repeats),
            sizes=_sizes(problem),
            has_admin=any(ask.is_admin for ask in problem.asks),
        )

    def places(self, ask: Ask, draft: Draft) -> Iterator[int]:
        """The places to be tried, in order."""
        return places.each(self._free(ask, draft), draft.start)

    def blocked_after(
        self, draft: Draft, candidate: Candidate, prices: Prices, purses: Purses
    ) -> Places:
        """Which devices the counters can't pay for, of those that draw where this one did."""
        blocked = 0
        for owner, _, _ in prices:
            state = owner, purses[owner]
            if state not in self._unpaid:
                self._unpaid[state] = self._unpaid_with(*state)
            blocked |= self._unpaid[state]
        if blocked & self.shareable:
            blocked &= ~self._paid(draft, candidate, blocked)
        return blocked

    def _unpaid_with(self, owner: CounterSetId, purse: Purse) -> Places:
        """The devices that draw more from a set than a purse has. Of a card's there are few."""
        users = self.users.get(owner, {}).items()
        return places.union(at for price, at in users if not price.is_covered(purse))

    def clashing_after(self, draft: Draft, candidate: Candidate, modes: Modes) -> Places:
        """Which devices don't go with what uses the card now (KEP-5963)."""
        blocked = 0
        for owner, _ in candidate.groups:
            common = modes.get(owner)
            if common is None:
                continue
            for groups, at in self.members.get(owner, {}).items():
                if common.isdisjoint(groups):
                    blocked |= at
        if blocked & self.shareable:
            blocked &= ~self._paid(draft, candidate, blocked)
        return blocked

    def exhausted_after(self, candidate: Candidate, place: int, consumed: Amounts) -> Places:
        """The place of a shared device, if no ask could have another share of it."""
        scene = self.problem.scene
        room = scene.room(candidate)
        for ask in self.likeness.speakers:
            if self.good[ask] >> place & 1:
                wanted = scene.share(ask, candidate)[0]
                if not capacity.shortage(room, wanted, consumed):
                    return 0
        return 1 << place

    def _paid(self, draft: Draft, candidate: Candidate, among: Places) -> Places:
        """Devices of which some share is out: further ones draw nothing from the counters."""
        paid = 0
        for place in places.each(among & self.shareable):
            each = self.problem.candidates[place]
            use = draft.uses.get(each.id)
            has_shares = self.problem.scene.ledger.held(each.id).shares or (use and use.shares)
            if has_shares or each is candidate:
                paid |= 1 << place
        return paid

    def floor(self, draft: Draft) -> int:
        """The first place at which a request equal to the last one need look.

        Two equal requests can exchange their devices, so the first way to fill both has them in
        order: what begins before the last one's first device has been tried, the other way round.
        """
        if len(draft.chosen) not in self.likeness.repeats:
            return 0
        ask = draft.chosen[-1]
        had = self.problem.needs[ask] - draft.left
        if not had:
            return draft.start
        place = draft.picks[-had].place
        return place if self.shareable >> place & 1 else place + 1

    def is_hopeless(self, draft: Draft) -> bool:
        """Whether counting alone shows that the draft can't become full."""
        if self._is_oversized(draft):
            return True
        choices: list[Choice] = []
        for choice in self._choices(draft):
            possible = choice.possible
            if possible is None:
                return True
            choices.append(possible)
        self._spend(choices)
        if self._is_overdrawn(choices, draft):
            return True
        used = [(room, room.used(draft)) for room in self.rooms]
        if not self.rules:
            return not self._has_room(choices, used)
        return not agreement.is_possible(
            self.rules, choices, draft, self.problem, lambda each: self._has_room(each, used)
        )

    def _spend(self, choices: Sequence[Choice]) -> None:
        """Charge for what is looked at: sets of devices, and values of constraints."""
        sets = sum(len(choice.demands) for choice in choices)
        bits = sets * len(self.problem.candidates)
        values = sum(len(rule.holders) for rule in self.rules) * sets
        self.effort.spent += bits // BITS_A_STEP + values // VALUES_A_STEP

    def _choices(self, draft: Draft) -> Iterator[Choice]:
        """What the draft still wants: the rest of the last ask, asks equal to it, all others."""
        number = len(draft.chosen)
        if draft.left:
            ask = draft.chosen[-1]
            rest = self._free(ask, draft) >> draft.start << draft.start
            yield Choice((Demand(ask, rest, draft.left),), 1)
        floor = self.floor(draft)
        if chain := self.rest.chain(number) if floor else 0:
            yield self._choice(self.problem.slots[number], draft, floor, chain)
        for run in self.rest.after(number + chain):
            yield self._choice(run.slot, draft, 0, run.times)

    def _choice(self, slot: Slot, draft: Draft, floor: int, times: int) -> Choice:
        demands = [
            Demand(ask, self._free(ask, draft) >> floor << floor, self.problem.needs[ask])
            for ask in slot.request.alternatives
        ]
        return Choice(tuple(demands), times)

    def _free(self, ask: Ask, draft: Draft) -> Places:
        if ask.is_admin:
            return self.good[ask]
        return self.good[ask] & ~(draft.taken | draft.blocked)

    def _is_oversized(self, draft: Draft) -> bool:
        """Whether even the smallest alternatives are too many for the claim that is open."""
        return draft.in_claim + self.sizes[len(draft.chosen)] > MAX_DEVICES

    def _is_overdrawn(self, choices: Sequence[Choice], draft: Draft) -> bool:
        if self.totals and totals.are_overdrawn(self.totals, draft, choices, self.problem.scene):
            return True
        if not self.natives:
            return False
        # An alternative may draw less, or nothing: only requests without any are counted.
        wanted = [
            (demand.ask, demand.wanted * choice.times)
            for choice in choices
            for demand in choice.demands
            if len(choice.demands) == 1
        ]
        return any(each.is_overdrawn(draft, wanted) for each in self.natives)

    def _has_room(
        self, choices: Sequence[Choice], used: Iterable[tuple[Room, Mapping[int, int]]]
    ) -> bool:
        """Whether there are devices enough for all together, and capacity of shared ones beside
        what is used of each."""
        self.effort.spent += len(choices) * len(choices) // WANTS_A_STEP
        # A device that is shared, or looked at with admin access, serves more than one ask.
        sole = [
            (at, choice.least)
            for choice in choices
            for at in (choice.places,)
            if not at & self.shareable and not self._may_look(choice)
        ]
        return (
            matching.fits(sole)
            and not self._is_crowded(sole)
            and all(room.has_for(choices, taken) for room, taken in used)
        )

    def _may_look(self, choice: Choice) -> bool:
        """Whether it may be met with admin access, which takes nothing."""
        return self.has_admin and any(each.ask.is_admin for each in choice.demands)

    def _is_crowded(self, wants: Sequence[tuple[Places, int]]) -> bool:
        """Whether more is wanted than there is if every card goes in one mode."""
        if not self.modes:
            return False
        by_places: dict[Places, int] = defaultdict(int)
        union = 0
        for at, least in wants:
            by_places[at] += least
            union |= at
        return sum(by_places.values()) > modes.most(union, self.modes) or any(
            least > modes.most(at, self.modes) for at, least in by_places.items()
        )


def _sizes(problem: Problem) -> Sequence[int]:
    sizes = [0]
    for slot in reversed(problem.slots):
        least = min(problem.needs[ask] for ask in slot.request.alternatives)
        sizes.append(0 if slot.opens_claim else sizes[-1] + least)
    return sizes[::-1]
