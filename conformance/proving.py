"""One question, asked of dibs in both orders, of CP-SAT and of brute force; and who is right.

What is true is what CP-SAT proves and `validity` confirms: neither shares a line with the search.
Mode All against a constraint is a no here, not an error, as the scheduler has it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import solver

from dibs.allocate import allocator
from dibs.allocate.orders import Order
from dibs.allocate.outcome import Allocated, Failed, Outcome, Refused, TimedOut
from dibs.supply.ledger import Ledger
from dibs.supply.pools import Supply
from dibs.testing import oracle, question
from dibs.testing.facts import reading, validity
from dibs.testing.facts.tables import Facts, Solution
from dibs.testing.question import Question

Truth = Literal["possible", "impossible", "error", "unknown"]

ORDERS: tuple[Order, ...] = ("first-fit", "packed")
EXPLAINED = "explained"
# More processor time than this is told of, once it was so several times in a row: others who use
# the machine can only make it longer.
LIMIT_MS = 10.0
_TIMES = 4
# Brute force decides most small questions within so many steps; beyond, it is not asked on.
_BRUTE_STEPS = 2_000


@dataclass(frozen=True, slots=True)
class Proved:
    """What came out.

    `wrong` has a sentence for each way in which dibs, or brute force, is wrong: a kind, a colon,
    and the details.
    """

    id: str
    truth: Truth
    wrong: tuple[str, ...]
    times_ms: Mapping[str, float]
    is_brute_sure: bool
    traits: frozenset[str]

    def worst(self, *, explained: bool | None = None) -> tuple[float, str]:
        """The longest of its times in ms, and how that was asked: with reasons, without, or any.

        Only a refusal has reasons.
        """
        times = (
            (time_ms, how)
            for how, time_ms in self.times_ms.items()
            if explained is None or explained == how.endswith(EXPLAINED)
        )
        return max(times, default=(0.0, ""))


def prove(asked: Question) -> Proved:
    """Ask all, and compare."""
    known = reading.of(asked)
    outcomes: dict[Order, Outcome] = {}
    times_ms: dict[str, float] = {}
    for order in ORDERS:
        outcomes[order], times_ms[order] = _timed(asked, order, explains=False)
        if isinstance(outcomes[order], Refused):
            # The same with all reasons, as `dibs why` wants them.
            explained, times_ms[f"{order}, {EXPLAINED}"] = _timed(asked, order, explains=True)
            assert isinstance(explained, Refused), asked.id
    first = outcomes["first-fit"]
    truth, wrong = judged(asked, known, first)
    brute = oracle.answer(asked, steps=_BRUTE_STEPS, is_strict=False)
    is_brute_sure = brute.outcome != "timeout"
    if is_brute_sure and not isinstance(first, TimedOut):
        wrong += _apart(first, brute)
    wrong += _packed_wrong(asked, known, truth, outcomes["packed"])
    return Proved(
        id=asked.id,
        truth=truth,
        wrong=tuple(wrong),
        times_ms=times_ms,
        is_brute_sure=is_brute_sure,
        traits=frozenset(_traits(asked, known)),
    )


def _timed(asked: Question, order: Order, *, explains: bool) -> tuple[Outcome, float]:
    """The outcome, and processor time in ms: of the fastest of several when it's long."""
    outcome, shortest = _decided(asked, order, explains)
    for _ in range(_TIMES):
        if shortest <= LIMIT_MS or shortest > 20 * LIMIT_MS:
            break
        outcome, again = _decided(asked, order, explains)
        shortest = min(shortest, again)
    return outcome, shortest


def _decided(asked: Question, order: Order, explains: bool) -> tuple[Outcome, float]:
    """From objects to the outcome, with nothing kept from an earlier question but compiled CEL."""
    classes = {each.metadata.name: each for each in asked.classes}
    options = allocator.Options(
        order=order, share_id=lambda claim, n: f"share-{n + 1}", explain=explains
    )
    start = time.process_time()
    supply = Supply.of(asked.slices, asked.features)
    ledger = Ledger.of(asked.allocated, asked.features)
    outcome = allocator.allocate(asked.node, asked.claims, supply, ledger, classes, options)
    return outcome, (time.process_time() - start) * 1000


