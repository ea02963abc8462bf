"""The constraints of a question with who has which value, as the bounds read them.

Of a matchAttribute only the values are kept that have devices enough for all that is under it.
Source: KEP-4381 (constraints), KEP-5491 (lists), KEP-6080 (derived attributes).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from dibs.allocate import places
from dibs.allocate.agreement import Holders, Rule, Sparse
from dibs.allocate.places import Places
from dibs.allocate.problem import Problem
from dibs.allocate.wants import Choice, Demand
from dibs.request.asks import Ask, Constraint

# Sets of more bits than this in all are made when needed.
MOST_HELD = 8_000_000


def of(problem: Problem, good: Mapping[Ask, Places]) -> Sequence[Rule]:
    constraints: dict[int, Constraint] = {}
    concerned: dict[int, set[Ask]] = defaultdict(set)
    for ask in problem.asks:
        for number, constraint in problem.rules[ask]:
            constraints[number] = constraint
            concerned[number].add(ask)
    return [
        _rule(problem, good, number, constraint, frozenset(concerned[number]))
        for number, constraint in constraints.items()
    ]


def _rule(
    problem: Problem,
    good: Mapping[Ask, Places],
    number: int,
    constraint: Constraint,
    concerned: frozenset[Ask],
) -> Rule:
    # Asks that derive the attribute differently may see different values: any will do.
    readers: dict[str | None, Ask] = {}
    wanted: dict[str | None, Places] = defaultdict(int)
    for ask in concerned:
        expression = ask.derived.get(constraint.attribute)
        readers.setdefault(expression, ask)
        wanted[expression] |= good[ask]
    lists: dict[tuple[str, object], list[int]] = defaultdict(list)
    is_plain = True
    for expression, ask in readers.items():
        for place in places.each(wanted[expression]):
            candidate = problem.candidates[place]
            values = problem.scene.values(ask, candidate, constraint.attribute) or ()
            is_plain = is_plain and len(values) < 2
            for value in values:
                lists[value].append(place)
    if constraint.kind == "distinct":
        return Rule(number, constraint, concerned, _holders(problem, lists), is_plain)
    different = {
        tuple([(good[a], problem.needs[a], a in concerned) for a in asks]): asks
        for asks in (slot.request.alternatives for slot in problem.slots)
        if not concerned.isdisjoint(asks)
    }
    choices = [
        Choice(tuple(Demand(ask, good[ask], problem.needs[ask]) for ask in asks), 1)
        for asks in different.values()
    ]
    least = _least(problem, concerned)
    enough = _holders(problem, {v: at for v, at in lists.items() if len(at) >= least})
    rule = Rule(number, constraint, concerned, enough, is_plain)
    useful: dict[tuple[int, ...], bool] = {}
    for value in enough:
        at = tuple(lists[value])
        if at not in useful:
            useful[at] = rule.within(choices, enough[value]) is not None
    kept = {value: at for value, at in lists.items() if useful.get(tuple(at))}
    return Rule(number, constraint, concerned, _holders(problem, kept), is_plain)


def _least(problem: Problem, concerned: frozenset[Ask]) -> int:
    """How many devices need the same value at least."""
    bound = [
        min(problem.needs[ask] for ask in slot.request.alternatives)
        for slot in problem.slots
        if concerned.issuperset(slot.request.alternatives)
    ]
    # A device that is shared, or looked at with admin access, serves more than one request.
    is_several = "shareable" in problem.scene.shelf.traits or any(a.is_admin for a in concerned)
    return max(bound, default=0) if is_several else sum(bound)


def _holders(problem: Problem, lists: Mapping[tuple[str, object], Sequence[int]]) -> Holders:
    if len(lists) * len(problem.candidates) > MOST_HELD:
        return Sparse(lists)
    return {value: places.of(at) for value, at in lists.items()}
