"""Whether what is still wanted can agree: constraint by constraint, value by value.

For matchAttribute every value is supposed in turn: then each ask under the constraint has only the
devices of that value, and all wants together must fit into what is left. For distinctAttribute
each wanted device needs a value of its own, which is the same question asked of values.
Source: KEP-4381 (constraints), KEP-5491 (lists: a device has several values).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dibs.allocate import matching, places
from dibs.allocate.constraints import NO_VALUES
from dibs.allocate.draft import Draft, Values
from dibs.allocate.places import Places
from dibs.allocate.problem import Problem
from dibs.allocate.wants import Choice, Demand
from dibs.request.asks import Ask, Constraint

# Of constraints that would have to be supposed in more ways than this, nothing is said.
MOST_SUPPOSED = 256
# Of more lists of values than this it isn't looked how many have no value in common.
MOST_PACKED = 64

Value = tuple[str, object]
Holders = Mapping[Value, Places]


class Sparse(Holders):
    """Holders of very many values, in lists: as sets they would take the square of a large pool."""

    def __init__(self, lists: Mapping[Value, Sequence[int]]) -> None:
        self.lists = lists

    def __getitem__(self, value: Value) -> Places:
        return places.of(self.lists[value])

    def __iter__(self) -> Iterator[Value]:
        return iter(self.lists)

    def __len__(self) -> int:
        return len(self.lists)


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """One constraint: whom it concerns, and which places have which value.

    `holders` of a match constraint are only the values that have devices enough for all asks.
    """

    number: int
    constraint: Constraint
    concerned: frozenset[Ask]
    holders: Holders
    # Whether no device has more than one value.
    is_plain: bool = True
    # The value that went last time: most drafts differ little from the one before.
    _last: list[Value] = field(default_factory=list)

    def in_turn(self, values: Collection[Value]) -> Iterator[Value]:
        """The values in the order in which they are worth supposing; note each that goes."""
        last = self._last[0] if self._last else None
        if last is not None and last in values:
            yield last
        yield from (value for value in values if value != last)

    def note(self, value: Value) -> None:
        self._last[:] = [value]

    def wanted(self, choices: Iterable[Choice]) -> int:
        """How many devices come under it at least."""
        return sum(choice.least for choice in choices if self.binds(choice))

    def binds(self, choice: Choice) -> bool:
        """An alternative that the constraint doesn't concern frees the whole choice of it."""
        return self.concerned.issuperset([each.ask for each in choice.demands])

    def within(self, choices: Sequence[Choice], holder: Places) -> Sequence[Choice] | None:
        """The choices where all under the constraint are at these places; None if one can't."""
        narrowed = []
        concerned = self.concerned
        for choice in choices:
            if choice.places | holder == holder:
                narrowed.append(choice)
                continue
            demands = [
                Demand(each.ask, each.places & holder, each.wanted)
                if each.ask in concerned
                else each
                for each in choice.demands
            ]
            possible = Choice(tuple(demands), choice.times).possible
            if possible is None:
                return None
            narrowed.append(possible)
        return narrowed


def is_possible(
    rules: Iterable[Rule],
    choices: Sequence[Choice],
    draft: Draft,
    problem: Problem,
    has_room: Callable[[Sequence[Choice]], bool],
) -> bool:
    """Whether some values of the match constraints leave room for all, with values that differ."""
    supposed: list[tuple[Rule, Collection[Value]]] = []
    apart: list[Rule] = []
    for rule in rules:
        seen = draft.values.get(rule.number)
        # A value of no known type is good for a first device, but has no entry among the holders.
        if rule.wanted(choices) <= (seen is None):
            continue
        if rule.constraint.kind == "distinct":
            apart.append(rule)
        else:
            supposed.append((rule, rule.holders if seen is None else seen))
    supposed.sort(key=lambda each: len(each[1]))
    left = iter(range(MOST_SUPPOSED))

    def agree(choices: Sequence[Choice], number: int) -> bool:
        if number == len(supposed):
            return has_room(choices) and all(
                _differ(rule, choices, draft, problem) for rule in apart
            )
        rule, values = supposed[number]
        known: set[Places] = set()
        for value in rule.in_turn(values):
            holder = rule.holders.get(value, 0)
            # Of values that are found at the same places, one stands for all.
            if holder in known:
                continue
            known.add(holder)
            narrowed = rule.within(choices, holder)
            if narrowed is not None and (next(left, None) is None or agree(narrowed, number + 1)):
                rule.note(value)
                return True
        return False

    return agree(choices, 0)


def _differ(rule: Rule, choices: Sequence[Choice], draft: Draft, problem: Problem) -> bool:
    """Whether each wanted device can have a value that no other has."""
    bound = [choice for choice in choices if rule.binds(choice)]
    wanted = sum(choice.least for choice in bound)
    seen = draft.values.get(rule.number)
    # Without KEP-5491 a list has no value, and is taken for the first device.
    if seen is None and not problem.scene.features.list_type_attributes:
        wanted -= 1
    numbers: dict[Value, int] = {}
    wants = []
    for choice in bound:
        found: set[Value] = set()
        for value in _values(rule, choice, problem):
            if seen is None or value not in seen:
                found.add(value)
                if len(found) >= wanted:
                    break
        # Who has as many values as are wanted of all finds one, whatever the others have.
        if len(found) < wanted:
            bits = places.of(numbers.setdefault(value, len(numbers)) for value in found)
            wants.append((bits, choice.least))
    if seen is None and not problem.scene.features.list_type_attributes:
        union = 0
        for bits, _ in wants:
            union |= bits
        return len(wants) < len(bound) or union.bit_count() >= wanted
    if not matching.fits(wants):
        return False
    return rule.is_plain or _are_apart(rule, bound, wanted, seen or NO_VALUES, problem)


def _are_apart(
    rule: Rule, choices: Sequence[Choice], wanted: int, seen: Values, problem: Problem
) -> bool:
    """Whether so many devices have no value in common, each with several of them (KEP-5491)."""
    sets = {
        values
        for choice in choices
        for demand in choice.demands
        for place in places.each(demand.places)
        if (
            values := problem.scene.values(
                demand.ask, problem.candidates[place], rule.constraint.attribute
            )
        )
        and values.isdisjoint(seen)
    }
    # Whoever has a value less in its place is in nobody's way for it.
    smallest = [each for each in sets if not any(other < each for other in sets)]
    tries = iter(range(MOST_SUPPOSED))

    def pack(rest: Sequence[Values], wanted: int) -> bool:
        if wanted <= 0 or next(tries, None) is None:
            return True
        while len(rest) >= wanted:
            first, *rest = rest
            if pack([each for each in rest if each.isdisjoint(first)], wanted - 1):
                return True
        return False

    return len(smallest) > MOST_PACKED or pack(sorted(smallest, key=len), wanted)


def _values(rule: Rule, choice: Choice, problem: Problem) -> Iterator[Value]:
    """The values that the choice's places have, by places or by values, whichever are fewer."""
    at = choice.places
    if len(rule.holders) <= at.bit_count():
        yield from (value for value, holder in rule.holders.items() if holder & at)
        return
    for demand in choice.demands:
        for place in places.each(demand.places):
            candidate = problem.candidates[place]
            attribute = rule.constraint.attribute
            yield from problem.scene.values(demand.ask, candidate, attribute) or ()
