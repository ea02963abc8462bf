"""Why a device can't be taken: each check is one function that returns a Reason or None.

STANDING checks hold for the whole attempt, whatever else is picked; RUNNING ones depend on the
draft. The tuples are the order: it decides only which of several reasons is told, and which
selector's failure is met first, and for that it is the order of kube-scheduler.
Gates are resolved before: in the pools (taints, shares), in the ledger, and in these tuples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from dibs.allocate import amounts, capacity, constraints, counters, groups, overlaps, shelf
from dibs.allocate.draft import Draft
from dibs.allocate.outcome import Reason
from dibs.allocate.purses import Prices
from dibs.allocate.scene import Scene
from dibs.allocate.selecting import UNSELECTED
from dibs.request.asks import Ask, Constraint
from dibs.supply import pools, taints
from dibs.supply.features import Features
from dibs.supply.ledger import NOTHING
from dibs.supply.pools import Candidate
from dibs.values.mistake import Mistake

# What is there in a question at all: what its devices have, "measured" where shares or capacities
# are wanted, "moded" where counter sets have modes (KEP-5963).
Trait = shelf.Trait | Literal["measured", "moded"]

# What kubelet declares in node.status.declaredFeatures when it can leave operations out (KEP-5945).
SKIPS_OPERATIONS = "DRAOptionalNodeOperations"

Standing = Callable[[Ask, Candidate, Scene], Reason | None]
Running = Callable[[Ask, Candidate, Draft, Scene], Reason | None]

# Said of most devices in most attempts, and rarely read: `in_full` has more words for them.
HELD = Reason("held", "another claim has it")
USED_UP = Reason("counter", "a counter is used up")


@dataclass(frozen=True, slots=True, eq=False)
class Checks:
    """All checks of an attempt. A selector that fails on a device which is in use is never met
    (KEP-4381 evaluates selectors only on free devices): so `first` come before the standing ones.
    """

    listing: tuple[Standing, ...]
    first: tuple[Running, ...]
    standing: tuple[Standing, ...]
    running: tuple[Running, ...]


@lru_cache(maxsize=64)
def of(features: Features) -> Checks:
    """All checks that these features need."""
    running = (roomy, compatible_here, affordable, supplied)
    return Checks(listing(features), (unpicked,), standing(features), running)


def standing(features: Features) -> tuple[Standing, ...]:
    """The standing checks that these features need, in order."""
    tests: list[Standing] = [free]
    if not features.device_binding_and_status:
        tests.append(bindable)
    tests += [selected, reachable]
    if features.consumable_capacity:
        tests += [ample, left_over]
    tests.append(skippable if features.optional_node_operations else prepared)
    if features.partitionable_devices:
        if not features.shared_consumable_capacity or not features.consumable_capacity:
            tests.append(unmetered)
        tests.append(unchanged)
        if features.compatibility_groups:
            tests.append(compatible)
        tests.append(drawable)
    else:
        tests.append(whole)
    tests += [tolerated, supplied_alone]
    return tuple(tests)


def listing(features: Features) -> tuple[Standing, ...]:
    """Which devices mode All means: those that match, whoever holds them (KEP-4381)."""
    tests: list[Standing] = [selected, reachable]
    if not features.device_binding_and_status:
        tests.insert(0, bindable)
    if features.consumable_capacity:
        tests.append(ample)
    return tuple(tests)


@lru_cache(maxsize=256)
def that_matter(tests: Checks, traits: frozenset[Trait]) -> Checks:
    """Without the checks that have nothing against any device, in a question of these traits."""

    def is_needed(test: object) -> bool:
        return test not in _ABOUT or _ABOUT[test] in traits

    return Checks(
        tuple(filter(is_needed, tests.listing)),
        tuple(filter(is_needed, tests.first)),
        tuple(filter(is_needed, tests.standing)),
        tuple(filter(is_needed, tests.running)),
    )


def first(
    tests: tuple[Standing, ...], ask: Ask, candidate: Candidate, scene: Scene
) -> Reason | None:
    for test in tests:
        if against := test(ask, candidate, scene):
            return against
    return None


def first_running(
    tests: tuple[Running, ...], ask: Ask, candidate: Candidate, draft: Draft, scene: Scene
) -> Reason | None:
    for test in tests:
        if against := test(ask, candidate, draft, scene):
            return against
    return None


# --- standing ------------------------------------------------------------------------------------


def free(ask: Ask, candidate: Candidate, scene: Scene) -> Reason | None:
    """Another claim has it. A device shared out stays so after it stopped being shareable."""
    holding = scene.ledger.held(candidate.id)
    if holding is NOTHING or ask.is_admin:
        return None
    return HELD if holding.whole or (holding.shares and not candidate.is_shareable) else None


def bindable(ask: Ask, candidate: Candidate, scene: Scene) -> Reason | None:
    """KEP-5007 is off, and the device can't be used before a controller has said so."""
    if candidate.device.binding_conditions:
        return Reason("binding-conditions", "has binding conditions, which are switched off")
    return None


