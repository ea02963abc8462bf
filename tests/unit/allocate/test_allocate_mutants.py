"""Each check, constraint and bound is needed, and no bound may be more eager than it is.

The engine is built without one check of its tuples, without one kind of constraint, or with
bounds that skip more than they should: then some case must be decided otherwise. The mutants are
data: nothing is patched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace

import card_worlds
import msgspec
import pytest
import test_allocate_cases as cases
from allocate_questions import question

from dibs.allocate import chances, checks, explain, problem, purses, search
from dibs.allocate.bounds import Survey
from dibs.allocate.checks import Checks
from dibs.allocate.draft import Draft
from dibs.allocate.problem import Problem
from dibs.allocate.purses import Price
from dibs.allocate.scene import Scene
from dibs.allocate.selecting import Answers
from dibs.allocate.shelf import Shelf
from dibs.allocate.spare import Allowance, Spare
from dibs.cli import conform
from dibs.cli.conform import Question
from dibs.model.objects import Device, NodeAllocatableMapping, NodeAllocatableResource
from dibs.request import asks
from dibs.supply.features import ALL, Features
from dibs.supply.identity import CounterSetId
from dibs.supply.ledger import Ledger
from dibs.supply.pools import PoolFault, Supply
from dibs.testing import builders as b
from dibs.testing import worlds
from dibs.testing.question import tree
from dibs.values.mistake import Mistake
from dibs.values.quantity import Quantity

pytestmark = pytest.mark.slow

BUDGET = 3_000
# Worlds of cards in which it matters that not all cards are alike.
TELL_CARDS_APART = (182, 403)


@dataclass(frozen=True)
class Asked:
    question: Question
    is_strict: bool = True
    spare: Spare | None = None


def in_cases() -> Iterator[Asked]:
    for parameters in cases.cases():
        given = parameters.values[0]["given"]  # type: ignore[attr-defined]
        if given.get("order") != "packed":
            yield Asked(conform.read(question(given)), given.get("strict", True))
    yield from thirsty()


def thirsty() -> Iterator[Asked]:
    """Devices that draw more CPU than the node has, alone or two together (KEP-5517)."""
    for draws, count in (((3, 1), 1), ((3,), 1), ((1, 2, 1), 2)):
        devices = [_drawing(f"gpu-{n}", cpu) for n, cpu in enumerate(draws)]
        node = b.node("node-a")
        yield Asked(
            Question(
                id="thirsty",
                features=ALL,
                node=node,
                slices=(b.resource_slice(*devices, node="node-a"),),
                classes={"gpu": b.device_class("gpu")},
                claims=(b.claim("one", b.request("gpu", count=count)),),
                allocated=(),
                timeout_s=10,
            ),
            spare=Spare({"cpu": Allowance(Quantity.of(2), Quantity.of(2))}, [1]),
        )


def _drawing(name: str, cpu: int) -> Device:
    drawn = NodeAllocatableMapping(device_multiplier=Quantity.of(cpu))
    resources = {"cpu": NodeAllocatableResource(mapping=drawn)}
    return msgspec.structs.replace(b.device(name), node_allocatable_resources=resources)


CASES = tuple(in_cases())


# --- checks and constraints ----------------------------------------------------------------------


def _all_checks() -> list[tuple[str, object]]:
    """Each check with the tuple it stands in, over all ways to build the tuples."""
    ways = [ALL, *(replace(ALL, **{each.name: False}) for each in fields(Features))]
    found = {
        (tuple_.name, check): None
        for way in ways
        for tuple_ in fields(Checks)
        for check in getattr(checks.of(way), tuple_.name)
    }
    return list(found)


@pytest.mark.parametrize(
    ("where", "check"),
    [pytest.param(*each, id=f"{each[0]}-{each[1].__name__}") for each in _all_checks()],
)
def test_without_a_check_some_case_is_decided_otherwise(where: str, check: object) -> None:
    def without(tests: Checks) -> Checks:
        rest = tuple(each for each in getattr(tests, where) if each is not check)
        return replace(tests, **{where: rest})

    assert any(decided(each, tests=without) != decided(each) for each in CASES)


@pytest.mark.parametrize("kind", ["match", "distinct"])
def test_without_a_kind_of_constraint_some_case_is_decided_otherwise(kind: str) -> None:
    def without(posed: Problem) -> Problem:
        rules = {
            ask: tuple(rule for rule in numbered if rule[1].kind != kind)
            for ask, numbered in posed.rules.items()
        }
        return msgspec.structs.replace(posed, rules=rules)

    assert any(decided(each, change=without) != decided(each) for each in CASES)


def decided(
    asked: Asked,
    *,
    tests: Callable[[Checks], Checks] = lambda each: each,
    change: Callable[[Problem], Problem] = lambda each: each,
) -> object:
    """The devices picked, or why there are none, by an engine that is a little different."""
    try:
        posed = pose(asked, tests)
        if isinstance(posed, PoolFault):
            return posed
        changed = change(posed)
        draft = search.first_full(changed, BUDGET).draft
    except Mistake as mistake:
        return str(mistake)
    if draft is None:
        return [
            (no.device, no.reason.text) for ask in explain.refusal(changed).asks for no in ask.noes
        ]
    return picked(draft)


def pose(asked: Asked, tests: Callable[[Checks], Checks]) -> Problem | PoolFault:
    question = asked.question
    supply = Supply.of(question.slices, question.features)
    ledger = Ledger.of(question.allocated, question.features)
    wishes = asks.read(question.claims, question.classes, question.features)
    shelf = Shelf.of(supply.pools(question.node))
    scene = Scene(question.node, shelf, ledger, question.features, Answers(), asked.spare)
    return problem.pose(
        wishes,
        scene,
        tests(checks.of(question.features)),
        is_strict=asked.is_strict,
        order="first-fit",
    )


def picked(draft: Draft | None) -> object:
    return draft and [(pick.ask.name, pick.candidate.id) for pick in draft.picks]


# --- bounds --------------------------------------------------------------------------------------


def fewer_good(survey: Survey) -> Survey:
    """An ask may not have the last of its places."""
    good = {ask: at & ~(1 << at.bit_length() - 1) if at else 0 for ask, at in survey.good.items()}
    return replace(survey, good=good)


def nothing_shareable(survey: Survey) -> Survey:
    return replace(survey, shareable=0)


def fewer_holders(survey: Survey) -> Survey:
    """A value is not found at the last of the places that have it."""
    rules = [
        replace(
            rule,
            holders={v: at & ~(1 << at.bit_length() - 1) for v, at in rule.holders.items() if at},
        )
        for rule in survey.rules
    ]
    return replace(survey, rules=rules)


def thirstier_users(survey: Survey) -> Survey:
    """Every device draws a unit more than it does."""
    users = {
        owner: {_dearer(price, owner, survey): at for price, at in prices.items()}
        for owner, prices in survey.users.items()
    }
    return replace(survey, users=users, _unpaid={})


def _dearer(price: Price, owner: CounterSetId, survey: Survey) -> Price:
    layout = survey.problem.scene.shelf.layout(owner)
    more = [(counter, Quantity.of(1)) for counter in layout.counters]
    unit = layout.price([each for each in more if price.guards >> layout.top(each[0].name) & 1])
    return purses.joined([price, unit])[0]


def smaller_rooms(survey: Survey) -> Survey:
    """Every shared device has a unit less of each capacity."""
    rooms = [
        replace(room, left={at: left - 10**9 for at, left in room.left.items()}, _layers={})
        for room in survey.rooms
    ]
    return replace(survey, rooms=rooms)


def nothing_compatible(survey: Survey) -> Survey:
    members = {
        owner: {frozenset[str](): sum(each.values())} for owner, each in survey.members.items()
    }
    return replace(survey, members=members)


def less_in_all(survey: Survey) -> Survey:
    """The cards together have one unit less."""
    totals = [replace(each, left=each.left - 10**9) for each in survey.totals]
    return replace(survey, totals=totals)


def all_alike(survey: Survey) -> Survey:
    kinds = [0] * len(survey.likeness.kinds)
    return replace(survey, likeness=replace(survey.likeness, kinds=kinds))


def all_cards_alike(survey: Survey) -> Survey:
    cards = {at: replace(card, kind=0) for at, card in survey.likeness.cards.items()}
    return replace(survey, likeness=replace(survey.likeness, cards=cards))


def values_forgotten(survey: Survey) -> Survey:
    """Drafts between two asks have the same future, whatever values they have seen."""
    rules = [()] * len(survey.likeness.rules)
    return replace(survey, likeness=replace(survey.likeness, rules=rules))


def all_repeats(survey: Survey) -> Survey:
    """Every request wants the same as the one before it."""
    repeats = frozenset(range(1, len(survey.problem.slots)))
    rest = replace(survey.rest, repeats=repeats, _known={})
    return replace(survey, likeness=replace(survey.likeness, repeats=repeats), rest=rest)


TOO_EAGER = (
    fewer_good,
    nothing_shareable,
    fewer_holders,
    smaller_rooms,
    thirstier_users,
    nothing_compatible,
    less_in_all,
    all_alike,
    all_cards_alike,
    values_forgotten,
    all_repeats,
)


def in_worlds() -> Iterator[Asked]:
    yield from CASES
    for seed in range(150):
        for each in worlds.world(seed, worlds.EVERY_TRAIT if seed % 2 else frozenset()).questions():
            yield Asked(conform.read(tree(each)))
    for seed in (*range(150), *TELL_CARDS_APART):
        yield Asked(card_question(seed))
    yield Asked(keys_and_bins())


def keys_and_bins() -> Question:
    """Which of two keys opens the claim decides on which side of the node the rest must be packed,
    and that only one side has room for it no count of bounds can tell."""
    devices = [b.device(f"key-{side}", kind="key", attributes={"x/side": side}) for side in "ab"]
    devices += [
        b.device(
            f"bin-{side}-{number}",
            kind="bin",
            attributes={"x/side": side},
            capacity={"room": room},
            shareable=True,
        )
        for side, room in (("a", "100"), ("b", "110"))
        for number in range(2)
    ]
    kind = 'device.attributes["gpu.example.com"].kind'
    packed = [
        b.request(f"part-{number}", f'{kind} == "bin"', capacity={"room": size})
        for number, size in enumerate(("70", "40", "40", "40"))
    ]
    requests = [b.request(name, f'{kind} == "key"') for name in ("own", "other")] + packed
    matched = b.match("x/side", "own", *(each.name for each in packed))
    return Question(
        id="keys-and-bins",
        features=ALL,
        node=b.node("node-a"),
        slices=(b.resource_slice(*devices, node="node-a"),),
        classes={"gpu": b.device_class("gpu")},
        claims=(b.claim("one", *requests, constraints=[matched]),),
        allocated=(),
        timeout_s=10,
    )


def card_question(seed: int) -> Question:
    world = card_worlds.world(seed)
    return Question(
        id=f"cards-{seed}",
        features=ALL,
        node=b.node("node-a"),
        slices=world.slices,
        classes={"gpu": b.device_class("gpu")},
        claims=world.claims,
        allocated=world.held,
        timeout_s=10,
    )


@pytest.fixture(scope="module")
def surveyed() -> list[tuple[Survey, object]]:
    """Questions on which bounds matter, surveyed, with what plain backtracking picks."""
    found = []
    for asked in in_worlds():
        try:
            posed = pose(asked, lambda each: each)
        except Mistake:
            continue
        if isinstance(posed, PoolFault) or chances.might_be_fatal(posed):
            continue
        plain = search.explore(posed, None, BUDGET)
        if not plain.is_cut:
            survey = Survey.of(posed, chances.good_places(posed))
            found.append((survey, picked(plain.draft)))
    return found


def test_bounds_skip_no_answer(surveyed: list[tuple[Survey, object]]) -> None:
    assert len(surveyed) > 200
    assert all(picks_with(survey) == right for survey, right in surveyed)


@pytest.mark.parametrize("change", TOO_EAGER, ids=lambda each: each.__name__)
def test_a_bound_that_is_too_eager_is_noticed(
    change: Callable[[Survey], Survey], surveyed: list[tuple[Survey, object]]
) -> None:
    assert any(picks_with(change(survey)) != right for survey, right in surveyed)


def picks_with(survey: Survey) -> object:
    if survey.is_hopeless(Draft()):
        return None
    return picked(search.explore(survey.problem, survey, BUDGET).draft)
