"""A question as tables of numbers: what each request may take, what it draws, who shares values.

Read from the objects by the API's documentation and the KEPs alone: nothing here comes from
`dibs.allocate`, `dibs.supply` or the brute-force oracle, so that a solver and a validator that
rest on it can contradict them. Only expressions are evaluated by `dibs.request`, whose answers
are taken as given. Amounts are in thousandths. All features are on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dibs.model.core import Node
from dibs.model.meta import LabelSelectorRequirement
from dibs.model.objects import (
    CapacityRequestPolicy,
    Counter,
    Device,
    DeviceAttribute,
    DeviceClass,
    DeviceConstraint,
    DeviceSubRequest,
    DeviceTaint,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceSlice,
    ResourceSliceSpec,
)
from dibs.request import derived, selectors
from dibs.supply.identity import DeviceId
from dibs.testing.question import Question
from dibs.values.quantity import Quantity

MOST_DEVICES = 32

# (driver, pool, counter set, counter)
CounterKey = tuple[str, str, str, str]
# An attribute's value with its type; of a list, each element is one.
Value = tuple[str, object]


@dataclass(frozen=True, slots=True)
class Spot:
    """One device that the node sees, of a pool that is whole. Spots are in candidate order.

    `is_shared`: a share of it is held, so that what it draws once is drawn already.
    """

    id: DeviceId
    device: Device
    slice: ResourceSlice
    is_held: bool
    is_shared: bool
    left: Mapping[str, int]

    @property
    def is_shareable(self) -> bool:
        return bool(self.device.allow_multiple_allocations)

    @property
    def draws(self) -> dict[CounterKey, int]:
        """What it draws once, however many shares of it there are (KEP-4815)."""
        return {
            (self.id.driver, self.id.pool, draw.counter_set, name): _milli(each.value)
            for draw in self.device.consumes_counters
            for name, each in draw.counters.items()
            if each.value_from is None
        }


@dataclass(frozen=True, slots=True)
class Take:
    """What one request draws of one device: of its capacities, and of counters by them."""

    consumed: Mapping[str, int]
    metered: Mapping[CounterKey, int]


@dataclass(frozen=True, slots=True)
class Want:
    """One request of one claim, or one alternative of it.

    `takes` has the spots that are good for it, taken alone. `count` of mode All is the length
    of its list; `is_hopeless` then says that the list is empty, or has a spot that isn't good.
    """

    claim: int
    request: int
    alternative: int
    name: str
    count: int
    is_all: bool
    is_admin: bool
    is_hopeless: bool
    takes: Mapping[int, Take]
    tolerations: tuple[DeviceToleration, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """One constraint: the values of each spot for each want (by number) that it is about."""

    is_match: bool
    values: Mapping[int, Mapping[int, frozenset[Value]]]


@dataclass(frozen=True, slots=True)
class Facts:
    """`wants` by claim, request and alternative, flat. `counters` is what is left of each;
    `modes` the groups that users of a counter set may still have, None where nobody uses it.

    `hopeless` says why no device need be looked at: one of the pools must be seen whole, and
    isn't; `fatal` that the claim asks for more than any claim may have.
    """

    spots: tuple[Spot, ...]
    wants: tuple[Want, ...]
    rules: tuple[Rule, ...]
    counters: Mapping[CounterKey, int]
    modes: Mapping[tuple[str, str, str], frozenset[str] | None]
    hopeless: str = ""
    fatal: str = ""


def of(question: Question) -> Facts:
    """The facts of a question. Selectors that fail are the caller's mistake."""
    seen = _pools(question.slices, question.node)
    held = _held(question.allocated)
    spots = tuple(
        _spot(slice_, device, held)
        for pool in seen
        if pool.is_whole
        for slice_ in pool.relevant
        for device in slice_.spec.devices
        if _reaches(slice_, device, question.node)
    )
    counters = {
        (pool.driver, pool.name, name, counter): each
        for pool in seen
        for name, counters in pool.counters.items()
        for counter, each in counters.items()
    }
    readings = tuple(
        reading
        for number, claim in enumerate(question.claims)
        for reading in _readings(number, claim)
    )
    classes = {each.metadata.name: each for each in question.classes}
    wants = []
    rules_of = [claim.spec.devices.constraints for claim in question.claims]
    for reading in readings:
        concerning = [each for each in rules_of[reading.claim] if _concerns(each, reading)]
        wants.append(_want(reading, concerning, spots, counters, classes))
    hopeless = ""
    if any(want.is_all for want in wants) and not all(pool.is_whole for pool in seen):
        hopeless = "all devices are asked for, and a pool isn't whole"
    return Facts(
        spots=spots,
        wants=tuple(wants),
        rules=tuple(_rules(readings, wants, rules_of, spots)),
        counters={key: _left(key, each, question, seen, held) for key, each in counters.items()},
        modes=_modes(seen, held),
        hopeless=hopeless,
        fatal=_fatal(wants),
    )