def selected(ask: Ask, candidate: Candidate, scene: Scene) -> Reason | None:
    return scene.answers.objection(ask, candidate)


def reachable(ask: Ask, candidate: Candidate, scene: Scene) -> Reason | None:
    """The device's own node selection (KEP-4815, perDeviceNodeSelection)."""
    try:
        if pools.is_reachable(candidate, scene.node):
            return None
    except Mistake as mistake:
        return Reason("selector-error", str(mistake))
    return Reason("unreachable", f"can't be reached from {scene.node.metadata.name}")


def ample(ask: Ask, candidate: Candidate, scene: Scene) -> Reason | None:
    """Whether the device, with nothing of it taken, could serve the ask (KEP-5075)."""
    if not candidate.is_shareable and not ask.capacity:
        return None
    in_milli = scene.features.fractional_capacity_range
    published, wanted = candidate.device.capacity, scene.own(ask, candidate)
    if nonsense := capacity.unmeasurable(published, wanted, in_milli=in_milli):
        return Reason("capacity-error", nonsense)
    _, why = scene.share(ask, candidate)
    return Reason("capacity", why) if why else None


def left_over(ask: Ask, candidate: Candidate, scene: Scene) -> Reason | None:
    """Whether what other claims consume leaves enough. Admin access consumes nothing."""
    if ask.is_admin or not candidate.is_shareable:
        return None
    wanted, _ = scene.share(ask, candidate)
    room = scene.room(candidate)
    name = capacity.shortage(room, wanted)
    if not name:
        return None
    shares = scene.ledger.held(candidate.id).shares
    total = candidate.device.capacity[name].value
    policy = candidate.device.capacity[name].request_policy
    amount = amounts.wanted(wanted[name], ask.capacity.get(name), policy)
    text = f"{name}: {max(room[name], amounts.ZERO)} of {total} left, {amount}"
    by = amounts.taken_by(name, shares)
    return Reason("capacity", f"{text}; shared by {by}" if by else text, shares[0] if by else None)


def skippable(ask: Ask, candidate: Candidate, scene: Scene) -> Reason | None:
    """KEP-5945: kubelet must know that it has to leave operations out, and say so."""
    if not candidate.slice.spec.skip_node_operations:
        return None
    if SKIPS_OPERATIONS in scene.node.status.declared_features:
        return None
    node = scene.node.metadata.name
    text = f"skips node operations, for which {node} doesn't declare {SKIPS_OPERATIONS}"
    return Reason("node-operations", text)


def prepared(ask: Ask, candidate: Candidate, scene: Scene) -> Reason | None:
    if candidate.slice.spec.skip_node_operations:
        return Reason("node-operations", "skips node operations, which is switched off")
    return None


def unmetered(ask: Ask, candidate: Candidate, scene: Scene) -> Reason | None:
    """KEP-5941 is off: nobody would know how much the device draws."""
    if candidate.meters:
        counter = candidate.meters[0][0]
        what = f"draws {counter.set}/{counter.name} by capacity"
        return Reason("partition", f"{what}, which is switched off")
    return None


def unchanged(ask: Ask, candidate: Candidate, scene: Scene) -> Reason | None:
    """A device that draws otherwise than when its shares were given is another device: what one
    more share of it would draw, and in which mode, nobody could say (designs/031)."""
    if ask.is_admin or not candidate.is_shareable:
        return None
    for share in scene.ledger.held(candidate.id).shares:
        record = share.record
        if record is None:
            continue
        if record.once != dict(candidate.draws) or record.groups != dict(candidate.groups):
            text = f"was published anew with other counters while {share.claim} has a share of it"
            return Reason("counter", text)
    return None


def compatible(ask: Ask, candidate: Candidate, scene: Scene) -> Reason | None:
    """Whether the device goes with what others hold of its card (KEP-5963)."""
    modes = scene.modes(candidate.pool) if candidate.groups else None
    if not modes or not joins(ask, candidate, scene):
        return None
    owner = groups.clash(candidate, modes)
    if owner is None:
        return None
    pool = scene.shelf.pools[candidate.pool]
    return Reason("group", groups.text_of(owner, candidate, pool, scene.ledger))


