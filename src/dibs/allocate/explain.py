"""Why it can't be: every request against every device, with the one reason each wasn't taken.

Only run when a node is refused, or when somebody asks. It judges each request alone first; what
is short on its own is the cause. If all fit alone, it says which of them stand in each other's
way. The reasons are those of `checks`; only their words are filled in here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import replace
from itertools import combinations, product, takewhile

from dibs.allocate import alike, checks, exhausted, groups, modes, natives, search
from dibs.allocate.constraints import text_of
from dibs.allocate.draft import Draft
from dibs.allocate.outcome import AskNo, DeviceNo, Reason, Refused
from dibs.allocate.problem import Problem, Slot
from dibs.request.asks import Ask, Constraint
from dibs.supply.pools import Candidate

# Of more requests than this it isn't worked out which are in each other's way.
MOST_COMPARED = 12
# Of more pairs of devices than this it isn't worked out whether they go together.
MOST_PAIRS = 10_000
# Reasons against one device are told for so many of them; the others are counted.
MOST_TOLD = 2_000

# The note of a refusal that nobody wants to read.
UNTOLD = "it can't be; the reasons weren't asked for"


def refusal(problem: Problem) -> Refused:
    """The whole tree behind one node's no."""
    # Asks that want the same fare the same.
    judged: dict[Hashable, AskNo] = {}
    asks = []
    for ask in problem.asks:
        key = _want(problem, ask)
        known = judged.get(key)
        if known is None:
            known = judged[key] = ask_no(problem, ask)
        asks.append(replace(known, claim=ask.claim, request=ask.name))
    refused = Refused(problem.scene.node.metadata.name, problem.scene.shelf.faults, tuple(asks))
    return replace(refused, note=_sentence(problem, refused))


def _want(problem: Problem, ask: Ask) -> Hashable:
    """What tells apart how asks fare on a node."""
    return (
        id(problem.verdicts[ask]),
        problem.needs[ask],
        problem.rules[ask],
        # The failure of a derived attribute names the claim.
        (ask.claim, frozenset(ask.derived.items())) if ask.derived else None,
    )


def ask_no(problem: Problem, ask: Ask) -> AskNo:
    """How one request fares on this node when nothing else is asked for."""
    noes: list[DeviceNo] = []
    fitting: list[int] = []
    untold = 0
    for place, candidate in enumerate(problem.candidates):
        against = problem.verdict(ask, place) or problem.violation(ask, candidate, Draft())
        if against is None:
            fitting.append(place)
        elif len(noes) < MOST_TOLD:
            noes.append(DeviceNo(candidate.id, _told(problem, ask, candidate, against)))
        else:
            untold += 1
    wanted = max(1, problem.needs[ask])
    note = ""
    if len(fitting) >= wanted:
        notes = _constraint_notes(problem, ask, fitting, wanted)
        note = "; ".join(dict.fromkeys(filter(None, notes)))
        note = note or exhausted.by_one(problem, ask, fitting, wanted)
        note = note or natives.note(problem, [(ask, wanted)])
    return AskNo(
        ask.claim,
        ask.name,
        wanted,
        len(problem.candidates),
        len(fitting),
        tuple(noes),
        note,
        untold=untold,
    )


def _told(problem: Problem, ask: Ask, candidate: Candidate, against: Reason) -> Reason:
    if against.code == "held":
        # Whoever gave it back would help nobody who does not want such a device.
        unwanted = checks.selected(ask, candidate, problem.scene)
        if unwanted is not None and unwanted.code == "selector":
            against = unwanted
    return checks.in_full(against, ask, candidate, problem.scene)


def _constraint_notes(problem: Problem, ask: Ask, fitting: list[int], wanted: int) -> Iterable[str]:
    for _, constraint in problem.rules[ask]:
        by_value: dict[object, int] = defaultdict(int)
        for place in fitting:
            for value in (
                problem.scene.values(ask, problem.candidates[place], constraint.attribute) or ()
            ):
                by_value[value] += 1
        yield _constraint_note(constraint, by_value, wanted)