def _fatal(wants: Sequence[Want]) -> str:
    """A claim whose requests need more than 32 devices at the least is wrong on every node."""
    least: dict[tuple[int, int], int] = {}
    for want in wants:
        key = want.claim, want.request
        least[key] = min(least.get(key, want.count), want.count)
    for claim in {claim for claim, _ in least}:
        total = sum(count for (of, _), count in least.items() if of == claim)
        if total > MOST_DEVICES:
            return f"claim {claim} asks for {total} devices"
    return ""


# --- pools (KEP-4381) --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Pool:
    driver: str
    name: str
    relevant: tuple[ResourceSlice, ...]
    published: tuple[ResourceSlice, ...]
    is_whole: bool

    @property
    def counters(self) -> dict[str, Mapping[str, Counter]]:
        return {
            each.name: each.counters
            for slice_ in self.published
            for each in slice_.spec.shared_counters
        }


def _pools(slices: Sequence[ResourceSlice], node: Node) -> list[_Pool]:
    """The pools that the node sees, in the order in which their devices are tried."""
    by_pool: dict[tuple[str, str], list[ResourceSlice]] = {}
    for each in sorted(slices, key=lambda each: each.metadata.name):
        by_pool.setdefault((each.spec.driver, each.spec.pool.name), []).append(each)
    found = []
    for (driver, name), members in sorted(by_pool.items()):
        latest = max(each.spec.pool.generation for each in members)
        current = [each for each in members if each.spec.pool.generation == latest]
        relevant = [each for each in current if _is_relevant(each, node)]
        if relevant:
            is_whole = len(current) == current[0].spec.pool.resource_slice_count
            found.append(_Pool(driver, name, tuple(relevant), tuple(current), is_whole))
    # Devices that have to be attached first are the last choice (KEP-5007).
    return sorted(found, key=lambda pool: pool.is_whole and _binds(pool))


def _binds(pool: _Pool) -> bool:
    return any(
        device.binding_conditions for slice_ in pool.relevant for device in slice_.spec.devices
    )


def _is_relevant(slice_: ResourceSlice, node: Node) -> bool:
    if slice_.spec.per_device_node_selection:
        return any(_reaches(slice_, device, node) for device in slice_.spec.devices)
    return _is_for(slice_.spec, node)


def _reaches(slice_: ResourceSlice, device: Device, node: Node) -> bool:
    return not slice_.spec.per_device_node_selection or _is_for(device, node)


def _is_for(where: ResourceSliceSpec | Device, node: Node) -> bool:
    if where.node_name:
        return where.node_name == node.metadata.name
    if where.all_nodes:
        return True
    terms = where.node_selector.node_selector_terms if where.node_selector is not None else ()
    return any(all(_holds(each, node) for each in term.match_expressions) for term in terms)


