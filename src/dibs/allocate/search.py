"""Find the first draft that fills every slot, in the order of candidates, or know there is none.

Depth first over drafts: `successors` yields what a draft can grow into, best first, and the stack
holds what is still to be tried. What is skipped (hopeless drafts, equal devices, dead ends met
before) can't lead to a full draft, so the first one found is the one plain backtracking finds.
Source: KEP-4381 (all-or-nothing, first fit), KEP-4816 (alternatives in order of preference).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from dibs.allocate import chances, checks, constraints, groups
from dibs.allocate.bounds import Effort, Survey
from dibs.allocate.draft import Draft, Pick, Values, total
from dibs.allocate.problem import Problem, Slot
from dibs.request.asks import MAX_DEVICES, Ask

# After so many steps a search turns to parts of the question that may be impossible by themselves,
# spends as many on each, and goes on; so many parts are looked at.
PATIENCE = (50, 1_000)
MOST_PARTS = 64
# So many steps go to show that nobody gets to what is fatal.
MOST_BEFORE = 1_000
# A dead end takes some 2 KiB.
MOST_DEAD_ENDS = 20_000


@dataclass(frozen=True, slots=True)
class Found:
    """`draft` is None when there is none, or when the search was cut off after `steps`."""

    draft: Draft | None
    steps: int
    is_cut: bool = False


IMPOSSIBLE = Found(None, 0)


def first_full(problem: Problem, budget: int) -> Found:
    """Search in at most `budget` steps. Raises Mistake for what is fatal."""
    # Most claims fit at the first try. That descent evaluates no selector that it needn't; only
    # when it gets stuck is every device judged for every ask, and looked at as a whole.
    descent = descend(problem, budget)
    if descent.draft is not None or descent.is_cut:
        return descent
    if chances.might_be_fatal(problem):
        # Nothing may be skipped; but what can't be reached needn't be looked for.
        before = problem.slots[: chances.first_fatal(problem)]
        if before and is_impossible(problem.only(before), MOST_BEFORE):
            return Found(None, descent.steps)
        return explore(problem, None, budget)
    exploration = begun(problem)
    if exploration is None:
        return Found(None, descent.steps)
    # Perhaps a part of the question can't be answered even with nothing taken by the rest. Then the
    # search would find that out anew for every way to have the rest.
    parts: Iterable[Exploration | None] | None = None
    for patience in PATIENCE:
        found = exploration.go_on(min(budget, patience))
        if not found.is_cut or budget <= patience:
            return found
        undecided = []
        for part in map(begun, _parts(problem)) if parts is None else parts:
            shown = part.go_on(patience) if part is not None else IMPOSSIBLE
            if shown.draft is None and not shown.is_cut:
                return Found(None, found.steps)
            if shown.is_cut:
                undecided.append(part)
        parts = undecided
    return exploration.go_on(budget)


def is_impossible(problem: Problem, budget: int) -> bool:
    """Whether at most `budget` steps show that it can't be; what is fatal or undecided is not."""
    found = tried(problem, budget)
    return found.draft is None and not found.is_cut


def tried(problem: Problem, budget: int) -> Found:
    """What at most `budget` steps show; cut off at once where something may be fatal."""
    if chances.might_be_fatal(problem):
        return Found(None, 0, is_cut=True)
    exploration = begun(problem)
    return IMPOSSIBLE if exploration is None else exploration.go_on(budget)


def begun(problem: Problem) -> Exploration | None:
    """The search for an answer; None where counting shows that there is none."""
    good = chances.good_places(problem)
    if chances.is_short(problem, good):
        return None
    survey = Survey.of(problem, good)
    return None if survey.is_hopeless(Draft()) else Exploration(problem, survey)


def _parts(problem: Problem) -> Iterator[Problem]:
    """What is under one constraint; each claim alone; the last claims together."""
    slots = problem.slots
    parts: list[Sequence[Slot]] = []
    rules = dict.fromkeys(rule for ask in problem.asks for rule in problem.rules[ask])
    for rule in rules:
        bound = (all(rule in problem.rules[a] for a in s.request.alternatives) for s in slots)
        parts.append([slot for slot, is_bound in zip(slots, bound, strict=True) if is_bound])
    opening = [number for number, slot in enumerate(slots) if slot.opens_claim]
    parts += [slots[one:end] for one, end in pairwise([*opening, len(slots)])]
    parts += [slots[one:] for one in opening[1:-1]]
    distinct = dict.fromkeys(tuple(part) for part in parts if 0 < len(part) < len(slots))
    for part in islice(distinct, MOST_PARTS):
        yield problem.only(part)
    # Whether it can be does not depend on who comes first, but how soon one sees that it can't.
    yield problem.only(_scarcest_first(problem))


def _scarcest_first(problem: Problem) -> Sequence[Slot]:
    """The slots claim by claim, those before that have the fewest devices to choose from."""
    good = chances.good_places(problem)
    choice = {
        slot: sum(good[ask].bit_count() / max(1, problem.needs[ask]) for ask in asks)
        for slot in problem.slots
        for asks in (slot.request.alternatives,)
    }
    by_claim: dict[int, list[Slot]] = {}
    for slot in sorted(problem.slots, key=choice.__getitem__):
        by_claim.setdefault(slot.wish.number, []).append(slot)
    return [slot for slots in by_claim.values() for slot in slots]


