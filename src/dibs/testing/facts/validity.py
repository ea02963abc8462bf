"""Whether an answer is a solution: every number of it is added up from the facts, once more.

`solution_of` reads an answer back into wants and spots; `fault` says what is wrong with it. Both
know nothing of how it was found, nor whether anything earlier would do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from dibs.model.objects import AllocationResult, DeviceRequestAllocationResult, ResourceClaim
from dibs.supply.identity import DeviceId
from dibs.testing.facts.tables import MOST_DEVICES, CounterKey, Facts, Solution, Want, modes_of

Picks = Sequence[tuple[Want, int]]


class Invalid(Exception):
    """The answer contradicts the question."""


def solution_of(
    facts: Facts,
    claims: Sequence[ResourceClaim],
    answer: Sequence[AllocationResult],
    *,
    is_in_order: bool,
) -> Solution:
    """Read an answer, and check each pick by itself. Raises Invalid.

    `is_in_order`: the devices of one request must be in candidate order, as in first fit.
    """
    _insist(len(claims) == len(answer), f"{len(claims)} claims, {len(answer)} allocations")
    places = {spot.id: place for place, spot in enumerate(facts.spots)}
    found = {}
    for number, allocation in enumerate(answer):
        results = allocation.devices.results
        requests = len(claims[number].spec.devices.requests)
        order = []
        for want_number, want in enumerate(facts.wants):
            mine = [each for each in results if each.request == want.name]
            if want.claim != number or not mine:
                continue
            key = number, want.request
            _insist(key not in found, f"request {want.name}: two alternatives")
            spots = tuple(_place(facts, want, each, places) for each in mine)
            _insist(len(spots) == len(set(spots)), f"{want.name}: one device twice: {spots}")
            if is_in_order:
                _insist(list(spots) == sorted(spots), f"{want.name}: out of order: {spots}")
            found[key] = want_number, spots
            order += mine
        _insist(order == list(results), f"claim {number}: results out of the order of requests")
        got = sum(claim == number for claim, _ in found)
        _insist(got == requests, f"claim {number}: {got} of {requests} requests")
    shares = [each.share_id for one in answer for each in one.devices.results if each.share_id]
    _insist(len(shares) == len(set(shares)), "one share twice")
    return found


def _place(
    facts: Facts,
    want: Want,
    result: DeviceRequestAllocationResult,
    places: Mapping[DeviceId, int],
) -> int:
    id_ = DeviceId(result.driver, result.pool, result.device)
    _insist(id_ in places, f"{want.name}: {id_} isn't there")
    place = places[id_]
    spot = facts.spots[place]
    _insist(place in want.takes, f"{want.name}: {spot.id} isn't good for it")
    _insist(bool(result.admin_access) == want.is_admin, f"{want.name}: admin access")
    _insist(result.tolerations == want.tolerations, f"{want.name}: tolerations")
    _insist(bool(result.share_id) == spot.is_shareable, f"{want.name}: share of {spot.id}")
    wanted = want.takes[place].consumed if spot.is_shareable else {}
    consumed = {name: each.exact_milli() for name, each in result.consumed_capacity.items()}
    _insist(consumed == wanted, f"{want.name}: consumes {consumed}, not {wanted}")
    return place


def fault(facts: Facts, solution: Solution) -> str | None:
    """What is wrong with the solution as a whole, or None."""
    try:
        picks = [
            (facts.wants[number], spot) for number, spots in solution.values() for spot in spots
        ]
        _insist(not facts.hopeless and not facts.fatal, facts.hopeless or facts.fatal)
        for number, spots in solution.values():
            want = facts.wants[number]
            _insist(len(spots) == want.count > 0, f"{want.name}: {len(spots)} of {want.count}")
            _insist(not want.is_hopeless, f"{want.name}: not all devices are good for it")
        _insist_on_limits(picks)
        _insist_on_sharing(facts, picks)
        _insist_on_cards(facts, picks)
        _insist_on_rules(facts, solution)
    except Invalid as invalid:
        return str(invalid)
    return None


def _insist_on_limits(picks: Picks) -> None:
    counts = Counter(want.claim for want, _ in picks)
    _insist(all(count <= MOST_DEVICES for count in counts.values()), f"too many: {counts}")


def _insist_on_sharing(facts: Facts, picks: Picks) -> None:
    for place, spot in enumerate(facts.spots):
        mine = [want for want, its in picks if its == place]
        ordinary = [want for want in mine if not want.is_admin]
        if not spot.is_shareable:
            claims = [want.claim for want in mine]
            _insist(len(ordinary) <= 1, f"{spot.id}: {len(ordinary)} have it")
            _insist(len(claims) == len(set(claims)), f"{spot.id}: twice in a claim")
            continue
        for name, left in spot.left.items():
            total = sum(want.takes[place].consumed[name] for want in ordinary)
            _insist(not ordinary or total <= left, f"{spot.id}: {total} of {left} {name}")


def _insist_on_cards(facts: Facts, picks: Picks) -> None:
    new = {place for want, place in picks if not want.is_admin and not facts.spots[place].is_shared}
    drawn: Counter[CounterKey] = Counter()
    for place in new:
        drawn.update(facts.spots[place].draws)
    for want, place in picks:
        if not want.is_admin:
            drawn.update(want.takes[place].metered)
    for key, amount in drawn.items():
        _insist(amount <= facts.counters[key], f"{key}: {amount} of {facts.counters[key]}")
    common = dict(facts.modes)
    for place in new:
        spot = facts.spots[place]
        for draw in spot.device.consumes_counters:
            card = spot.id.driver, spot.id.pool, draw.counter_set
            its, before = modes_of(draw.compatibility_groups), common[card]
            common[card] = its if before is None else before & its
            _insist(bool(common[card]), f"{card}: no group in common")


def _insist_on_rules(facts: Facts, solution: Solution) -> None:
    for number, rule in enumerate(facts.rules):
        values = [
            rule.values[want][spot]
            for want, spots in solution.values()
            if want in rule.values
            for spot in spots
        ]
        _insist(all(values), f"constraint {number}: a device has no value")
        if rule.is_match:
            _insist(
                not values or bool(frozenset.intersection(*values)),
                f"constraint {number}: no value in common",
            )
        else:
            seen = Counter(value for each in values for value in each)
            _insist(all(count == 1 for count in seen.values()), f"constraint {number}: {seen}")


def _insist(is_so: bool, otherwise: str) -> None:
    if not is_so:
        raise Invalid(otherwise)
