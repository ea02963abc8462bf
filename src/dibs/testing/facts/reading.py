"""From the objects of a question to its facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dibs.model.objects import ResourceClaim
from dibs.testing.facts import holding, pools, values, wants
from dibs.testing.facts.pools import Pool
from dibs.testing.facts.tables import MOST_DEVICES, Facts, Rule, Spot, Want
from dibs.testing.facts.wants import Reading
from dibs.testing.question import Question


def of(question: Question) -> Facts:
    """The facts of a question. Selectors that fail are the caller's mistake."""
    seen = pools.seen(question.slices, question.node)
    held = holding.held(question.allocated)
    spots = tuple(
        holding.spot(slice_, device, held)
        for pool in seen
        if pool.is_whole
        for slice_ in pool.relevant
        for device in slice_.spec.devices
        if pools.reaches(slice_, device, question.node)
    )
    counters = {
        (pool.driver, pool.name, name, counter): each
        for pool in seen
        for name, counters in pool.counters.items()
        for counter, each in counters.items()
    }
    classes = {each.metadata.name: each for each in question.classes}
    readings = [
        each
        for number, claim in enumerate(question.claims)
        for each in wants.readings(number, claim)
    ]
    found = tuple(wants.want(each, spots, counters, classes) for each in readings)
    return Facts(
        spots=spots,
        wants=found,
        rules=tuple(_rules(question.claims, readings, found, spots)),
        counters={key: holding.left(key, each, seen, held) for key, each in counters.items()},
        modes=holding.modes(seen, held),
        hopeless=_hopeless(seen, found),
        fatal=_fatal(found),
    )


def _hopeless(seen: Sequence[Pool], found: Sequence[Want]) -> str:
    """Mode All must see every pool whole, whichever request it stands in."""
    if any(want.is_all for want in found) and not all(pool.is_whole for pool in seen):
        return "all devices are asked for, and a pool isn't whole"
    return ""


def _fatal(found: Sequence[Want]) -> str:
    """A claim whose requests need more than 32 devices at the least is wrong on every node."""
    least: dict[tuple[int, int], int] = {}
    for want in found:
        key = want.claim, want.request
        least[key] = min(least.get(key, want.count), want.count)
    for claim in {claim for claim, _ in least}:
        total = sum(count for (of, _), count in least.items() if of == claim)
        if total > MOST_DEVICES:
            return f"claim {claim} asks for {total} devices"
    return ""


def _rules(
    claims: Sequence[ResourceClaim],
    readings: Sequence[Reading],
    found: Sequence[Want],
    spots: Sequence[Spot],
) -> Iterator[Rule]:
    """The constraints of all claims; each is about requests of its own claim only."""
    for number, claim in enumerate(claims):
        for constraint in claim.spec.devices.constraints:
            compared = {
                place: {
                    spot: values.compared(constraint, reading.derivations, spots[spot])
                    for spot in want.takes
                }
                for place, (reading, want) in enumerate(zip(readings, found, strict=True))
                if reading.claim == number and reading.is_under(constraint)
            }
            yield Rule(constraint.match_attribute is not None, compared)
