"""Which devices are exchangeable, which asks want the same, and which drafts have the same future.

Two devices are alike when every check of every ask says the same of both, whatever else is
picked. Then a way on from the later one is, with the two exchanged, a way on from the earlier,
so only the earlier is tried; and two drafts that took alike devices succeed or fail alike.
Whole cards are exchanged the same way (`cards`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from dibs.allocate import natives, places
from dibs.allocate.cards import Card
from dibs.allocate.draft import Draft, Use
from dibs.allocate.places import Places
from dibs.allocate.problem import Problem
from dibs.request.asks import Ask
from dibs.supply.identity import NO_GROUPS
from dibs.supply.pools import Candidate

# The kind of devices that no ask can have.
NONE = -1


@dataclass(frozen=True, slots=True, eq=False)
class Likeness:
    """`kinds` numbers alike devices alike; `cards` has the card of each partition, by place.

    `sorts` numbers asks that want the same alike, `speakers` has one ask of each. `rules` are, for
    each number of asks chosen, the constraints that still concern somebody. `repeats` are the slots
    that want the same as the slot before.
    """

    problem: Problem
    kinds: Sequence[int]
    cards: Mapping[int, Card]
    sorts: Mapping[Ask, int]
    speakers: Sequence[Ask]
    rules: Sequence[Sequence[int]]
    repeats: frozenset[int]
    is_metered: bool

    def kind(self, place: int, draft: Draft) -> Hashable:
        """Equal for devices of which one stands for all; None for one that is like no other."""
        candidate = self.problem.candidates[place]
        use = draft.uses.get(candidate.id)
        if use is not None:
            # Shared devices are alike as long as the draft has given away as much of them.
            return (self.kinds[place], _given(use)) if candidate.is_shareable else None
        card = self.cards.get(place)
        if card is None:
            return self.kinds[place]
        # The ask goes only forward, so cards are exchangeable only if it has passed as much of
        # one as of the other: else what it may still pick on them differs.
        return card.kind, card.state(draft.taken), card.passed(draft.start), place - card.first

    def outlook(self, draft: Draft) -> Hashable:
        """What decides whether a draft can become full; equal for equal hopes."""
        slots = self.problem.slots
        slot = slots[len(draft.chosen)] if len(draft.chosen) < len(slots) else None
        # Who goes on with the last ask's claim may not have what that claim has.
        claim = draft.chosen[-1].claim_number if draft.left else slot.wish.number if slot else -1
        whole: dict[Hashable, int] = defaultdict(int)
        used_cards = set()
        # Device by device, not pick by pick: one may be both taken and looked at as an admin.
        # What lies ahead of an ask that is not done is no more like what it has passed.
        ahead = draft.start if draft.left else len(self.kinds)
        for place in {pick.place for pick in draft.picks}:
            candidate = self.problem.candidates[place]
            use, here = draft.uses[candidate.id], place if place >= ahead else NONE
            if candidate.is_shareable:
                whole[self.kinds[place], here, _given(use)] += 1
            elif card := self.cards.get(place):
                used_cards.add(card)
            else:
                whole[self.kinds[place], here, use.is_whole, claim in use.claims] += 1
        for card in used_cards:
            here = card.first if card.last >= ahead else NONE
            whole[card.kind, here, card.state(draft.taken), ()] += 1
        return (
            len(draft.chosen),
            (draft.left, draft.start, draft.chosen[-1]) if draft.left else None,
            0 if not draft.left and (slot is None or slot.opens_claim) else draft.in_claim,
            frozenset(whole.items()),
            tuple((number, draft.values.get(number)) for number in self._open_rules(draft)),
            # How much was drawn by capacity depends on who drew it (KEP-5941).
            frozenset(draft.purses.items()) if self.is_metered else None,
            natives.outlook(self.problem, draft),
        )

    def _open_rules(self, draft: Draft) -> Sequence[int]:
        return self.rules[len(draft.chosen) - (draft.left > 0)]


def _given(use: Use) -> Hashable:
    return frozenset(use.consumed.items()) if use.shares else None


def compare(problem: Problem, good: Mapping[Ask, Places]) -> Likeness:
    """Number what is alike; `good` has the places that each ask may have."""
    sorts = _sorts(problem, good)
    speakers = list({number: ask for ask, number in sorts.items()}.values())
    wanted = 0
    for at in good.values():
        wanted |= at
    looks = _looks(problem, good, wanted, speakers)
    numbers: dict[Hashable, int] = {}
    kinds = [NONE] * len(problem.candidates)
    outer = [NONE] * len(problem.candidates)
    for place, look in looks.items():
        candidate = problem.candidates[place]
        outer[place] = numbers.setdefault(look, len(numbers))
        needs = tuple(_needs(problem, candidate, speakers))
        kinds[place] = (
            numbers.setdefault((outer[place], needs), len(numbers)) if needs else outer[place]
        )
    # A pick with admin access is no part of a card's state, so then no cards are exchanged.
    has_admin = any(ask.is_admin for ask in problem.asks)
    has_cards = "grouped" in problem.scene.shelf.traits and not has_admin
    return Likeness(
        problem,
        kinds,
        _deal(problem, outer, wanted) if has_cards else {},
        sorts,
        speakers,
        _rules(problem),
        frozenset(_repeats(problem, sorts)),
        "metered" in problem.scene.shelf.traits,
    )


def _sorts(problem: Problem, good: Mapping[Ask, Places]) -> Mapping[Ask, int]:
    """A number for each ask, the same for asks that want the same of the same devices."""
    numbers: dict[Hashable, int] = {}
    sorts = {}
    spare = problem.scene.spare
    for ask in problem.asks:
        want = (
            good[ask],
            problem.needs[ask],
            problem.rules[ask],
            ask.is_admin,
            ask.mode,
            frozenset(ask.capacity.items()),
            frozenset(ask.derived.items()),
            None if spare is None else spare.containers[ask.claim_number],
        )
        sorts[ask] = numbers.setdefault(want, len(numbers))
    return sorts


def _rules(problem: Problem) -> Sequence[Sequence[int]]:
    rules: list[Sequence[int]] = [()]
    for slot in reversed(problem.slots):
        own = {number for ask in slot.request.alternatives for number, _ in problem.rules[ask]}
        rules.append(rules[-1] if own <= set(rules[-1]) else sorted(own.union(rules[-1])))
    return rules[::-1]


def _repeats(problem: Problem, sorts: Mapping[Ask, int]) -> Iterable[int]:
    for number, (before, slot) in enumerate(pairwise(problem.slots), 1):
        one, other = before.request.alternatives[0], slot.request.alternatives[0]
        if (
            not before.request.is_prioritized
            and not slot.request.is_prioritized
            and not one.is_admin
            and one.mode == "ExactCount"
            and sorts[one] == sorts[other]
        ):
            yield number


def _looks(
    problem: Problem, good: Mapping[Ask, Places], wanted: Places, speakers: Sequence[Ask]
) -> Mapping[int, Hashable]:
    """Everything that tells wanted devices apart, but for the counters they draw from."""
    sets = dict.fromkeys([*good.values(), *(places.of(each) for each in problem.lists.values())])
    lots = [wanted]
    for each in sets:
        lots = [part for lot in lots for part in (lot & each, lot & ~each) if part]
    attributes = readings(problem)
    scene, traits = problem.scene, problem.scene.shelf.traits
    is_plain = not attributes and "shareable" not in traits and scene.spare is None
    looks: dict[int, Hashable] = {}
    for number, lot in enumerate(lots):
        if is_plain:
            looks.update(dict.fromkeys(places.each(lot), number))
            continue
        for place in places.each(lot):
            candidate = problem.candidates[place]
            looks[place] = (
                number,
                tuple([scene.values(ask, candidate, name) for name, ask in attributes]),
                _share_look(problem, candidate, speakers) if candidate.is_shareable else None,
                natives.look(problem, candidate),
            )
    return looks


def _needs(problem: Problem, candidate: Candidate, speakers: Sequence[Ask]) -> Iterator[Hashable]:
    """What of which counters the device draws, for each ask, and with what it goes."""
    if candidate.groups:
        yield frozenset(candidate.draws)
        yield candidate.groups
    if candidate.meters:
        yield tuple(problem.scene.metered(ask, candidate) for ask in speakers)


def _deal(problem: Problem, looks: Sequence[int], wanted: Places) -> Mapping[int, Card]:
    """The cards with a wanted device, by place; `looks` is what else tells devices apart."""
    scene = problem.scene
    dealt: dict[int, Card] = {}
    numbers: dict[Hashable, int] = {}
    for plan in scene.shelf.cards:
        if not plan.all & wanted:
            continue
        look = (
            plan.shape,
            tuple([looks[place] for place in plan.places]),
            tuple([scene.left(counter.pool)[counter] for counter in plan.counters]),
            tuple([scene.modes(each.pool).get(each, NO_GROUPS) for each in plan.sets]),
        )
        kind = numbers.setdefault(look, len(numbers))
        card = Card(kind, plan.places[0], plan.places[-1], plan.all)
        dealt.update(dict.fromkeys(plan.places, card))
    return dealt


def readings(problem: Problem) -> Sequence[tuple[str, Ask]]:
    """The attributes that constraints compare, each with an ask that reads it in its own way."""
    found: dict[tuple[str, str | None], Ask] = {}
    for ask in problem.asks:
        for _, constraint in problem.rules[ask]:
            name = constraint.attribute
            found.setdefault((name, ask.derived.get(name)), ask)
    return [(name, ask) for (name, _), ask in found.items()]


def _share_look(problem: Problem, candidate: Candidate, speakers: Sequence[Ask]) -> Hashable:
    """What sharing a device depends on: its totals, what is consumed, what each ask would take."""
    holding = problem.scene.ledger.held(candidate.id)
    return (
        bool(holding.shares),
        frozenset(holding.consumed.items()),
        frozenset((name, each.value) for name, each in candidate.device.capacity.items()),
        tuple(frozenset(problem.scene.share(ask, candidate)[0].items()) for ask in speakers),
    )