def joins(ask: Ask, candidate: Candidate, scene: Scene) -> bool:
    """Whether a pick adds a user to the card: not under admin access, nor if it is one already."""
    return not ask.is_admin and not _is_shared(candidate, scene)


def drawable(ask: Ask, candidate: Candidate, scene: Scene) -> Reason | None:
    """Whether what other claims hold leaves enough of the counters (KEP-4815, KEP-5941)."""
    if ask.is_admin or not (candidate.draws or candidate.meters):
        return None
    _, why = scene.metered(ask, candidate)
    if why:
        return Reason("counter", why)
    prices = scene.prices(ask, candidate, is_first=not _is_shared(candidate, scene))
    for price in prices:
        if not price.is_covered(scene.purse(price.owner)):
            return USED_UP
    return None


def _is_shared(candidate: Candidate, scene: Scene) -> bool:
    """Whether a claim has a share of it: then what it draws once is drawn."""
    return candidate.is_shareable and bool(scene.ledger.held(candidate.id).shares)


def whole(ask: Ask, candidate: Candidate, scene: Scene) -> Reason | None:
    if candidate.device.consumes_counters:
        return Reason("partition", "is a partition, and partitionable devices are switched off")
    return None


def tolerated(ask: Ask, candidate: Candidate, scene: Scene) -> Reason | None:
    """KEP-5055. Admin access is not exempt."""
    taint = taints.first_untolerated(candidate.blocking, ask.tolerations)
    if taint is None:
        return None
    return Reason("tainted", f"taint {taints.text_of(taint)} is not tolerated")


def supplied_alone(ask: Ask, candidate: Candidate, scene: Scene) -> Reason | None:
    """Whether the node has the CPU and memory that the device draws (KEP-5517)."""
    if scene.spare is None or not candidate.device.node_allocatable_resources:
        return None
    wanted = scene.natives(ask, candidate)
    name = scene.spare.shortage(wanted)
    if not name:
        return None
    return Reason(
        "node-resource", f"draws {wanted[name]} of {name}, {scene.spare.allowances[name]}"
    )


# --- in words ------------------------------------------------------------------------------------


def in_full(against: Reason, ask: Ask, candidate: Candidate, scene: Scene) -> Reason:
    """The reason with all that is to be said of it: who holds, what is wanted, what is left."""
    if against is HELD:
        return held_by(candidate, scene)
    if against is UNSELECTED:
        return Reason("selector", scene.answers.explain(ask, candidate))
    return drawn_out(ask, candidate, scene) if against is USED_UP else against


def held_by(candidate: Candidate, scene: Scene) -> Reason:
    """HELD in full."""
    holding = scene.ledger.held(candidate.id)
    holder = holding.holders[0]
    if not holding.whole:
        return Reason("held", f"a share is allocated to {holder.claim}", holder)
    # More than one is a fault of somebody else's, and who looks for it needs all names.
    claims = dict.fromkeys(each.claim for each in holding.whole)
    return Reason("held", f"allocated to {' and to '.join(claims)}", holder)


def drawn_out(ask: Ask, candidate: Candidate, scene: Scene) -> Reason:
    """USED_UP in full: how much is left, who draws how much, what overlaps the device."""
    metered, _ = scene.metered(ask, candidate)
    draws = metered if _is_shared(candidate, scene) else (*candidate.draws, *metered)
    left, by = scene.left(candidate.pool), scene.drawings(candidate.pool)
    short = counters.shortage(draws, left)
    if short is None:
        return USED_UP
    inside = overlaps.found(candidate.draws, scene.shelf.pools[candidate.pool], by)
    return Reason("counter", overlaps.told(short, left, by, inside), overlaps=inside)


# --- running -------------------------------------------------------------------------------------


def unpicked(ask: Ask, candidate: Candidate, draft: Draft, scene: Scene) -> Reason | None:
    """Within a claim no device is used twice; between claims admin access is in no one's way."""
    use = draft.uses.get(candidate.id)
    if use is None or candidate.is_shareable:
        return None
    if ask.claim_number in use.claims or (use.is_whole and not ask.is_admin):
        return Reason("in-use-here", "picked for another request of the same pod")
    return None