def _holds(wanted: LabelSelectorRequirement, node: Node) -> bool:
    assert wanted.operator == "In", wanted
    return node.metadata.labels.get(wanted.key) in wanted.values


# --- what is held ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Held:
    """Devices that are with other claims; the shares of them with what each consumes and wanted."""

    whole: frozenset[DeviceId]
    shares: Mapping[DeviceId, tuple[Mapping[str, int], ...]]


def _held(claims: Sequence[ResourceClaim]) -> _Held:
    whole: set[DeviceId] = set()
    shares: dict[DeviceId, tuple[Mapping[str, int], ...]] = {}
    for claim in claims:
        assert claim.status.allocation is not None
        for pick in claim.status.allocation.devices.results:
            id_ = DeviceId(pick.driver, pick.pool, pick.device)
            if pick.admin_access:
                continue
            if pick.share_id is None:
                whole.add(id_)
            else:
                consumed = {name: _milli(each) for name, each in pick.consumed_capacity.items()}
                shares[id_] = (*shares.get(id_, ()), consumed)
    return _Held(frozenset(whole), shares)


def _spot(slice_: ResourceSlice, device: Device, held: _Held) -> Spot:
    id_ = DeviceId(slice_.spec.driver, slice_.spec.pool.name, device.name)
    shares = held.shares.get(id_, ())
    left = {
        name: _milli(each.value) - sum(share.get(name, 0) for share in shares)
        for name, each in device.capacity.items()
    }
    return Spot(id_, device, slice_, id_ in held.whole, bool(shares), left)


def _users(
    pool: _Pool, held: _Held
) -> Iterator[tuple[Device, tuple[Mapping[str, int], ...], bool]]:
    """Devices of the pool that are held, with the shares of them, and whether as a whole."""
    for slice_ in pool.published:
        for device in slice_.spec.devices:
            id_ = DeviceId(pool.driver, pool.name, device.name)
            if id_ in held.whole or id_ in held.shares:
                yield device, held.shares.get(id_, ()), id_ in held.whole


def _left(
    key: CounterKey, counter: Counter, question: Question, pools: Sequence[_Pool], held: _Held
) -> int:
    """What is left of a counter: nothing, where more is drawn than there is (KEP-4815)."""
    driver, name, counter_set, counter_name = key
    (pool,) = (each for each in pools if (each.driver, each.name) == (driver, name))
    left = _milli(counter.value)
    for device, shares, is_whole in _users(pool, held):
        for draw in device.consumes_counters:
            each = draw.counters.get(counter_name)
            if draw.counter_set != counter_set or each is None:
                continue
            if each.value_from is None:
                left -= _milli(each.value)
                continue
            for share in shares:
                left -= _amount(counter, share.get(each.value_from.capacity_key))
            if is_whole:
                # Whole, it was given what an empty request gets.
                capacity = device.capacity.get(each.value_from.capacity_key)
                asked = (
                    None
                    if capacity is None
                    else _consumed(capacity.value, capacity.request_policy, None)
                )
                left -= _amount(counter, asked)
    return max(left, 0)


def _amount(counter: Counter, asked: int | None) -> int:
    return _consumed(counter.value, counter.request_policy, asked)


def _modes(
    pools: Sequence[_Pool], held: _Held
) -> dict[tuple[str, str, str], frozenset[str] | None]:
    """Devices that draw from one counter set need a group in common, or none at all (KEP-5963)."""
    found: dict[tuple[str, str, str], frozenset[str] | None] = {}
    for pool in pools:
        for name in pool.counters:
            common: frozenset[str] | None = None
            for device, _, _ in _users(pool, held):
                for draw in device.consumes_counters:
                    if draw.counter_set == name:
                        its = modes_of(draw.compatibility_groups)
                        common = its if common is None else common & its
            found[pool.driver, pool.name, name] = common
    return found


def modes_of(groups: Sequence[str]) -> frozenset[str]:
    """A device without groups goes with others of that kind only: as if these were a group."""
    return frozenset(groups) or frozenset([""])


