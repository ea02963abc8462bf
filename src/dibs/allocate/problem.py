"""The question as the search reads it: slots to fill, devices in order, and what is known of both.

Posing it does what comes before any search: mode All becomes a fixed list of devices, and what
no node could satisfy is refused. Verdicts are worked out when first asked for and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

import msgspec

from dibs.allocate import checks, orders, places
from dibs.allocate.checks import Checks, Trait
from dibs.allocate.draft import Draft
from dibs.allocate.orders import Order
from dibs.allocate.outcome import FATAL, Reason
from dibs.allocate.places import Places
from dibs.allocate.scene import Scene
from dibs.allocate.selecting import UNSELECTED
from dibs.allocate.shelf import Shelf
from dibs.request.asks import MAX_DEVICES, Ask, Constraint, Request, Wish
from dibs.supply.pools import Candidate, PoolFault
from dibs.values.mistake import Mistake

Rules = tuple[tuple[int, Constraint], ...]


class Verdicts:
    """What is known of devices for asks that judge alike: by place, why they can't be had.

    The places before `refused_below` all can't. `expressions` are the selectors of these asks.
    """

    __slots__ = ("expressions", "known", "refused_below")

    def __init__(self, ask: Ask) -> None:
        self.expressions = tuple([each.expression for each in ask.conditions])
        self.known: dict[int, Reason | None] = {}
        self.refused_below = 0


class Slot(msgspec.Struct, frozen=True, eq=False):
    """One request of one claim, in the order in which they are filled."""

    wish: Wish
    request: Request
    opens_claim: bool


class Problem(msgspec.Struct, frozen=True, eq=False):
    """`needs` is how many devices each ask wants, `lists` the places that mode All wants.

    `rules` has the constraints that concern an ask, each with its number in the whole problem,
    `allowed` the places that an ask may possibly have, `verdicts` what is known of its devices:
    one table for all asks that judge alike.
    `is_strict` makes a failing selector, or All against a constraint, end the whole attempt.
    """

    scene: Scene
    slots: tuple[Slot, ...]
    asks: tuple[Ask, ...]
    candidates: tuple[Candidate, ...]
    needs: Mapping[Ask, int]
    lists: Mapping[Ask, tuple[int, ...]]
    rules: Mapping[Ask, Rules]
    allowed: Mapping[Ask, Places]
    verdicts: Mapping[Ask, Verdicts]
    tests: Checks
    is_strict: bool

    def only(self, slots: Sequence[Slot]) -> Problem:
        """The same question for some of the slots; what is known of asks and devices stays."""
        before = (None, *slots)
        kept = tuple(
            Slot(slot.wish, slot.request, last is None or last.wish is not slot.wish)
            for last, slot in zip(before, slots, strict=False)
        )
        asks = tuple(ask for slot in kept for ask in slot.request.alternatives)
        return msgspec.structs.replace(self, slots=kept, asks=asks)

    def verdict(self, ask: Ask, place: int) -> Reason | None:
        """Why the ask can't have this device, whatever else is picked."""
        table = self.verdicts[ask]
        if place in table.known:
            return table.known[place]
        candidate, scene = self.candidates[place], self.scene
        against = None
        for test in self.tests.standing:
            if against := test(ask, candidate, scene):
                if against is UNSELECTED:
                    scene.shelf.leave_out(table.expressions, place)
                # What is fatal must be met again by the search.
                if place == table.refused_below and against.code not in FATAL:
                    table.refused_below += 1
                break
        table.known[place] = against
        return against

    def untaken(self, ask: Ask, draft: Draft) -> Iterator[int]:
        """Places at which the ask may find a device, in order; without those it can't have."""
        table = self.verdicts[ask]
        out = self.scene.shelf.unselected(table.expressions)
        open_ = self.allowed[ask] & ~(out if ask.is_admin else out | draft.taken)
        return places.each(open_, max(draft.start, table.refused_below))

    def objection(self, ask: Ask, place: int, draft: Draft) -> Reason | None:
        """Why the ask can't have this device now. Raises Mistake for what is fatal."""
        candidate, scene, tests = self.candidates[place], self.scene, self.tests
        if self.is_strict and ask.mode == "All" and self.rules[ask]:
            self._raise_if_contradicted(ask, candidate, draft)
        against = None
        if draft.uses:
            against = checks.first_running(tests.first, ask, candidate, draft, scene)
        against = (
            against
            or self.verdict(ask, place)
            or checks.first_running(tests.running, ask, candidate, draft, scene)
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
    scene: Scene,
    tests: Checks,
    *,
    is_strict: bool,
    order: Order,
    known: Callable[[Ask], Places] | None = None,
) -> Problem | PoolFault:
    """Put the question, or name the pool because of which mode All can't be answered.

    `known` are the allocator's `places`. Raises Mistake for what is fatal, such as more devices
    than a claim may have.
    """
    shelf = scene.shelf
    if order != "first-fit":
        scene = msgspec.structs.replace(scene, shelf=orders.arranged(shelf, order, scene))
    tests = checks.that_matter(tests, _traits(wishes, scene))
    slots: list[Slot] = []
    asks: list[Ask] = []
    lists: dict[Ask, tuple[int, ...]] = {}
    needs: dict[Ask, int] = {}
    for wish in wishes:
        opens_claim = True
        for request in wish.requests:
            slots.append(Slot(wish, request, opens_claim))
            opens_claim = False
            for ask in request.alternatives:
                asks.append(ask)
                needs[ask] = ask.count
                if ask.mode == "All":
                    listed = _listed(ask, scene, tests, is_strict)
                    if isinstance(listed, PoolFault):
                        return listed
                    lists[ask] = listed
                    needs[ask] = len(listed)
        _check_size(wish, needs)
    return Problem(
        scene,
        tuple(slots),
        tuple(asks),
        scene.shelf.candidates,
        needs,
        lists,
        _rules(wishes),
        _allowed(asks, known, shelf, scene.shelf),
        _verdicts(asks, scene),
        tests,
        is_strict,
    )


