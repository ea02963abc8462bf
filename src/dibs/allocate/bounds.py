"""What all devices mean to all asks, and when a draft can no longer become full.

Every device is judged for every ask once; sets of devices are ints, a bit a place. The bounds
count: too few devices left for an ask, for asks that share them, for one value of a match
constraint, too few values for a distinct one, too little of a counter. They only ever say no to
what is impossible.

Where the search might meet something fatal (a selector that fails, mode All under a constraint),
skipping a branch could hide it: then nothing may be skipped and there is no survey.
Source: Hall's condition; kubernetes#131730 (unsatisfiable claims take forever).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dibs.allocate import alike, capacity, modes, natives, totals
from dibs.allocate.alike import Likeness
from dibs.allocate.counters import Draws
from dibs.allocate.draft import Amounts, Draft, Drawn
from dibs.allocate.groups import Modes
from dibs.allocate.modes import Card
from dibs.allocate.natives import Least
from dibs.allocate.outcome import FATAL
from dibs.allocate.problem import Problem, Slot
from dibs.allocate.totals import Total
from dibs.request.asks import MAX_DEVICES, Ask, Constraint
from dibs.supply.identity import CounterId, CounterSetId, Groups
from dibs.supply.pools import Candidate
from dibs.values.quantity import Quantity

Places = int


class Demand(NamedTuple):
    """So many more devices for an ask, each from these places."""

    ask: Ask
    places: Places
    wanted: int


# A demand that can be met in one of several ways: the alternatives of a prioritized list.
Choice = Sequence[Demand]


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """`good` are the places an ask may have.

    `holders` says, for each constraint, at which places a value is found; `users` which devices
    draw how much from a counter, `members` with what they go on a counter set.
    """

    problem: Problem
    likeness: Likeness
    good: Mapping[Ask, Places]
    shareable: Places
    holders: Mapping[int, Mapping[object, Places]]
    users: Mapping[CounterId, Sequence[tuple[Places, Quantity]]]
    members: Mapping[CounterSetId, Sequence[tuple[Places, Groups]]]
    modes: Sequence[Card]
    totals: Sequence[Total]
    natives: Sequence[Least]

    @classmethod
    def of(cls, problem: Problem, good: Mapping[Ask, Places]) -> Survey:
        return cls(
            problem=problem,
            likeness=alike.compare(problem),
            good=good,
            shareable=_bits(
                place for place, each in enumerate(problem.candidates) if each.is_shareable
            ),
            holders=_holders(problem),
            users=_users(problem),
            members=_members(problem),
            modes=modes.of(problem),
            totals=totals.of(problem, good),
            natives=natives.least(problem, good),
        )

    def places(self, ask: Ask, draft: Draft) -> Iterator[int]:
        """The places to be tried, in order."""
        rest = self._free(ask, draft) >> draft.start
        place = draft.start
        while rest:
            step = (rest & -rest).bit_length()
            place += step
            rest >>= step
            yield place - 1

    def blocked_after(
        self, draft: Draft, candidate: Candidate, draws: Draws, drawn: Drawn
    ) -> Places:
        """Which devices the counters can't pay for, of those that draw where this one did."""
        left = self.problem.scene.left(candidate.pool)
        blocked = 0
        for counter, _ in draws:
            rest = left[counter].minus(drawn[counter])
            for place, amount in self.users.get(counter, ()):
                if amount > rest:
                    blocked |= place
        if blocked & self.shareable:
            blocked &= ~self._paid(draft, candidate)
        return blocked

    def clashing_after(self, draft: Draft, candidate: Candidate, modes: Modes) -> Places:
        """Which devices don't go with what uses the card now (KEP-5963)."""
        blocked = 0
        for owner, _ in candidate.groups:
            common = modes.get(owner)
            if common is None:
                continue
            for place, groups in self.members.get(owner, ()):
                if common.isdisjoint(groups):
                    blocked |= place
        if blocked & self.shareable:
            blocked &= ~self._paid(draft, candidate)
        return blocked

    def exhausted_after(self, candidate: Candidate, place: int, consumed: Amounts) -> Places:
        """The place of a shared device, if no ask could have another share of it."""
        scene = self.problem.scene
        room = scene.room(candidate)
        for ask in self.problem.asks:
            if self.good[ask] >> place & 1:
                wanted = scene.share(ask, candidate)[0]
                if not capacity.shortage(room, wanted, consumed):
                    return 0
        return 1 << place

    def _paid(self, draft: Draft, candidate: Candidate) -> Places:
        """Devices of which some share is out: further ones draw nothing from the counters."""
        return _bits(
            place
            for place, each in enumerate(self.problem.candidates)
            if each.is_shareable
            and (
                each is candidate
                or self.problem.scene.ledger.held(each.id).shares
                or ((use := draft.uses.get(each.id)) and use.shares)
            )
        )

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
        slots = self.problem.slots[len(draft.chosen) :]
        choices: list[Choice] = []
        floor = self.floor(draft)
        for number, slot in enumerate(slots, len(draft.chosen)):
            if number not in self.likeness.repeats:
                floor = 0
            choices.append(self._choice(slot, draft, floor))
        if draft.left:
            ask = draft.chosen[-1]
            rest = self._free(ask, draft) >> draft.start << draft.start
            choices.insert(0, (Demand(ask, rest, draft.left),))
        return (
            not all(_is_met(choice) for choice in choices)
            or _is_crowded(choices, self.shareable, self.modes)
            or self._is_oversized(draft, slots)
            or self._is_overdrawn(choices, draft)
            or self._is_contradicted(choices, draft)
        )

    def _choice(self, slot: Slot, draft: Draft, floor: int) -> Choice:
        return [
            Demand(ask, self._free(ask, draft) >> floor << floor, self.problem.needs[ask])
            for ask in slot.request.alternatives
        ]

    def _free(self, ask: Ask, draft: Draft) -> Places:
        if ask.is_admin:
            return self.good[ask]
        return self.good[ask] & ~(draft.taken | draft.blocked)

    def _is_oversized(self, draft: Draft, slots: Iterable[Slot]) -> bool:
        """Whether even the smallest alternatives are too many for the claim that is open."""
        size = draft.in_claim
        for slot in slots:
            if slot.opens_claim:
                break
            size += min(self.problem.needs[ask] for ask in slot.request.alternatives)
        return size > MAX_DEVICES

    def _is_overdrawn(self, choices: Sequence[Choice], draft: Draft) -> bool:
        # An alternative may draw less, or nothing: only requests without any are counted.
        wanted = [(choice[0].ask, choice[0].wanted) for choice in choices if len(choice) == 1]
        return any(total.is_overdrawn(draft, wanted) for total in self.totals) or any(
            each.is_overdrawn(draft, wanted) for each in self.natives
        )

    def _is_contradicted(self, choices: Sequence[Choice], draft: Draft) -> bool:
        """Whether some constraint leaves too few values for what is still wanted under it."""
        under: dict[tuple[int, Constraint], list[Choice]] = defaultdict(list)
        for choice in choices:
            for rule in self.problem.rules[choice[0].ask]:
                # An alternative that the constraint doesn't concern frees the whole choice of it.
                if all(rule in self.problem.rules[each.ask] for each in choice[1:]):
                    under[rule].append(choice)
        return any(
            self._lacks_values(constraint, self.holders[number], concerned, draft, number)
            for (number, constraint), concerned in under.items()
        )

    def _lacks_values(
        self,
        constraint: Constraint,
        holders: Mapping[object, Places],
        concerned: Sequence[Choice],
        draft: Draft,
        number: int,
    ) -> bool:
        seen = draft.values.get(number)
        wanted = sum(min(each.wanted for each in choice) for choice in concerned)
        # A value of no known type is good for a first device, but has no entry among the holders.
        if seen is None and wanted <= 1:
            return False
        if constraint.kind == "match":
            values: Iterable[object] = holders if seen is None else seen
            return not any(_has_room(concerned, holders.get(value, 0)) for value in values)
        free = 0
        for choice in concerned:
            for demand in choice:
                free |= demand.places
        left = 1 if seen is None else 0
        left += sum(1 for value, at in holders.items() if at & free and value not in (seen or ()))
        return left < wanted


