"""Whether a question has an answer, and a better one than the one given, asked of CP-SAT.

The facts of a question as a model of booleans: which alternative each request gets, which spots
each want takes. Nothing is searched here; the solver of OR-tools proves that there is no solution,
or shows one. Answers are better that come first in first-fit order: requests in order, earlier
alternatives first, then devices in candidate order, pick by pick.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ortools.sat.python import cp_model
from ortools.sat.python.cp_model import IntVar

from dibs.testing.facts.tables import (
    MOST_DEVICES,
    CardKey,
    CounterKey,
    Facts,
    Solution,
    Spot,
    modes_of,
)

Verdict = Literal["possible", "impossible", "unknown"]

_VERDICTS: dict[int, Verdict] = {
    cp_model.OPTIMAL: "possible",
    cp_model.FEASIBLE: "possible",
    cp_model.INFEASIBLE: "impossible",
}


@dataclass(frozen=True, slots=True)
class Proof:
    """What the solver found, and how: `solution` is one where that's possible."""

    verdict: Verdict
    solution: Solution = field(default_factory=dict)


# In the solver's own seconds, which are the same work on every machine.
LIMIT_S = 5.0


def solve(facts: Facts, better_than: Solution | None = None) -> Proof:
    """Look for a solution, or for one that comes before another one."""
    if facts.hopeless or facts.fatal:
        return Proof("impossible")
    model = _Model(facts)
    if better_than is not None:
        model.precede(better_than)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = LIMIT_S
    verdict = _VERDICTS.get(solver.solve(model.cp), "unknown")
    if verdict != "possible":
        return Proof(verdict)
    return Proof(verdict, model.read(solver))


