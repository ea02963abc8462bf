"""Which devices are exchangeable, and which drafts have the same future.

Two devices are alike when every check of every ask says the same of both, whatever else is
picked. Then a way on from the later one is, with the two exchanged, a way on from the earlier,
so only the earlier is tried; and two drafts that took alike devices succeed or fail alike.
Whole cards are exchanged the same way (`cards`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from dibs.allocate import cards, natives
from dibs.allocate.cards import Card
from dibs.allocate.draft import Draft
from dibs.allocate.outcome import FATAL
from dibs.allocate.problem import Problem
from dibs.request.asks import Ask
from dibs.supply.pools import Candidate


@dataclass(frozen=True, slots=True, eq=False)
class Likeness:
    """`kinds` numbers alike devices alike; `cards` has the card of each partition, by place.

    `rules` are, for each number of asks chosen, the constraints that still concern somebody.
    `repeats` are the slots that want the same as the slot before.
    """

    problem: Problem
    kinds: Sequence[int]
    cards: Mapping[int, Card]
    rules: Sequence[Sequence[int]]
    repeats: frozenset[int]
    is_metered: bool

    def kind(self, place: int, draft: Draft) -> Hashable:
        """Equal for devices of which one stands for all; None once the draft uses the device."""
        if self.problem.candidates[place].id in draft.uses:
            return None
        card = self.cards.get(place)
        if card is None:
            return self.kinds[place]
        # The ask goes only forward, so cards are exchangeable only if it has passed as much of
        # one as of the other: else what it may still pick on them differs.
        return card.kind, card.state(draft.taken), card.passed(draft.start), place - card.first

    def outlook(self, draft: Draft) -> Hashable:
        """What decides whether a draft between two asks can become full; equal for equal hopes."""
        slots = self.problem.slots
        slot = slots[len(draft.chosen)] if len(draft.chosen) < len(slots) else None
        claim = slot.wish.number if slot else -1
        whole: dict[Hashable, int] = defaultdict(int)
        used_cards = set()
        # Device by device, not pick by pick: one may be both taken and looked at as an admin.
        for place in {pick.place for pick in draft.picks if pick.share is None}:
            if card := self.cards.get(place):
                used_cards.add(card)
            else:
                use = draft.uses[self.problem.candidates[place].id]
                whole[self.kinds[place], use.is_whole, claim in use.claims] += 1
        for card in used_cards:
            whole[card.kind, card.state(draft.taken)] += 1
        return (
            len(draft.chosen),
            0 if slot is None or slot.opens_claim else draft.in_claim,
            frozenset(whole.items()),
            frozenset(
                (device, use.shares, frozenset(use.consumed.items()))
                for device, use in draft.uses.items()
                if use.shares
            ),
            tuple((number, draft.values.get(number)) for number in self.rules[len(draft.chosen)]),
            # How much was drawn by capacity depends on who drew it (KEP-5941).
            frozenset(draft.drawn.items()) if self.is_metered else None,
            natives.outlook(self.problem, draft),
        )


def compare(problem: Problem) -> Likeness:
    """Judge every device for every ask, and number what is alike."""
    looks = _looks(problem)
    # A pick with admin access is no part of a card's state, so then no cards are exchanged.
    has_admin = any(ask.is_admin for ask in problem.asks)
    numbers: dict[Hashable, int] = {}
    kinds = [
        numbers.setdefault((look, *_needs(problem, candidate)), len(numbers))
        for look, candidate in zip(looks, problem.candidates, strict=True)
    ]
    dealt = {} if has_admin else cards.deal(problem.candidates, looks, problem.scene)
    rules = [
        sorted(
            {
                number
                for slot in problem.slots[chosen:]
                for ask in slot.request.alternatives
                for number, _ in problem.rules[ask]
            }
        )
        for chosen in range(len(problem.slots) + 1)
    ]
    is_metered = any(candidate.meters for candidate in problem.candidates)
    return Likeness(problem, kinds, dealt, rules, frozenset(_repeats(problem)), is_metered)


def _needs(problem: Problem, candidate: Candidate) -> Iterable[Hashable]:
    """What of which counters the device draws, for each ask, and with what it goes."""
    yield frozenset(candidate.draws)
    yield candidate.groups
    if candidate.meters:
        yield tuple(problem.scene.metered(ask, candidate) for ask in problem.asks)


def _repeats(problem: Problem) -> Iterable[int]:
    for number, (before, slot) in enumerate(pairwise(problem.slots), 1):
        one, other = before.request.alternatives[0], slot.request.alternatives[0]
        if (
            not before.request.is_prioritized
            and not slot.request.is_prioritized
            and not one.is_admin
            and not other.is_admin
            and one.mode == other.mode == "ExactCount"
            and one.count == other.count
            and one.capacity == other.capacity
            and one.derived == other.derived
            and problem.rules[one] == problem.rules[other]
            and natives.is_same(problem, one, other)
            and all(
                (problem.verdict(one, place) is None) == (problem.verdict(other, place) is None)
                for place in range(len(problem.candidates))
            )
        ):
            yield number


def _looks(problem: Problem) -> list[Hashable]:
    """Everything that tells devices apart, but for the counters they draw from."""
    lists = [frozenset(places) for places in problem.lists.values()]
    attributes = readings(problem)
    return [
        (
            tuple(_verdict(problem, place)),
            tuple(place in listed for listed in lists),
            tuple(problem.scene.values(ask, candidate, name) for name, ask in attributes),
            _share_look(problem, candidate) if candidate.is_shareable else None,
            natives.look(problem, candidate),
        )
        for place, candidate in enumerate(problem.candidates)
    ]


def readings(problem: Problem) -> Sequence[tuple[str, Ask]]:
    """The attributes that constraints compare, each with an ask that reads it in its own way."""
    found: dict[tuple[str, str | None], Ask] = {}
    for ask in problem.asks:
        for _, constraint in problem.rules[ask]:
            name = constraint.attribute
            found.setdefault((name, ask.derived.get(name)), ask)
    return [(name, ask) for (name, _), ask in found.items()]


def _verdict(problem: Problem, place: int) -> Sequence[bool | None]:
    """For each ask: None is yes, True is a failing selector, False any other no."""
    reasons = (problem.verdict(ask, place) for ask in problem.asks)
    return [None if reason is None else reason.code in FATAL for reason in reasons]


def _share_look(problem: Problem, candidate: Candidate) -> Hashable:
    """What sharing a device depends on: its totals, what is consumed, what each ask would take."""
    holding = problem.scene.ledger.held(candidate.id)
    return (
        bool(holding.shares),
        frozenset(holding.consumed.items()),
        frozenset((name, each.value) for name, each in candidate.device.capacity.items()),
        tuple(frozenset(problem.scene.share(ask, candidate)[0].items()) for ask in problem.asks),
    )