def good_places(problem: Problem) -> Mapping[Ask, Places]:
    """The places that each ask may have, whatever else is picked."""
    return {ask: _good(problem, ask) for ask in problem.asks}


def is_short(problem: Problem, good: Mapping[Ask, Places]) -> bool:
    """Whether some request, taken alone, has too few places: the commonest no, found first."""
    return not all(
        any(0 < problem.needs[ask] <= good[ask].bit_count() for ask in slot.request.alternatives)
        for slot in problem.slots
    )


def might_be_fatal(problem: Problem) -> bool:
    """Whether the search may end in something fatal that skipping a branch could hide."""
    if not problem.is_strict:
        return False
    if any(ask.mode == "All" and problem.rules[ask] for ask in problem.asks):
        return True
    return any(
        _is_fatal(problem, ask, place)
        for ask in problem.asks
        for place in range(len(problem.candidates))
    )


def _is_fatal(problem: Problem, ask: Ask, place: int) -> bool:
    if against := problem.verdict(ask, place):
        return against.code in FATAL
    candidate = problem.candidates[place]
    return bool(ask.derived) and any(
        problem.scene.failure(ask, candidate, constraint.attribute)
        for _, constraint in problem.rules[ask]
    )


def _is_met(choice: Choice) -> bool:
    return any(0 < each.wanted <= each.places.bit_count() for each in choice)