class _Model:
    """The booleans and what holds between them."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.cp = cp_model.CpModel()
        self.gets = [self.cp.new_bool_var(f"gets {want.name}") for want in facts.wants]
        self.takes = [
            {spot: self.cp.new_bool_var(f"{want.name} takes {spot}") for spot in want.takes}
            for want in facts.wants
        ]
        self._requests()
        for place, spot in enumerate(facts.spots):
            self._sharing(place, spot)
        # Whether a device is newly used, so that its counters are drawn from and its mode counts.
        self.used = {
            place: self._any(self._ordinary(place))
            for place, spot in enumerate(facts.spots)
            if spot.device.consumes_counters and not spot.is_shared
        }
        self._counters()
        self._modes()
        self._rules()

    def read(self, solver: cp_model.CpSolver) -> Solution:
        return {
            (want.claim, want.request): (
                number,
                tuple(spot for spot, var in self.takes[number].items() if solver.value(var)),
            )
            for number, want in enumerate(self.facts.wants)
            if solver.value(self.gets[number])
        }

    # --- what must hold ------------------------------------------------------------------------

    def _requests(self) -> None:
        """Each request gets one alternative, each alternative its number of devices."""
        by_request: dict[tuple[int, int], list[IntVar]] = {}
        by_claim: dict[int, list[cp_model.LinearExprT]] = {}
        for want, gets, takes in zip(self.facts.wants, self.gets, self.takes, strict=True):
            by_request.setdefault((want.claim, want.request), []).append(gets)
            by_claim.setdefault(want.claim, []).append(want.count * gets)
            if want.is_hopeless:
                self.cp.add(gets == 0)
            self.cp.add(sum(takes.values()) == want.count * gets)
        for options in by_request.values():
            self.cp.add_exactly_one(options)
        for counts in by_claim.values():
            self.cp.add(sum(counts) <= MOST_DEVICES)

    def _sharing(self, place: int, spot: Spot) -> None:
        """Whole devices go to one request, by admin access to one of a claim; shares add up."""
        ordinary = self._ordinary(place)
        if not spot.is_shareable:
            self.cp.add_at_most_one(ordinary)
            for claim in {want.claim for want in self.facts.wants}:
                self.cp.add_at_most_one(self._all(place, claim))
            return
        for name, left in spot.left.items():
            if left < 0:
                self.cp.add(sum(ordinary) == 0)
                continue
            total = sum(
                want.takes[place].consumed[name] * takes[place]
                for want, takes in zip(self.facts.wants, self.takes, strict=True)
                if place in takes and not want.is_admin
            )
            self.cp.add(total <= left)

    def _counters(self) -> None:
        drawn: dict[CounterKey, list[cp_model.LinearExprT]] = {}
        for place, used in self.used.items():
            for key, amount in self.facts.spots[place].draws.items():
                drawn.setdefault(key, []).append(amount * used)
        for want, takes in zip(self.facts.wants, self.takes, strict=True):
            for place, taken in takes.items():
                if want.is_admin:
                    continue
                for key, amount in want.takes[place].metered.items():
                    drawn.setdefault(key, []).append(amount * taken)
        for key, amounts in drawn.items():
            self.cp.add(sum(amounts) <= self.facts.counters[key])

    def _modes(self) -> None:
        """The users of a counter set have one group in common at least: let the solver name it."""
        users: dict[CardKey, list[tuple[IntVar, frozenset[str]]]] = {}
        for place, used in self.used.items():
            spot = self.facts.spots[place]
            for draw in spot.device.consumes_counters:
                key = spot.id.driver, spot.id.pool, draw.counter_set
                users.setdefault(key, []).append((used, modes_of(draw.compatibility_groups)))
        for key, some in users.items():
            held = self.facts.modes[key]
            allowed = frozenset().union(*(its for _, its in some))
            names = sorted(allowed if held is None else allowed & held)
            chosen = {name: self.cp.new_bool_var(f"{key} in mode {name}") for name in names}
            self.cp.add_at_most_one(chosen.values())
            for used, its in some:
                mine = [var for name, var in chosen.items() if name in its]
                self.cp.add_bool_or([*mine, ~used])

    def _rules(self) -> None:
        for number, rule in enumerate(self.facts.rules):
            by_value: dict[object, list[IntVar]] = {}
            for want, spots in rule.values.items():
                for place, values in spots.items():
                    for value in values:
                        by_value.setdefault(value, []).append(self.takes[want][place])
            if not rule.is_match:
                for takers in by_value.values():
                    self.cp.add_at_most_one(takers)
                continue
            shared = {value: self.cp.new_bool_var(f"rule {number}: {value}") for value in by_value}
            self.cp.add_at_most_one(shared.values())
            for want, spots in rule.values.items():
                for place, values in spots.items():
                    has_it = [shared[value] for value in values]
                    self.cp.add_bool_or([*has_it, ~self.takes[want][place]])

    # --- what comes before -----------------------------------------------------------------------

    def precede(self, given: Solution) -> None:
        """All decisions up to one are those of the given solution, and that one is earlier."""
        turns = []
        for place, (same, earlier) in enumerate(self._decisions(given)):
            turn = self.cp.new_bool_var(f"earlier at {place}")
            turns.append(turn)
            self.cp.add_bool_and(same).only_enforce_if(turn)
            self.cp.add_bool_or(earlier).only_enforce_if(turn)
        self.cp.add_exactly_one(turns)

    def _decisions(self, given: Solution) -> Iterator[tuple[list[IntVar], list[IntVar]]]:
        """For each decision: what was decided before it, and what would have been earlier."""
        same: list[IntVar] = []
        for key in sorted(given):
            number, spots = given[key]
            want = self.facts.wants[number]
            yield (
                list(same),
                [
                    self.gets[other]
                    for other, each in enumerate(self.facts.wants)
                    if (each.claim, each.request) == key and each.alternative < want.alternative
                ],
            )
            same.append(self.gets[number])
            if want.is_all:
                continue
            start = 0
            for spot in spots:
                yield (
                    list(same),
                    [var for place, var in self.takes[number].items() if start <= place < spot],
                )
                same.append(self.takes[number][spot])
                start = spot + 1

    # --- pieces --------------------------------------------------------------------------------

    def _ordinary(self, place: int) -> list[IntVar]:
        """Who may take the spot and takes something away with it: not those of admin access."""
        return [
            takes[place]
            for want, takes in zip(self.facts.wants, self.takes, strict=True)
            if place in takes and not want.is_admin
        ]

    def _all(self, place: int, claim: int) -> list[IntVar]:
        return [
            takes[place]
            for want, takes in zip(self.facts.wants, self.takes, strict=True)
            if place in takes and want.claim == claim
        ]

    def _any(self, vars: Sequence[IntVar]) -> IntVar:
        found = self.cp.new_bool_var("any")
        self.cp.add_max_equality(found, vars) if vars else self.cp.add(found == 0)
        return found
