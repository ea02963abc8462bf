"""What all devices mean to all asks, and when a draft can no longer become full.

Every device is judged for every ask once; sets of devices are ints, a bit a place. The bounds
count: too few devices left for an ask, for asks that share them, for one value of a match
constraint, too few values for a distinct one. They only ever say no to what is impossible.

Where the search might meet something fatal (a selector that fails, mode All under a constraint),
skipping a branch could hide it: then the survey isn't exact and bounds nothing.
Source: Hall's condition; kubernetes#131730 (unsatisfiable claims take forever).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from dibs.allocate import counters
from dibs.allocate.draft import Draft
from dibs.allocate.problem import Problem, Slot
from dibs.request.asks import MAX_DEVICES, Ask, Constraint
from dibs.supply.pools import Candidate

Places = int


@dataclass(frozen=True, slots=True)
class Demand:
    """So many more devices, each from the places of one of the alternatives."""

    ask: Ask
    places: Places
    wanted: int


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """`good` are the places an ask may have, `kinds` numbers alike devices alike.

    `holders` says, for each constraint, at which places a value is found.
    """

    problem: Problem
    is_exact: bool
    good: Mapping[Ask, Places]
    kinds: tuple[int, ...]
    shareable: Places
    holders: Mapping[int, Mapping[object, Places]]

    @classmethod
    def of(cls, problem: Problem) -> Survey:
        good = {ask: _good(problem, ask) for ask in problem.asks}
        return cls(
            problem=problem,
            is_exact=not (problem.is_strict and _might_be_fatal(problem)),
            good=good,
            kinds=_kinds(problem),
            shareable=_bits(
                place for place, each in enumerate(problem.candidates) if each.is_shareable
            ),
            holders=_holders(problem),
        )

    def places(self, ask: Ask, start: int) -> Iterator[int]:
        """The places to be tried, in order; all of them where one might be fatal."""
        if not self.is_exact:
            yield from range(start, len(self.problem.candidates))
            return
        rest = self.good[ask] >> start
        place = start
        while rest:
            step = (rest & -rest).bit_length()
            place += step
            rest >>= step
            yield place - 1

    def kind(self, place: int, draft: Draft) -> int | None:
        """Which devices it is alike to; None once the draft uses it in some way."""
        return None if self.problem.candidates[place].id in draft.uses else self.kinds[place]

    def outlook(self, draft: Draft) -> Hashable:
        """What decides whether a draft between two asks can become full; equal for equal hopes."""
        opens = self.problem.slots[len(draft.chosen)] if self._is_open(draft) else None
        claim = opens.wish.number if opens else -1
        whole: dict[tuple[int, bool, bool], int] = defaultdict(int)
        shared = []
        for pick in draft.picks:
            if pick.share is None:
                is_same_claim = pick.ask.claim_number == claim
                whole[self.kinds[pick.place], pick.ask.is_admin, is_same_claim] += 1
        for device, use in draft.uses.items():
            if use.shares:
                shared.append((device, use.shares, frozenset(use.consumed.items())))
        rules = self._open_rules(draft)
        return (
            len(draft.chosen),
            0 if opens and opens.opens_claim else draft.in_claim,
            frozenset(whole.items()),
            frozenset(shared),
            tuple((number, draft.values.get(number)) for number in rules),
        )

    def is_hopeless(self, draft: Draft) -> bool:
        """Whether counting alone shows that the draft can't become full."""
        if not self.is_exact:
            return False
        slots = self.problem.slots[len(draft.chosen) :]
        demands = [self._demands(slot, draft) for slot in slots]
        if draft.left:
            ask = draft.chosen[-1]
            rest = self._free(ask, draft) >> draft.start << draft.start
            demands.insert(0, (Demand(ask, rest, draft.left),))
        return (
            any(not any(map(_is_met, demand)) for demand in demands)
            or _is_crowded(demands, self.shareable)
            or self._is_oversized(draft, slots)
            or any(
                self._is_contradicted(number, constraint, demands, draft)
                for number, constraint in self._constraints(demands)
            )
        )

    def _is_open(self, draft: Draft) -> bool:
        return len(draft.chosen) < len(self.problem.slots)

    def _open_rules(self, draft: Draft) -> tuple[int, ...]:
        slots = self.problem.slots[len(draft.chosen) :]
        asks = (ask for slot in slots for ask in slot.request.alternatives)
        return tuple(sorted({number for ask in asks for number, _ in self.problem.rules[ask]}))

    def _demands(self, slot: Slot, draft: Draft) -> tuple[Demand, ...]:
        return tuple(
            Demand(ask, self._free(ask, draft), self.problem.needs[ask])
            for ask in slot.request.alternatives
        )

    def _free(self, ask: Ask, draft: Draft) -> Places:
        return self.good[ask] if ask.is_admin else self.good[ask] & ~draft.taken

    def _is_oversized(self, draft: Draft, slots: Iterable[Slot]) -> bool:
        """Whether even the smallest alternatives are too many for the claim that is open."""
        size = draft.in_claim
        for slot in slots:
            if slot.opens_claim:
                break
            size += min(self.problem.needs[ask] for ask in slot.request.alternatives)
        return size > MAX_DEVICES

    def _constraints(self, demands: list[tuple[Demand, ...]]) -> Iterable[tuple[int, Constraint]]:
        asks = (demand.ask for alternatives in demands for demand in alternatives)
        return dict(rule for ask in asks for rule in self.problem.rules[ask]).items()

    def _is_contradicted(
        self,
        number: int,
        constraint: Constraint,
        demands: list[tuple[Demand, ...]],
        draft: Draft,
    ) -> bool:
        # An alternative that the constraint doesn't concern makes no demand on its values.
        concerned = [
            alternatives
            for alternatives in demands
            if all((number, constraint) in self.problem.rules[each.ask] for each in alternatives)
        ]
        wanted = sum(min(each.wanted for each in alternatives) for alternatives in concerned)
        seen = draft.values.get(number)
        if wanted == 0 or (seen is None and wanted == 1):
            return False
        holders = self.holders[number]
        if constraint.kind == "match":
            values: Iterable[object] = holders if seen is None else seen
            return not any(_has_room(concerned, holders.get(value, 0)) for value in values)
        free = 0
        for alternatives in concerned:
            for demand in alternatives:
                free |= demand.places
        # One device whose value is of no known type may be the first of a distinct constraint.
        left = 1 if seen is None else 0
        left += sum(1 for value, at in holders.items() if value not in (seen or ()) and at & free)
        return left < wanted