def _constraint_note(constraint: Constraint, by_value: dict[object, int], wanted: int) -> str:
    if constraint.kind == "match":
        largest = max(by_value.values(), default=0)
        return f"{constraint}: largest group has {largest} of {wanted}" if largest < wanted else ""
    if len(by_value) < wanted:
        return f"{constraint}: {len(by_value)} different values, {wanted} wanted"
    return ""


def _sentence(problem: Problem, refused: Refused) -> str:
    culprit = refused.culprit
    if culprit is not None:
        who = f"claim {culprit.claim}, request {culprit.request}"
        if culprit.fit < culprit.wanted:
            wanted = f"{culprit.wanted} device{'s' if culprit.wanted > 1 else ''} wanted"
            return f"{who}: {wanted}, {culprit.fit} of {culprit.candidates} fit"
        return f"{who}: {culprit.note}"
    return _joint_note(problem)


def _joint_note(problem: Problem) -> str:
    """Every request fits alone: which of them are in each other's way."""
    for number, constraint in _all_rules(problem):
        note = _joint_constraint(problem, number, constraint)
        if note:
            return note
    slots = _conflict(problem)
    many_claims = len({slot.wish.number for slot in slots}) > 1
    names = ", ".join(
        f"{slot.wish.key}/{slot.request.name}" if many_claims else slot.request.name
        for slot in slots
    )
    asks = [slot.request.alternatives[0] for slot in slots]
    cause = _crowd(problem, asks) or _modes(problem, asks) or _drained(problem, slots)
    if not cause and (short := natives.note(problem, [(a, problem.needs[a]) for a in asks])):
        cause = f": {short}"
    return f"requests {names} fit alone, but not together{cause}"


def _conflict(problem: Problem) -> Sequence[Slot]:
    """Those requests of which none can be left out without the others becoming possible."""
    slots = problem.slots
    if len(slots) > MOST_COMPARED:
        return slots
    needed: set[Hashable] = set()
    patience = search.PATIENCE[0]
    for slot in problem.slots:
        want = tuple([_want(problem, ask) for ask in slot.request.alternatives])
        rest = tuple(each for each in slots if each is not slot)
        # What can't be left out of many can't be left out of fewer.
        if len(rest) < 2 or want in needed:
            continue
        found = search.tried(problem.only(rest), patience)
        patience -= min(found.steps, patience)
        if found.draft is None and not found.is_cut:
            slots = rest
        else:
            needed.add(want)
    return slots


def _crowd(problem: Problem, asks: Sequence[Ask]) -> str:
    """How many devices they want and how many there are, where that is the point."""
    places = {
        place
        for ask in asks
        for place in range(len(problem.candidates))
        if not problem.verdict(ask, place)
    }
    wanted = sum(problem.needs[ask] for ask in asks)
    is_shared = any(problem.candidates[place].is_shareable for place in places)
    if is_shared or any(ask.is_admin for ask in asks):
        return ""
    if wanted > len(places):
        return f": {wanted} wanted, {len(places)} fit"
    most = modes.most(sum(1 << place for place in places), problem.scene.shelf.modes)
    if wanted > most:
        return f": {wanted} wanted, {most} at once, as each card goes in one mode only"
    return ""


def _modes(problem: Problem, asks: Sequence[Ask]) -> str:
    """The card that two of them want in different modes, where every way to fill them does."""
    if not problem.scene.shelf.grouped:
        return ""
    judged = {id(problem.verdicts[ask]): ask for ask in asks if not ask.is_admin}
    fitting = [_fitting(problem, ask) for ask in judged.values()]
    for ones, others in combinations(fitting, 2):
        if len(ones) * len(others) > MOST_PAIRS:
            continue
        pairs = product(ones, others)
        reasons = list(takewhile(bool, (groups.apart(mine, its) for mine, its in pairs)))
        if reasons and len(reasons) == len(ones) * len(others):
            return f": {reasons[0]}"
    return ""