def descend(problem: Problem, budget: int) -> Found:
    """Take the first thing that goes each time, and never go back."""
    draft: Draft | None = Draft()
    for steps in range(budget + 1):
        if draft is None or _is_full(problem, draft):
            return Found(draft, steps)
        draft = next(successors(problem, draft, None), None)
    return Found(None, budget + 1, is_cut=True)


def explore(problem: Problem, survey: Survey | None, budget: int) -> Found:
    """Try everything, but for what a survey shows to be in vain; without one nothing is skipped."""
    return Exploration(problem, survey).go_on(budget)


class Exploration:
    """A search that can be interrupted: `stack` has each draft with what is still to be tried of
    it."""

    def __init__(self, problem: Problem, survey: Survey | None) -> None:
        self.problem, self.survey = problem, survey
        self.effort = survey.effort if survey else Effort()
        self.steps = -self.effort.spent
        self.dead_ends: set[object] = set()
        self.stack = [(Draft(), successors(problem, Draft(), survey))]

    def go_on(self, budget: int) -> Found:
        """Search until so many steps have been taken in all."""
        problem, survey, stack, dead_ends = self.problem, self.survey, self.stack, self.dead_ends
        while stack:
            draft, following = stack[-1]
            if _is_full(problem, draft):
                return Found(draft, self.steps + self.effort.spent)
            if self.steps + self.effort.spent >= budget:
                return Found(None, budget, is_cut=True)
            grown = next(following, None)
            if grown is None:
                if survey and len(dead_ends) < MOST_DEAD_ENDS:
                    dead_ends.add(survey.likeness.outlook(draft))
                stack.pop()
                continue
            self.steps += 1
            if not (survey and dead_ends and survey.likeness.outlook(grown) in dead_ends):
                stack.append((grown, successors(problem, grown, survey)))
        return Found(None, self.steps + self.effort.spent)


def _is_full(problem: Problem, draft: Draft) -> bool:
    return draft.is_between and len(draft.chosen) == len(problem.slots)


def successors(problem: Problem, draft: Draft, survey: Survey | None) -> Iterator[Draft]:
    """Yield the drafts that are one choice further, best first."""
    if draft.is_between:
        if len(draft.chosen) < len(problem.slots):
            yield from _choices(problem, draft, survey)
        return
    ask = draft.chosen[-1]
    if ask.mode == "All":
        place = problem.lists[ask][problem.needs[ask] - draft.left]
        if problem.objection(ask, place, draft) is None:
            grown = taking(problem, draft, ask, place, survey)
            if survey is None or not survey.is_hopeless(grown):
                yield grown
        return
    equals_tried: set[object] = set()
    for place in survey.places(ask, draft) if survey else problem.untaken(ask, draft):
        kind = survey.likeness.kind(place, draft) if survey else None
        # Of devices that are alike in everything that matters, the first stands for all.
        if kind in equals_tried:
            continue
        if problem.objection(ask, place, draft) is None:
            # Devices of one ask are interchangeable: going only forward tries each set once.
            grown = taking(problem, draft, ask, place, survey)
            if survey is None or not survey.is_hopeless(grown):
                yield grown
        if kind is not None:
            equals_tried.add(kind)


def taking(problem: Problem, draft: Draft, ask: Ask, place: int, survey: Survey | None) -> Draft:
    """The draft with one device more, which nothing was objected to."""
    scene = problem.scene
    candidate = problem.candidates[place]
    share = scene.share(ask, candidate)[0] if candidate.is_shareable else None
    purses, blocked, modes = draft.purses, draft.blocked, draft.modes
    if prices := checks.cost(ask, candidate, draft, scene):
        purses = scene.purses_after(purses, prices)
        if survey:
            blocked |= survey.blocked_after(draft, candidate, prices, purses)
    standing = scene.modes(candidate.pool) if candidate.groups else None
    if standing and checks.pays(ask, candidate, draft, scene):
        modes = groups.plus(candidate, modes, standing)
        if survey:
            blocked |= survey.clashing_after(draft, candidate, modes)
    if survey and share is not None and not ask.is_admin:
        use = draft.uses.get(candidate.id)
        consumed = total(use.consumed, share) if use else share
        blocked |= survey.exhausted_after(candidate, place, consumed)
    values: dict[int, Values] | None = None
    for number, constraint in problem.rules[ask]:
        its = scene.values(ask, candidate, constraint.attribute)
        assert its is not None
        values = values or dict(draft.values)
        values[number] = constraints.joined(constraint, draft.values.get(number), its)
    pick = Pick(ask, candidate, place, share)
    return draft.plus(pick, purses, blocked, draft.values if values is None else values, modes)


def _choices(problem: Problem, draft: Draft, survey: Survey | None) -> Iterator[Draft]:
    slot = problem.slots[len(draft.chosen)]
    promised = 0 if slot.opens_claim else draft.in_claim
    for ask in slot.request.alternatives:
        wanted = problem.needs[ask]
        # Mode All needs at least one device (KEP-4381), and a status has room for only so many.
        if wanted == 0 or promised + wanted > MAX_DEVICES:
            continue
        start = survey.floor(draft) if survey else 0
        chosen = draft.choosing(ask, wanted, promised, start)
        # Where there is no choice, the draft before has been judged with it in mind.
        judge = survey if len(slot.request.alternatives) > 1 else None
        if judge is None or not judge.is_hopeless(chosen):
            yield chosen