def _has_room(concerned: Sequence[Choice], within: Places) -> bool:
    return all(
        any((each.places & within).bit_count() >= each.wanted for each in choice)
        for choice in concerned
    )


def _is_crowded(choices: Sequence[Choice], shareable: Places, by_mode: Sequence[Card]) -> bool:
    """Whether asks that must share the same devices want more than there are."""
    by_places: dict[Places, int] = defaultdict(int)
    union, wanted = 0, 0
    for choice in choices:
        places = 0
        for demand in choice:
            places |= demand.places
        # A device that is shared, or looked at with admin access, serves more than one ask.
        if places & shareable or any(demand.ask.is_admin for demand in choice):
            continue
        least = min(demand.wanted for demand in choice)
        by_places[places] += least
        union |= places
        wanted += least
    return wanted > modes.most(union, by_mode) or any(
        least > modes.most(places, by_mode) for places, least in by_places.items()
    )


def _good(problem: Problem, ask: Ask) -> Places:
    places: Iterable[int] = range(len(problem.candidates))
    if ask.mode == "All":
        places = problem.lists[ask]
    attributes = {constraint.attribute for _, constraint in problem.rules[ask]}
    return _bits(
        place
        for place in places
        if problem.verdict(ask, place) is None
        and all(
            problem.scene.values(ask, problem.candidates[place], attribute) is not None
            for attribute in attributes
        )
    )


def _bits(places: Iterable[int]) -> Places:
    bits = 0
    for place in places:
        bits |= 1 << place
    return bits


def _holders(problem: Problem) -> Mapping[int, Mapping[object, Places]]:
    constraints = dict(rule for ask in problem.asks for rule in problem.rules[ask])
    readers: dict[str, list[Ask]] = defaultdict(list)
    for name, ask in alike.readings(problem):
        readers[name].append(ask)
    holders: dict[int, dict[object, Places]] = {}
    for number, constraint in constraints.items():
        found: dict[object, Places] = defaultdict(int)
        for place, candidate in enumerate(problem.candidates):
            # Asks that derive the attribute differently may see different values: any will do.
            for ask in readers[constraint.attribute]:
                for value in problem.scene.values(ask, candidate, constraint.attribute) or ():
                    found[value] |= 1 << place
        holders[number] = found
    return holders


def _members(problem: Problem) -> Mapping[CounterSetId, Sequence[tuple[Places, Groups]]]:
    members: dict[CounterSetId, list[tuple[Places, Groups]]] = defaultdict(list)
    for place, candidate in enumerate(problem.candidates):
        for owner, groups in candidate.groups:
            members[owner].append((1 << place, groups))
    return members


def _users(problem: Problem) -> Mapping[CounterId, Sequence[tuple[Places, Quantity]]]:
    users: dict[CounterId, list[tuple[Places, Quantity]]] = defaultdict(list)
    for place, candidate in enumerate(problem.candidates):
        for counter, amount in candidate.draws:
            users[counter].append((1 << place, amount))
    return users
