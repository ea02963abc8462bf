"""First fit with full backtracking: the recursion of the contract, one step a call.

The order of trying is what the answer means: requests in claim order, alternatives in order,
devices in candidate order, inside one request only forward. The first full set of picks wins.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from dibs.testing.oracle import capacity, holding, pools, results, wishes
from dibs.testing.oracle.checks import Judge
from dibs.testing.oracle.holding import Pick
from dibs.testing.oracle.pools import Candidate, Fatal
from dibs.testing.oracle.wishes import MOST_DEVICES, Ask
from dibs.testing.question import Answer, Question


class _Refused(Exception):
    """This node is out before the search begins."""


class _TooLong(Exception):
    """The budget of steps is used up."""


@dataclass(frozen=True, slots=True)
class _Draft:
    """The picks so far, and which alternative each finished or current request is on."""

    picks: tuple[Pick, ...] = ()
    asks: tuple[Ask, ...] = ()


# "Too many results": no completion, and only because of the limit of devices a claim.
_TOO_MANY: Final = "too many results"


def answer(
    question: Question,
    *,
    steps: int = 200_000,
    as_upstream: bool = False,
    is_strict: bool = True,
) -> Answer:
    """Decide the question by trying everything in order.

    After `steps` recursive calls the outcome is `timeout`: this allocator is for small worlds.
    `is_strict`: mode All against a constraint is an error, not merely a no.
    `as_upstream` answers with the defects of upstream 0.37 (conformance/differences.md): where
    upstream answers so, nothing else is between it and what is right.
    """
    try:
        search = _prepare(question, as_upstream)
        draft = _Search(search.judge, search.wishes, steps, is_strict).run()
        if draft is None or isinstance(draft, str):
            return Answer("refused")
        name = question.node.metadata.name
        found = results.assemble(question.claims, name, draft.asks, draft.picks)
        return Answer("allocated", found)
    except _Refused as refused:
        return Answer("refused", message=str(refused))
    except Fatal as fatal:
        return Answer("error", message=str(fatal))
    except _TooLong:
        return Answer("timeout", message=f"undecided after {steps} steps")


@dataclass(frozen=True, slots=True)
class _Prepared:
    judge: Judge
    wishes: list[list[list[Ask]]]


def _prepare(question: Question, as_upstream: bool) -> _Prepared:
    """Resolve pools and asks. Raises Fatal, and _Refused for `All` over a pool in doubt."""
    features = question.features
    found = tuple(pools.resolve(question.node, question.slices, features))
    held = holding.held(question.allocated, features)
    judge = Judge(question.node, found, question.claims, held, features, as_upstream)
    classes = {each.metadata.name: each for each in question.classes}
    wanted = []
    for number, claim in enumerate(question.claims):
        requests = []
        for options in wishes.alternatives(number, claim, classes, features):
            requests.append([_with_everything(ask, judge) for ask in options])
        wishes.check_size(requests)
        wishes.check_constraints(claim)
        wanted.append(requests)
    return _Prepared(judge, wanted)


def _with_everything(ask: Ask, judge: Judge) -> Ask:
    """Fix the devices of `All`: what matches and could serve the ask if nothing were taken."""
    if not ask.is_all:
        return ask
    matching = []
    for pool in judge.pools:
        if pool.fault:
            name = f"{pool.driver}/{pool.name}"
            text = f"request {ask.name}: asks for all devices, but pool {name} is {pool.fault}"
            raise Fatal(text) if judge.as_upstream else _Refused(text)
        for candidate in pool.candidates:
            if judge.is_selectable(ask, candidate) and judge.could_hold(ask, candidate):
                matching.append(candidate)
    return replace(ask, everything=tuple(matching))


class _Search:
    """One run. The only thing that changes is the number of steps left."""

    def __init__(
        self, judge: Judge, wishes: list[list[list[Ask]]], steps: int, is_strict: bool
    ) -> None:
        self.judge = judge
        self.wishes = wishes
        self.steps = steps
        self.is_strict = is_strict
        self.candidates = [
            each for pool in judge.pools if not pool.fault for each in pool.candidates
        ]

    def run(self) -> _Draft | str | None:
        return self.solve(0, 0, None, 0, 0, _Draft())

    def solve(
        self, claim: int, request: int, ask: Ask | None, taken: int, start: int, draft: _Draft
    ) -> _Draft | str | None:
        """A full draft that grows from this one; None, or _TOO_MANY, when there is none."""
        self.steps -= 1
        if self.steps < 0:
            raise _TooLong
        if claim == len(self.wishes):
            return draft
        if request == len(self.wishes[claim]):
            found = self.solve(claim + 1, 0, None, 0, 0, draft)
            return None if isinstance(found, str) else found
        if ask is None:
            return self.choose(claim, request, draft)
        if ask.is_all and not ask.everything:
            return None
        if taken == ask.needed:
            return self.solve(claim, request + 1, None, 0, 0, draft)
        so_far = sum(pick.ask.claim == claim for pick in draft.picks)
        if so_far + ask.needed - taken > MOST_DEVICES:
            return _TOO_MANY
        if ask.is_all:
            candidate = ask.everything[taken]
            if not self.is_possible(ask, candidate, draft.picks):
                return None
            if not self.judge.is_constrained_well(ask, candidate, draft.picks):
                if not self.is_strict:
                    return None
                raise Fatal(f"request {ask.name}: a constraint excludes {candidate.device.name}")
            if not self.judge.has_left(ask, candidate, draft.picks):
                return None
            return self.solve(claim, request, ask, taken + 1, 0, self.plus(ask, candidate, draft))
        for position in range(start, len(self.candidates)):
            candidate = self.candidates[position]
            if self.is_fit(ask, candidate, draft.picks):
                grown = self.plus(ask, candidate, draft)
                found = self.solve(claim, request, ask, taken + 1, position + 1, grown)
                if found is not None:
                    return found
        return None

    def choose(self, claim: int, request: int, draft: _Draft) -> _Draft | str | None:
        """The first alternative with a completion wins."""
        failures = []
        for ask in self.wishes[claim][request]:
            grown = replace(draft, asks=(*draft.asks, ask))
            found = self.solve(claim, request, ask, 0, 0, grown)
            if isinstance(found, _Draft):
                return found
            failures.append(found)
        return _TOO_MANY if all(found == _TOO_MANY for found in failures) else None

    def is_fit(self, ask: Ask, candidate: Candidate, picks: tuple[Pick, ...]) -> bool:
        judge = self.judge
        return (
            judge.is_free(ask, candidate, picks)
            and judge.is_selectable(ask, candidate)
            and judge.could_hold(ask, candidate)
            and judge.has_left(ask, candidate, picks)
            and self.is_possible(ask, candidate, picks)
            and judge.is_constrained_well(ask, candidate, picks)
        )

    def is_possible(self, ask: Ask, candidate: Candidate, picks: tuple[Pick, ...]) -> bool:
        """All that is left to ask of a device that matches, but for constraints and sums."""
        judge = self.judge
        return (
            judge.is_free(ask, candidate, picks)
            and judge.could_hold(ask, candidate)
            and judge.is_prepared(candidate)
            and judge.is_covered(ask, candidate, picks)
            and judge.is_tolerated(ask, candidate)
        )

    def plus(self, ask: Ask, candidate: Candidate, draft: _Draft) -> _Draft:
        is_share = self.judge.is_shareable(candidate)
        consumed = {
            name: capacity.consumption(
                each, ask.capacity.get(name), self.judge.features.fractional_capacity_range
            )
            for name, each in candidate.device.capacity.items()
            if is_share and self.judge.features.consumable_capacity
        }
        pick = Pick(ask, candidate, is_share, consumed)
        return replace(draft, picks=(*draft.picks, pick))