def _traits(wishes: Sequence[Wish], scene: Scene) -> frozenset[Trait]:
    """What is there at all: most questions have little of it."""
    shelf = scene.shelf
    found: frozenset[Trait] = shelf.traits
    alternatives = (a for wish in wishes for each in wish.requests for a in each.alternatives)
    if "shareable" in found or any(ask.capacity for ask in alternatives):
        found |= {"measured"}
    if "grouped" in found and any(scene.modes(pool.id) for pool in shelf.usable):
        found |= {"moded"}
    return found


def _allowed(
    asks: Sequence[Ask], known: Callable[[Ask], Places] | None, published: Shelf, arranged: Shelf
) -> Mapping[Ask, Places]:
    """What is known, in the order in which devices are tried."""
    everything = published.everything
    if known is None:
        return dict.fromkeys(asks, everything)
    allowed = {ask: known(ask) & everything for ask in asks}
    if arranged is published:
        return allowed
    return {ask: arranged.translated(bits, published) for ask, bits in allowed.items()}


def _verdicts(asks: Sequence[Ask], scene: Scene) -> Mapping[Ask, Verdicts]:
    if len(asks) == 1:
        return {asks[0]: Verdicts(asks[0])}
    tables: dict[Hashable, Verdicts] = {}
    found = {}
    for ask in asks:
        judgement = _judgement(ask, scene)
        if judgement not in tables:
            tables[judgement] = Verdicts(ask)
        found[ask] = tables[judgement]
    return found


def _judgement(ask: Ask, scene: Scene) -> Hashable:
    """All of an ask that the standing checks look at."""
    # What a device draws from the node depends on how many containers refer to the claim.
    containers = None if scene.spare is None else scene.spare.containers[ask.claim_number]
    capacity = frozenset(ask.capacity.items()) if ask.capacity else None
    return ask.conditions, ask.is_admin, ask.tolerations, capacity, containers


def _listed(ask: Ask, scene: Scene, tests: Checks, is_strict: bool) -> tuple[int, ...] | PoolFault:
    """The places that mode All means, or the fault of a pool that may have more of them."""
    listed = set()
    for pool in scene.shelf.usable:
        if pool.fault is not None:
            return pool.fault
        for candidate in pool.candidates:
            against = checks.first(tests.listing, ask, candidate, scene)
            if against is None:
                listed.add(candidate)
            elif is_strict:
                _raise_if_fatal(ask, candidate, against)
    return tuple(place for place, each in enumerate(scene.shelf.candidates) if each in listed)


def _check_size(wish: Wish, needs: Mapping[Ask, int]) -> None:
    least = sum(min(map(needs.__getitem__, each.alternatives)) for each in wish.requests)
    if least > MAX_DEVICES:
        raise Mistake(
            f"claim {wish.key}: number of requested devices {least} exceeds the claim limit of "
            f"{MAX_DEVICES}",
            remedy="ask for the rest in another claim",
        )


def _rules(wishes: Iterable[Wish]) -> Mapping[Ask, Rules]:
    rules: dict[Ask, Rules] = {}
    first = 0
    for wish in wishes:
        numbered = tuple(enumerate(wish.constraints, first))
        first += len(numbered)
        for request in wish.requests:
            for ask in request.alternatives:
                # Asks that are under the same rules have the same value here.
                mine = tuple(rule for rule in numbered if rule[1].concerns(ask))
                rules[ask] = numbered if len(mine) == len(numbered) else mine
    return rules


def _raise_if_fatal(ask: Ask, candidate: Candidate, against: Reason) -> None:
    if against.code in FATAL:
        raise Mistake(against.text)
    if against.code == "constraint" and ask.mode == "All":
        raise Mistake(
            f"claim {ask.claim}, request {ask.name}: cannot add device {candidate.id} because "
            f"a claim constraint would not be satisfied: {against.text}"
        )
