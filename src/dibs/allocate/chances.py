"""What each ask may have whatever else is picked, and whether an attempt may end in an error.

Where the search might meet something fatal (a selector that fails, mode All under a constraint),
skipping a branch could hide it: then nothing may be skipped (`search`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dibs.allocate import places
from dibs.allocate.outcome import FATAL
from dibs.allocate.places import Places
from dibs.allocate.problem import Problem
from dibs.request.asks import Ask


def good_places(problem: Problem) -> Mapping[Ask, Places]:
    """The places that each ask may have, whatever else is picked."""
    found: dict[object, Places] = {}
    good = {}
    for ask in problem.asks:
        attributes = tuple(dict.fromkeys(each.attribute for _, each in problem.rules[ask]))
        derived = tuple(ask.derived.get(name) for name in attributes)
        among = problem.allowed[ask]
        if ask.mode == "All":
            among &= places.of(problem.lists[ask])
        key = id(problem.verdicts[ask]), attributes, derived, among
        if key not in found:
            found[key] = _good(problem, ask, among, attributes)
        good[ask] = found[key]
    return good


def is_short(problem: Problem, good: Mapping[Ask, Places]) -> bool:
    """Whether some request, taken alone, has too few places: the commonest no, found first."""
    return not all(
        any(0 < problem.needs[ask] <= good[ask].bit_count() for ask in slot.request.alternatives)
        for slot in problem.slots
    )


def might_be_fatal(problem: Problem) -> bool:
    """Whether the search may end in something fatal that skipping a branch could hide."""
    return problem.is_strict and any(_may_be_fatal(problem, ask) for ask in problem.asks)


def first_fatal(problem: Problem) -> int:
    """The number of slots before the first that may end in something fatal."""
    for number, slot in enumerate(problem.slots):
        if any(_may_be_fatal(problem, ask) for ask in slot.request.alternatives):
            return number
    return len(problem.slots)


def _may_be_fatal(problem: Problem, ask: Ask) -> bool:
    if ask.mode == "All" and problem.rules[ask]:
        return True
    return any(_is_fatal(problem, ask, place) for place in range(len(problem.candidates)))


def _is_fatal(problem: Problem, ask: Ask, place: int) -> bool:
    if against := problem.verdict(ask, place):
        return against.code in FATAL
    candidate = problem.candidates[place]
    return bool(ask.derived) and any(
        problem.scene.failure(ask, candidate, constraint.attribute)
        for _, constraint in problem.rules[ask]
    )


def _good(problem: Problem, ask: Ask, among: Places, attributes: Iterable[str]) -> Places:
    scene, candidates = problem.scene, problem.candidates
    good = [place for place in places.each(among) if problem.verdict(ask, place) is None]
    for name in attributes:
        good = [at for at in good if scene.values(ask, candidates[at], name) is not None]
    return places.of(good)