def _is_met(demand: Demand) -> bool:
    return 0 < demand.wanted <= demand.places.bit_count()


def _has_room(concerned: list[tuple[Demand, ...]], within: Places) -> bool:
    return all(
        any((each.places & within).bit_count() >= each.wanted for each in alternatives)
        for alternatives in concerned
    )


def _is_crowded(demands: list[tuple[Demand, ...]], shareable: Places) -> bool:
    """Whether asks that must share the same devices want more than there are."""
    by_places: dict[Places, int] = defaultdict(int)
    union, wanted = 0, 0
    for alternatives in demands:
        places = 0
        for demand in alternatives:
            places |= demand.places
        # A device that is shared, or looked at with admin access, serves more than one ask.
        if places & shareable or any(demand.ask.is_admin for demand in alternatives):
            continue
        least = min(demand.wanted for demand in alternatives)
        by_places[places] += least
        union |= places
        wanted += least
    return wanted > union.bit_count() or any(
        least > places.bit_count() for places, least in by_places.items()
    )


def _might_be_fatal(problem: Problem) -> bool:
    if any(ask.mode == "All" and problem.rules[ask] for ask in problem.asks):
        return True
    return any(
        (against := problem.verdict(ask, place)) is not None and against.code == "selector-error"
        for ask in problem.asks
        for place in range(len(problem.candidates))
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
            problem.scene.values(problem.candidates[place], attribute) is not None
            for attribute in attributes
        )
    )


def _bits(places: Iterable[int]) -> Places:
    return sum(1 << place for place in set(places))


def _holders(problem: Problem) -> Mapping[int, Mapping[object, Places]]:
    constraints = dict(rule for ask in problem.asks for rule in problem.rules[ask])
    holders: dict[int, dict[object, Places]] = {}
    for number, constraint in constraints.items():
        found: dict[object, Places] = defaultdict(int)
        for place, candidate in enumerate(problem.candidates):
            for value in problem.scene.values(candidate, constraint.attribute) or ():
                found[value] |= 1 << place
        holders[number] = found
    return holders


def _kinds(problem: Problem) -> tuple[int, ...]:
    """Number the devices so that equal numbers mean: exchangeable in every respect."""
    numbers: dict[Hashable, int] = {}
    lists = {ask: frozenset(places) for ask, places in problem.lists.items()}
    asks = problem.asks
    attributes = sorted(
        {constraint.attribute for ask in asks for _, constraint in problem.rules[ask]}
    )
    kinds = []
    for place, candidate in enumerate(problem.candidates):
        verdicts = tuple(
            (reason.code == "selector-error") if (reason := problem.verdict(ask, place)) else None
            for ask in asks
        )
        key = (
            verdicts,
            tuple(place in listed for listed in lists.values()),
            tuple(problem.scene.values(candidate, attribute) for attribute in attributes),
            frozenset(counters.draws(candidate)),
            _share_kind(problem, candidate) if candidate.is_shareable else None,
        )
        kinds.append(numbers.setdefault(key, len(numbers)))
    return tuple(kinds)


def _share_kind(problem: Problem, candidate: Candidate) -> Hashable:
    """What sharing a device depends on: its totals, what is consumed, what each ask would take."""
    holding = problem.scene.ledger.held(candidate.id)
    return (
        bool(holding.shares),
        frozenset(holding.consumed.items()),
        frozenset((name, each.value) for name, each in candidate.device.capacity.items()),
        tuple(frozenset(problem.scene.share(ask, candidate)[0].items()) for ask in problem.asks),
    )