# --- wants -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Reading:
    """One request, or one alternative, as it is written."""

    claim: int
    request: int
    alternative: int
    parent: str
    name: str
    wish: ExactDeviceRequest | DeviceSubRequest

    @property
    def derivations(self) -> dict[str, str]:
        return {each.name: each.expression for each in self.wish.derived_attributes}


def _readings(number: int, claim: ResourceClaim) -> Iterator[_Reading]:
    for place, request in enumerate(claim.spec.devices.requests):
        if request.exactly is not None:
            yield _Reading(number, place, 0, request.name, request.name, request.exactly)
        for index, each in enumerate(request.first_available):
            name = f"{request.name}/{each.name}"
            yield _Reading(number, place, index, request.name, name, each)


def _want(
    reading: _Reading,
    constraints: Sequence[DeviceConstraint],
    spots: Sequence[Spot],
    counters: Mapping[CounterKey, Counter],
    classes: Mapping[str, DeviceClass],
) -> Want:
    wish = reading.wish
    is_admin = isinstance(wish, ExactDeviceRequest) and bool(wish.admin_access)
    is_all = wish.allocation_mode == "All"
    listed, takes = [], {}
    for place, spot in enumerate(spots):
        if not _selects(wish, classes[wish.device_class_name], spot):
            continue
        consumed = _could_hold(wish, spot)
        if consumed is None:
            continue
        listed.append(place)
        # Admin access draws from no counter (KEP-5018).
        metered = {} if is_admin else _metered(spot, consumed, counters)
        if metered is None or not _tolerates(wish.tolerations, spot.device.taints):
            continue
        if not is_admin and (spot.is_held or (spot.is_shared and not spot.is_shareable)):
            continue
        if any(not _values(each, reading, spot) for each in constraints):
            continue
        takes[place] = Take(consumed, metered)
    return Want(
        claim=reading.claim,
        request=reading.request,
        alternative=reading.alternative,
        name=reading.name,
        count=len(listed) if is_all else wish.count or 1,
        is_all=is_all,
        is_admin=is_admin,
        is_hopeless=is_all and (not listed or any(each not in takes for each in listed)),
        takes=takes,
        tolerations=wish.tolerations,
    )


def _selects(
    wish: ExactDeviceRequest | DeviceSubRequest, device_class: DeviceClass, spot: Spot
) -> bool:
    expressions = (
        each.cel.expression
        for each in (*device_class.spec.selectors, *wish.selectors)
        if each.cel is not None
    )
    return all(selectors.Selector.compile(each).matches(spot) for each in expressions)


def _tolerates(tolerations: Sequence[DeviceToleration], taints: Sequence[DeviceTaint]) -> bool:
    """KEP-5055: taints of other effects than these two keep nobody away."""
    return all(
        any(
            each.effect in ("", taint.effect)
            and each.key in ("", taint.key)
            and (each.operator == "Exists" or each.value == taint.value)
            for each in tolerations
        )
        for taint in taints
        if taint.effect in ("NoSchedule", "NoExecute")
    )


# --- amounts (KEP-5075, KEP-5941) --------------------------------------------------------------


def _milli(amount: Quantity | None) -> int:
    if amount is None:
        return 0
    exact = amount.exact_milli()
    assert exact is not None, amount
    return exact


def _could_hold(wish: ExactDeviceRequest | DeviceSubRequest, spot: Spot) -> dict[str, int] | None:
    """What the device gives if nothing of it is taken, by capacity; None if it can't."""
    asked = dict(wish.capacity.requests) if wish.capacity is not None else {}
    if not set(asked) <= set(spot.device.capacity):
        return None
    found = {}
    for name, capacity in spot.device.capacity.items():
        wanted = _milli(asked[name]) if name in asked else None
        taken = _consumed(capacity.value, capacity.request_policy, wanted)
        if not _is_allowed(capacity.value, capacity.request_policy, taken, wanted):
            return None
        found[name] = taken
    return found


