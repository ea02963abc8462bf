"""The one question of this room: can this node give all the claims of a Pod their devices?

All or nothing. The answer is a value: Allocated, Refused with reasons, Failed when the question
is wrong on every node, TimedOut when the budget of steps is used up. Which node is asked first,
and what is then written, is `schedule`'s.
Source: KEP-4381; differences from kube-scheduler are listed in designs/030-allocator.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dibs.allocate import checks, explain, problem, remembering, result, search
from dibs.allocate.orders import Order
from dibs.allocate.outcome import Allocated, Failed, Outcome, Refused, TimedOut
from dibs.allocate.problem import Problem
from dibs.allocate.result import ShareId
from dibs.allocate.scene import Scene
from dibs.allocate.selecting import Answers
from dibs.allocate.shares import named_share
from dibs.allocate.spare import Spare
from dibs.model.core import Node
from dibs.model.objects import DeviceClass, ResourceClaim
from dibs.request.asks import Ask, Unreadable, Wish
from dibs.supply.features import Features
from dibs.supply.ledger import Ledger
from dibs.supply.pools import PoolFault, Supply
from dibs.values.mistake import Mistake


@dataclass(frozen=True, slots=True)
class Options:
    """How to decide; which features are on is the supply's and the ledger's matter.

    `strict`: a selector that fails on a device, or mode All against a constraint, ends the
    attempt on all nodes, as kube-scheduler has it. Otherwise it is a reason against that device.
    `order` is that of devices inside the node.
    `budget` is in steps of the search (a tenth of a millisecond each), so that the same question
    always has the same answer. `share_id` names new shares (an RFC 4122 UUID each).
    """

    strict: bool = False
    order: Order = "first-fit"
    budget: int = 50_000
    share_id: ShareId = named_share
    explain: bool = True


DEFAULT = Options()

# Which devices an ask may possibly have, as bits: the n-th is for the n-th device of the node's
# usable pools in the order of `Supply.pools`. A device without a bit can't be taken by the ask as
# things stand; one with a bit may still be refused. -1 says nothing. See `allocate`.
Places = Callable[[Ask], int]


def allocate(
    node: Node,
    claims: Sequence[ResourceClaim],
    supply: Supply,
    ledger: Ledger,
    classes: Mapping[str, DeviceClass],
    options: Options = DEFAULT,
    answers: Answers | None = None,
    spare: Spare | None = None,
    places: Places | None = None,
) -> Outcome:
    """Decide. `claims` are those of one Pod that have no allocation yet, in the Pod's order.

    `spare` is what the Pod may draw from the node through devices; without it that isn't judged.
    `answers` may be kept from one call to the next, also when slices change.
    `places` spares the search devices that somebody knows to be of no use, in a pool of very many;
    it changes no answer. Where errors are fatal (`strict`) it is ignored, as one might be met at
    any device; and reasons are given for all devices.
    """
    answers = answers if answers is not None else Answers()
    try:
        wishes, wrong = _read(claims, classes, supply.features, answers)
        shelf = answers.shelf(supply.pools(node))
        scene = Scene(node, shelf, ledger, supply.features, answers, spare)
        posed = _pose(wishes, scene, options, None if options.strict else places)
        if isinstance(posed, PoolFault):
            return _unposed(scene, posed)
        if wrong is not None:
            raise wrong
        return _answer(posed, wishes, classes, options)
    except Mistake as mistake:
        return Failed(node.metadata.name, str(mistake))


def reasons(
    node: Node,
    claims: Sequence[ResourceClaim],
    supply: Supply,
    ledger: Ledger,
    classes: Mapping[str, DeviceClass],
    options: Options = DEFAULT,
    answers: Answers | None = None,
    spare: Spare | None = None,
) -> Refused | Failed:
    """Why a node said no, in full, for who asked with `explain=False`: nothing is searched again.

    The arguments are those of the refusal; for other ones the reasons are none.
    """
    answers = answers if answers is not None else Answers()
    try:
        wishes, _ = _read(claims, classes, supply.features, answers)
        shelf = answers.shelf(supply.pools(node))
        scene = Scene(node, shelf, ledger, supply.features, answers, spare)
        posed = _pose(wishes, scene, options)
        return _unposed(scene, posed) if isinstance(posed, PoolFault) else explain.refusal(posed)
    except Mistake as mistake:
        return Failed(node.metadata.name, str(mistake))


def _read(
    claims: Sequence[ResourceClaim],
    classes: Mapping[str, DeviceClass],
    features: Features,
    answers: Answers,
) -> tuple[tuple[Wish, ...], Mistake | None]:
    """The wishes up to what can't be read. Requests are prepared one by one, so that a node may
    be out because of an earlier one before the later one is a fault on all nodes."""
    try:
        return answers.wishes(claims, classes, features), None
    except Unreadable as unreadable:
        return unreadable.before, unreadable


def _pose(
    wishes: Sequence[Wish], scene: Scene, options: Options, places: Places | None = None
) -> Problem | PoolFault:
    tests = checks.of(scene.features)
    return problem.pose(
        wishes, scene, tests, is_strict=options.strict, order=options.order, known=places
    )


def _answer(
    posed: Problem, wishes: Sequence[Wish], classes: Mapping[str, DeviceClass], options: Options
) -> Outcome:
    node = posed.scene.node
    found = search.first_full(posed, options.budget)
    if found.is_cut:
        text = f"gave up after {found.steps} steps without having tried everything"
        return TimedOut(node.metadata.name, text, found.steps)
    if found.draft is None:
        if not options.explain:
            return Refused(node.metadata.name, posed.scene.shelf.faults, note=explain.UNTOLD)
        return explain.refusal(posed)
    allocations = result.of(found.draft, wishes, classes, node, options.share_id)
    records = remembering.of(found.draft, wishes, allocations, posed.scene)
    return Allocated(node.metadata.name, allocations, found.steps, records)


def _unposed(scene: Scene, fault: PoolFault) -> Refused:
    """Mode All must see all devices: one pool that isn't whole refuses the node (KEP-4381)."""
    note = f"a request asks for all devices, but {fault.text}"
    return Refused(scene.node.metadata.name, scene.shelf.faults, (), note)