def _fitting(problem: Problem, ask: Ask) -> Sequence[Candidate]:
    return [
        candidate
        for place, candidate in enumerate(problem.candidates)
        if not problem.verdict(ask, place)
    ]


def _drained(problem: Problem, slots: Sequence[Slot]) -> str:
    """The counter or capacity that can't give all of them what they need, where one can't.

    Of devices that must be alike: that of the first card, or whatever they have in common.
    """
    asks = [slot.request.alternatives[0] for slot in slots if len(slot.request.alternatives) == 1]
    places = set(range(len(problem.candidates)))
    wanted = _wanted(problem, asks, places)
    if note := exhausted.together(problem, wanted):
        return f": {note}"
    for number, constraint in _all_rules(problem):
        if constraint.kind == "match" and len(asks) == len(slots):
            bound = [ask for ask in asks if (number, constraint) in problem.rules[ask]]
            notes = []
            for _, alike_places in _groups(problem, constraint):
                wanted = _wanted(problem, bound, alike_places)
                if all(len(fitting) >= count for _, fitting, count in wanted):
                    notes.append(exhausted.together(problem, wanted))
            if notes and all(notes):
                return f": {constraint} leaves them {notes[0]}"
    return ""


def _wanted(
    problem: Problem, asks: Sequence[Ask], places: Collection[int]
) -> list[tuple[Ask, list[int], int]]:
    """Each ask with those of the places that fit it alone, and how many it needs."""
    fitting: dict[int, list[int]] = {}
    ordered = sorted(places)
    for ask in asks:
        if id(problem.verdicts[ask]) not in fitting:
            fits = [place for place in ordered if not problem.verdict(ask, place)]
            fitting[id(problem.verdicts[ask])] = fits
    return [(ask, fitting[id(problem.verdicts[ask])], problem.needs[ask]) for ask in asks]


def _all_rules(problem: Problem) -> list[tuple[int, Constraint]]:
    return list(dict(rule for ask in problem.asks for rule in problem.rules[ask]).items())


def _joint_constraint(problem: Problem, number: int, constraint: Constraint) -> str:
    """Whether the requests of a constraint, taken together, find too few devices of a value, or
    too few values."""
    asks = [
        slot.request.alternatives[0]
        for slot in problem.slots
        if all((number, constraint) in problem.rules[ask] for ask in slot.request.alternatives)
    ]
    wanted = sum(problem.needs[ask] for ask in asks)
    groups = {value: _size(problem, asks, places) for value, places in _groups(problem, constraint)}
    if constraint.kind == "distinct":
        values = sum(size > 0 for size in groups.values())
        text = f"{constraint}: {values} different values, {wanted} wanted"
        return text if values < wanted else ""
    best = max(groups, key=lambda value: (groups[value], str(value)), default=None)
    if best is None or groups[best] >= wanted:
        return ""
    size = groups[best]
    return f"{constraint}: largest group ({text_of(frozenset([best]))}) has {size} of {wanted}"


def _groups(
    problem: Problem, constraint: Constraint
) -> Iterable[tuple[tuple[str, object], set[int]]]:
    """Which places have which value of the constraint's attribute."""
    groups: dict[tuple[str, object], set[int]] = defaultdict(set)
    for name, ask in alike.readings(problem):
        if name == constraint.attribute:
            for place, candidate in enumerate(problem.candidates):
                for value in problem.scene.values(ask, candidate, name) or ():
                    groups[value].add(place)
    return groups.items()


def _size(problem: Problem, asks: Sequence[Ask], places: set[int]) -> int:
    """How many of the wanted devices a group can give at most."""
    fitting = [{place for place in places if not problem.verdict(ask, place)} for ask in asks]
    most = sum(min(len(fit), problem.needs[ask]) for fit, ask in zip(fitting, asks, strict=True))
    union = set[int]().union(*fitting)
    is_shared = any(problem.candidates[place].is_shareable for place in union)
    return most if is_shared else min(most, len(union))