def _metered(
    spot: Spot, consumed: Mapping[str, int], counters: Mapping[CounterKey, Counter]
) -> dict[CounterKey, int] | None:
    """What is drawn from counters by what is consumed of a capacity; None if it mayn't be."""
    found = {}
    for draw in spot.device.consumes_counters:
        for name, each in draw.counters.items():
            if each.value_from is None:
                continue
            key = spot.id.driver, spot.id.pool, draw.counter_set, name
            counter, wanted = counters[key], consumed.get(each.value_from.capacity_key)
            taken = _amount(counter, wanted)
            if not _is_allowed(counter.value, counter.request_policy, taken, wanted):
                return None
            found[key] = taken
    return found


def _consumed(
    total: Quantity | None, policy: CapacityRequestPolicy | None, wanted: int | None
) -> int:
    """The wish rounded up by the policy; without a wish, its default, else everything."""
    if wanted is None:
        has_default = policy is not None and policy.default is not None
        return _milli(policy.default) if policy and has_default else _milli(total)
    if policy is None:
        return wanted
    if policy.valid_range is not None:
        low = _milli(policy.valid_range.min)
        if wanted <= low:
            return low
        if policy.valid_range.step is None:
            return wanted
        step = _milli(policy.valid_range.step)
        return low + -(-(wanted - low) // step) * step
    larger = [_milli(each) for each in policy.valid_values if _milli(each) >= wanted]
    return min(larger, default=wanted)


def _is_allowed(
    total: Quantity | None, policy: CapacityRequestPolicy | None, taken: int, wanted: int | None
) -> bool:
    if taken > _milli(total):
        return False
    if policy is None or wanted is None or taken == _milli(policy.default):
        return True
    if policy.valid_range is not None:
        return policy.valid_range.max is None or taken <= _milli(policy.valid_range.max)
    return not policy.valid_values or taken in {_milli(each) for each in policy.valid_values}


# --- constraints (KEP-4381, KEP-5491, KEP-6080) ------------------------------------------------


def _concerns(constraint: DeviceConstraint, reading: _Reading) -> bool:
    names = constraint.requests
    return not names or reading.parent in names or reading.name in names


def _rules(
    readings: Sequence[_Reading],
    wants: Sequence[Want],
    constraints: Sequence[Sequence[DeviceConstraint]],
    spots: Sequence[Spot],
) -> Iterator[Rule]:
    for claim, some in enumerate(constraints):
        for constraint in some:
            values = {
                number: {place: _values(constraint, reading, spots[place]) for place in want.takes}
                for number, (reading, want) in enumerate(zip(readings, wants, strict=True))
                if reading.claim == claim and _concerns(constraint, reading)
            }
            yield Rule(constraint.match_attribute is not None, values)


def _values(constraint: DeviceConstraint, reading: _Reading, spot: Spot) -> frozenset[Value]:
    """The set of values that is compared; an empty one is no value at all."""
    name = constraint.match_attribute or constraint.distinct_attribute or ""
    expression = reading.derivations.get(name)
    if expression is not None:
        return _set_of(derived.compile(expression).attribute(spot))
    domain, _, bare = name.partition("/")
    attributes = spot.device.attributes
    published = attributes.get(name)
    if published is None and domain == spot.id.driver:
        published = attributes.get(bare)
    return frozenset() if published is None else _set_of(published)


def _set_of(attribute: DeviceAttribute) -> frozenset[Value]:
    for kind, scalar, items in (
        ("int", attribute.int_, attribute.ints),
        ("bool", attribute.bool_, attribute.bools),
        ("string", attribute.string, attribute.strings),
        ("version", attribute.version, attribute.versions),
    ):
        if scalar is not None:
            return frozenset([(kind, scalar)])
        if items is not None:
            return frozenset((kind, each) for each in items)
    return frozenset()
