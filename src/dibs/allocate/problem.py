"""The question as the search reads it: slots to fill, devices in order, and what is known of both.

Posing it does what comes before any search: mode All becomes a fixed list of devices, and what
no node could satisfy is refused. Verdicts are worked out when first asked for and kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dibs.allocate import checks, orders
from dibs.allocate.checks import Checks
from dibs.allocate.draft import Draft
from dibs.allocate.orders import Order
from dibs.allocate.outcome import FATAL, Reason
from dibs.allocate.scene import Scene
from dibs.request.asks import MAX_DEVICES, Ask, Constraint, Request, Wish
from dibs.supply.pools import Candidate, Pool, PoolFault
from dibs.values.mistake import Mistake


@dataclass(frozen=True, slots=True, eq=False)
class Slot:
    """One request of one claim, in the order in which they are filled."""

    wish: Wish
    request: Request
    opens_claim: bool


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """`needs` is how many devices each ask wants, `lists` the places that mode All wants.

    `rules` has the constraints that concern an ask, each with its number in the whole problem.
    `is_strict` makes a failing selector, or All against a constraint, end the whole attempt.
    """

    scene: Scene
    slots: tuple[Slot, ...]
    asks: tuple[Ask, ...]
    candidates: tuple[Candidate, ...]
    needs: Mapping[Ask, int]
    lists: Mapping[Ask, tuple[int, ...]]
    rules: Mapping[Ask, tuple[tuple[int, Constraint], ...]]
    tests: Checks
    is_strict: bool
    _verdicts: dict[tuple[Ask, int], Reason | None] = field(default_factory=dict)

    def only(self, slots: Sequence[Slot]) -> Problem:
        """The same question for some of the slots; what is known of asks and devices stays."""
        before = (None, *slots)
        kept = tuple(
            replace(slot, opens_claim=last is None or last.wish is not slot.wish)
            for last, slot in zip(before, slots, strict=False)
        )
        asks = tuple(ask for slot in kept for ask in slot.request.alternatives)
        return replace(self, slots=kept, asks=asks)

    def verdict(self, ask: Ask, place: int) -> Reason | None:
        """Why the ask can't have this device, whatever else is picked."""
        key = ask, place
        if key not in self._verdicts:
            self._verdicts[key] = checks.first(
                self.tests.standing, ask, self.candidates[place], self.scene
            )
        return self._verdicts[key]

    def objection(self, ask: Ask, place: int, draft: Draft) -> Reason | None:
        """Why the ask can't have this device now. Raises Mistake for what is fatal."""
        candidate = self.candidates[place]
        if self.is_strict and ask.mode == "All" and self.rules[ask]:
            self._raise_if_contradicted(ask, candidate, draft)
        tests = self.tests
        against = (
            checks.first_running(tests.first, ask, candidate, draft, self.scene)
            or self.verdict(ask, place)
            or checks.first_running(tests.running, ask, candidate, draft, self.scene)
            or self.violation(ask, candidate, draft)
        )
        if against is not None and self.is_strict:
            _raise_if_fatal(ask, candidate, against)
        return against

    def _raise_if_contradicted(self, ask: Ask, candidate: Candidate, draft: Draft) -> None:
        """Mode All against a constraint is fatal, also when other claims or picks have left too
        little capacity: upstream looks at that last."""
        tests = self.tests
        standing = tuple(test for test in tests.standing if test is not checks.left_over)
        running = tuple(test for test in tests.running if test is not checks.roomy)
        if (
            checks.first_running(tests.first, ask, candidate, draft, self.scene)
            or checks.first(standing, ask, candidate, self.scene)
            or checks.first_running(running, ask, candidate, draft, self.scene)
        ):
            return
        if against := self.violation(ask, candidate, draft):
            _raise_if_fatal(ask, candidate, against)

    def violation(self, ask: Ask, candidate: Candidate, draft: Draft) -> Reason | None:
        for number, constraint in self.rules[ask]:
            if against := checks.alike(ask, constraint, number, candidate, draft, self.scene):
                return against
        return None


def pose(
    wishes: Sequence[Wish],
    pools: Iterable[Pool],
    scene: Scene,
    tests: Checks,
    *,
    is_strict: bool,
    order: Order,
) -> Problem | PoolFault:
    """Put the question, or name the pool because of which mode All can't be answered.

    Raises Mistake for what is fatal, such as more devices than a claim may have.
    """
    usable = [pool for pool in pools if pool.fault is None or pool.fault.kind != "obsolete"]
    published = [each for pool in usable for each in pool.candidates]
    candidates = orders.arranged(published, order, scene)
    lists: dict[Ask, tuple[int, ...]] = {}
    needs: dict[Ask, int] = {}
    for wish in wishes:
        for ask in (ask for request in wish.requests for ask in request.alternatives):
            needs[ask] = ask.count
            if ask.mode == "All":
                listed = _listed(ask, usable, scene, tests, is_strict)
                if isinstance(listed, PoolFault):
                    return listed
                # All are taken, so their order matters only to who reads the results.
                lists[ask] = tuple(place for place, each in enumerate(candidates) if each in listed)
                needs[ask] = len(listed)
        _check_size(wish, needs)
    slots = tuple(
        Slot(wish, request, opens_claim=index == 0)
        for wish in wishes
        for index, request in enumerate(wish.requests)
    )
    return Problem(
        scene=scene,
        slots=slots,
        asks=tuple(ask for slot in slots for ask in slot.request.alternatives),
        candidates=candidates,
        needs=needs,
        lists=lists,
        rules=_rules(wishes),
        tests=tests,
        is_strict=is_strict,
    )


def _listed(
    ask: Ask, pools: Iterable[Pool], scene: Scene, tests: Checks, is_strict: bool
) -> frozenset[Candidate] | PoolFault:
    """The devices that mode All means, or the fault of a pool that may have more of them."""
    listed: list[Candidate] = []
    for pool in pools:
        if pool.fault is not None:
            return pool.fault
        for candidate in pool.candidates:
            against = checks.first(tests.listing, ask, candidate, scene)
            if against is None:
                listed.append(candidate)
            elif is_strict:
                _raise_if_fatal(ask, candidate, against)
    return frozenset(listed)


def _check_size(wish: Wish, needs: Mapping[Ask, int]) -> None:
    least = sum(min(needs[ask] for ask in request.alternatives) for request in wish.requests)
    if least > MAX_DEVICES:
        raise Mistake(
            f"claim {wish.key}: number of requested devices {least} exceeds the claim limit of "
            f"{MAX_DEVICES}",
            remedy="ask for the rest in another claim",
        )


def _rules(wishes: Iterable[Wish]) -> Mapping[Ask, tuple[tuple[int, Constraint], ...]]:
    rules: dict[Ask, tuple[tuple[int, Constraint], ...]] = {}
    first = 0
    for wish in wishes:
        numbered = tuple(enumerate(wish.constraints, first))
        first += len(numbered)
        for request in wish.requests:
            for ask in request.alternatives:
                rules[ask] = tuple(rule for rule in numbered if rule[1].concerns(ask))
    return rules


def _raise_if_fatal(ask: Ask, candidate: Candidate, against: Reason) -> None:
    if against.code in FATAL:
        raise Mistake(against.text)
    if against.code == "constraint" and ask.mode == "All":
        raise Mistake(
            f"claim {ask.claim}, request {ask.name}: cannot add device {candidate.id} because "
            f"a claim constraint would not be satisfied: {against.text}"
        )