def roomy(ask: Ask, candidate: Candidate, draft: Draft, scene: Scene) -> Reason | None:
    """Whether the shares of this attempt leave enough capacity."""
    use = draft.uses.get(candidate.id)
    if use is None or ask.is_admin or not candidate.is_shareable:
        return None
    wanted, _ = scene.share(ask, candidate)
    name = capacity.shortage(scene.room(candidate), wanted, use.consumed)
    return Reason("capacity", f"{name} goes to other requests of the same pod") if name else None


def affordable(ask: Ask, candidate: Candidate, draft: Draft, scene: Scene) -> Reason | None:
    """Whether the picks of this attempt leave enough of the counters."""
    known = draft.purses
    if not known:
        # Then it is what `drawable` has said already.
        return None
    for price in cost(ask, candidate, draft, scene):
        if price.owner in known and not price.is_covered(known[price.owner]):
            counter = scene.shelf.layout(price.owner).short(known[price.owner], price)
            text = f"{price.owner.name}/{counter} goes to other requests of the same pod"
            return Reason("counter", text)
    return None


def compatible_here(ask: Ask, candidate: Candidate, draft: Draft, scene: Scene) -> Reason | None:
    """Whether the device goes with the picks of this attempt (KEP-5963)."""
    if not candidate.groups or not draft.modes or not pays(ask, candidate, draft, scene):
        return None
    owner = groups.clash(candidate, draft.modes)
    if owner is None:
        return None
    return Reason("group", groups.text_within(owner, candidate, draft.modes))


def cost(ask: Ask, candidate: Candidate, draft: Draft, scene: Scene) -> Prices:
    """What a pick draws from counters: a fixed amount if it pays, and what it wants by capacity."""
    if ask.is_admin or not (candidate.draws or candidate.meters):
        return ()
    if not candidate.is_shareable and not candidate.meters:
        return scene.shelf.prices(candidate)
    return scene.prices(ask, candidate, is_first=pays(ask, candidate, draft, scene))


def supplied(ask: Ask, candidate: Candidate, draft: Draft, scene: Scene) -> Reason | None:
    """Whether the picks of this attempt leave enough of the node's CPU and memory."""
    if scene.spare is None or not candidate.device.node_allocatable_resources:
        return None
    drawn = scene.spare.drawn(draft.picks)
    name = scene.spare.shortage(scene.natives(ask, candidate), drawn)
    if not name:
        return None
    return Reason("node-resource", f"{name} of the node goes to other devices of the same pod")


def pays(ask: Ask, candidate: Candidate, draft: Draft, scene: Scene) -> bool:
    """Whether a pick makes the device used: not under admin access, nor with a second share."""
    if ask.is_admin:
        return False
    if not candidate.is_shareable:
        return True
    use = draft.uses.get(candidate.id)
    return not (use and use.shares) and joins(ask, candidate, scene)


def alike(
    ask: Ask,
    constraint: Constraint,
    number: int,
    candidate: Candidate,
    draft: Draft,
    scene: Scene,
) -> Reason | None:
    """Whether the device fits those that the constraint has seen. Without the attribute: no."""
    if failure := scene.failure(ask, candidate, constraint.attribute):
        where = f"derived attribute {constraint.attribute} on device {candidate.id}"
        return Reason("derived-error", f"claim {ask.claim}: {where}: {failure}")
    values = scene.values(ask, candidate, constraint.attribute)
    if values is None:
        return Reason("constraint", f"has no attribute {constraint.attribute} ({constraint})")
    if not values and scene.features.list_type_attributes:
        # Without the feature a list is such a value, and upstream takes it for the first device.
        return Reason("constraint", f"{constraint.attribute} has no value of a known type")
    seen = draft.values.get(number)
    if constraints.is_met(constraint, seen, values):
        return None
    assert seen is not None
    texts = f"{constraints.text_of(values)}, picked so far: {constraints.text_of(seen)}"
    return Reason("constraint", f"{constraint}: {texts}")


# --- which devices a check is about --------------------------------------------------------------

# A check has nothing against anything in a question without this trait; those that are not named
# judge any.
_ABOUT: Mapping[object, Trait] = {
    bindable: "binding",
    reachable: "selective",
    ample: "measured",
    left_over: "shareable",
    skippable: "skipping",
    prepared: "skipping",
    unmetered: "metered",
    unchanged: "shareable",
    compatible: "moded",
    drawable: "drawing",
    whole: "partition",
    tolerated: "tainted",
    supplied_alone: "native",
    roomy: "shareable",
    affordable: "drawing",
    compatible_here: "moded",
    supplied: "native",
}