# --- judging -----------------------------------------------------------------------------------


def judged(asked: Question, known: Facts, outcome: Outcome) -> tuple[Truth, list[str]]:
    """What is true, and what of the outcome in first-fit order isn't."""
    if known.fatal:
        is_wrong = not isinstance(outcome, Failed)
        return "error", [f"no error: {known.fatal}"] if is_wrong else []
    match outcome:
        case Failed():
            return "unknown", [f"error: {outcome.message}"]
        case Allocated():
            return _judged_yes(asked, known, outcome)
        case Refused() | TimedOut():
            proof = solver.solve(known)
            if proof.verdict == "possible" and isinstance(outcome, Refused):
                return "possible", [f"refused: but there is {_told(known, proof.solution)}"]
            return proof.verdict, []


def _judged_yes(asked: Question, known: Facts, outcome: Allocated) -> tuple[Truth, list[str]]:
    try:
        given = validity.solution_of(known, asked.claims, outcome.allocations, is_in_order=True)
        fault = validity.fault(known, given)
    except validity.Invalid as invalid:
        fault = str(invalid)
    if fault:
        return solver.solve(known).verdict, [f"invalid: {fault}"]
    earlier = solver.solve(known, better_than=given)
    if earlier.verdict != "possible":
        return "possible", []
    flaw = validity.fault(known, earlier.solution)
    assert flaw is None, f"{asked.id}: the solver is wrong: {flaw}"
    return "possible", [f"not the first: {_told(known, earlier.solution)} comes before"]


def _packed_wrong(asked: Question, known: Facts, truth: Truth, outcome: Outcome) -> Iterator[str]:
    match outcome:
        case Allocated():
            try:
                claims = asked.claims
                given = validity.solution_of(known, claims, outcome.allocations, is_in_order=False)
                fault = validity.fault(known, given)
            except validity.Invalid as invalid:
                fault = str(invalid)
            if fault:
                yield f"packed, invalid: {fault}"
        case Refused():
            if truth == "possible":
                yield "packed, refused: but it is possible"
        case Failed():
            if truth != "error":
                yield f"packed, error: {outcome.message}"


def _apart(outcome: Outcome, brute: question.Answer) -> Iterator[str]:
    """Brute force has the same outcome, and the same allocations."""
    names = {Allocated: "allocated", Refused: "refused", Failed: "error"}
    name = names[type(outcome)]
    if name != brute.outcome:
        yield f"brute force: {brute.outcome} ({brute.message}), dibs: {name}"
    elif isinstance(outcome, Allocated) and outcome.allocations != brute.allocations:
        yield f"brute force, others: {brute.allocations}, dibs: {outcome.allocations}"


def _told(known: Facts, solution: Solution) -> str:
    return ", ".join(
        f"{known.wants[want].claim}:{known.wants[want].name} "
        + "+".join(str(known.spots[spot].id.device) for spot in spots)
        for want, spots in solution.values()
    )


def _traits(asked: Question, known: Facts) -> Iterator[str]:
    """What is in a question, for the table."""
    constraints = [each for claim in asked.claims for each in claim.spec.devices.constraints]
    kinds = {
        "mode All": any(want.is_all for want in known.wants),
        "alternatives": any("/" in want.name for want in known.wants),
        "admin access": any(want.is_admin for want in known.wants),
        "several claims": len(asked.claims) > 1,
        "matchAttribute": any(each.match_attribute for each in constraints),
        "distinctAttribute": any(each.distinct_attribute for each in constraints),
        "list attributes": any(
            len(values) > 1
            for rule in known.rules
            for spots in rule.values.values()
            for values in spots.values()
        ),
        "derived attributes": any("derived/" in str(each.match_attribute) for each in constraints),
        "counters": any(spot.draws for spot in known.spots),
        "groups": any(
            draw.compatibility_groups
            for spot in known.spots
            for draw in spot.device.consumes_counters
        ),
        "shares": any(spot.is_shareable for spot in known.spots),
        "metered counters": any(
            take.metered for want in known.wants for take in want.takes.values()
        ),
        "taints": any(spot.device.taints for spot in known.spots),
        "held": any(spot.is_held or spot.is_shared for spot in known.spots),
    }
    return (name for name, is_there in kinds.items() if is_there)
