"""Who holds what: the one place where claims become "this device is taken".

Built in one function from claims that have an allocation, asked through `held`. What a claim
still wants is `request`'s; what a device offers is `pools`'; what held devices draw from counters
is worked out in `allocate.counters`, from the records kept here before anything else.
Source: KEP-4381 (status.allocation), KEP-5075 (shares), KEP-5018 (admin access holds nothing).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from dibs.model.objects import DeviceRequestAllocationResult, ResourceClaim, ResourceSlice
from dibs.supply import records
from dibs.supply.features import ALL, Features
from dibs.supply.identity import DeviceId, PoolId
from dibs.supply.records import Record
from dibs.values.mistake import Mistake
from dibs.values.quantity import Quantity

ZERO = Quantity.of(0)


@dataclass(frozen=True, slots=True)
class Holder:
    """A claim's grip on one device: whole, or one share of it.

    `claim` is namespace/name; `pods` are the names of those it is reserved for (other kinds of
    consumers as kind/name). `share` is None when the whole device is held. `wanted` is the capacity
    that its request asks for, `record` what it drew from counters, where that was written down.
    """

    claim: str
    request: str = ""
    pods: tuple[str, ...] = ()
    share: str | None = None
    consumed: Mapping[str, Quantity] = field(default_factory=dict, hash=False)
    wanted: Mapping[str, Quantity] = field(default_factory=dict, hash=False)
    record: Record | None = None


@dataclass(frozen=True, slots=True)
class Holding:
    """All grips on one device. `watchers` have admin access: they take nothing away."""

    whole: tuple[Holder, ...] = ()
    shares: tuple[Holder, ...] = ()
    watchers: tuple[Holder, ...] = ()
    consumed: Mapping[str, Quantity] = field(default_factory=dict, hash=False)

    @property
    def is_free(self) -> bool:
        return not self.whole and not self.shares

    @property
    def holders(self) -> tuple[Holder, ...]:
        return self.whole + self.shares


NOTHING = Holding()


@dataclass(frozen=True, slots=True)
class Ledger:
    """What is taken at one moment. A frozen value: `plus` and `without` make new ones.

    `recorded` are the devices, by pool, whose draws are written down: they draw also when they are
    published no more. `remarks` say which records could not be read.
    """

    holdings: Mapping[DeviceId, Holding] = field(default_factory=dict)
    features: Features = ALL
    recorded: Mapping[PoolId, frozenset[DeviceId]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @classmethod
    def of(cls, claims: Iterable[ResourceClaim], features: Features = ALL) -> Ledger:
        """Read every allocation; also of claims being deleted, which hold until they are gone."""
        holdings: dict[DeviceId, Holding] = {}
        remarks: list[str] = []
        for claim in claims:
            remarks += _write(holdings, claim, features)
        return cls(holdings, features, _recorded(holdings.items()), tuple(remarks))

    def held(self, device: DeviceId) -> Holding:
        return self.holdings.get(device, NOTHING)

    def plus(self, claim: ResourceClaim) -> Ledger:
        """The ledger after this claim got its allocation."""
        holdings = dict(self.holdings)
        remarks = _write(holdings, claim, self.features)
        results = claim.status.allocation.devices.results if claim.status.allocation else ()
        touched = {device: holdings[device] for device in map(_device, results)}
        recorded = dict(self.recorded)
        for pool, devices in _recorded(touched.items()).items():
            recorded[pool] = recorded.get(pool, frozenset()) | devices
        return Ledger(holdings, self.features, recorded, (*self.remarks, *remarks))

    def without(self, claim: str) -> Ledger:
        """The ledger as if the claim "namespace/name" had released everything."""
        holdings = {}
        for device, holding in self.holdings.items():
            left = _drop(holding, claim)
            if left.whole or left.shares or left.watchers:
                holdings[device] = left
        return Ledger(holdings, self.features, _recorded(holdings.items()), self.remarks)


def remarks_on(
    claims: Iterable[ResourceClaim], slices: Iterable[ResourceSlice] = ()
) -> Iterator[str]:
    """Which records of what claims draw can't be read, as `Ledger.of` would say, or not be kept.

    A counter set that the pool no longer publishes can't be charged: what took its place is given
    away as if only the devices that are still published drew from it.
    """
    published: dict[PoolId, set[str]] = {}
    # Oldest first, so that what a newer generation says replaces what an older one said.
    for _, alike in groupby(sorted(slices, key=_generation), key=_generation):
        of_it: dict[PoolId, set[str]] = {}
        for each in alike:
            sets = of_it.setdefault(PoolId(each.spec.driver, each.spec.pool.name), set())
            sets.update(counters.name for counters in each.spec.shared_counters)
        published |= of_it
    for claim in claims:
        if claim.status.allocation is None:
            continue
        found, remarks = _records(claim)
        yield from remarks
        for record in found.values():
            pool = PoolId(record.device.driver, record.device.pool)
            drawn = {counter.set for counter in (*record.once, *record.each)}
            for name in sorted(drawn - published.get(pool, drawn)):
                yield (
                    f"claim {claim_key(claim)} draws from counter set {name}, which pool "
                    f"{pool.name} of {pool.driver} publishes no more; only what its device is "
                    "published to draw now is kept from others"
                )


def _generation(each: ResourceSlice) -> int:
    return each.spec.pool.generation


def claim_key(claim: ResourceClaim) -> str:
    return f"{claim.metadata.namespace}/{claim.metadata.name}"


def _device(result: DeviceRequestAllocationResult) -> DeviceId:
    return DeviceId(result.driver, result.pool, result.device)


def _recorded(
    holdings: Iterable[tuple[DeviceId, Holding]],
) -> Mapping[PoolId, frozenset[DeviceId]]:
    found: dict[PoolId, set[DeviceId]] = defaultdict(set)
    for device, holding in holdings:
        if any(holder.record is not None for holder in holding.holders):
            found[PoolId(device.driver, device.pool)].add(device)
    return {pool: frozenset(devices) for pool, devices in found.items()}


def _write(
    holdings: dict[DeviceId, Holding], claim: ResourceClaim, features: Features
) -> Sequence[str]:
    """Enter what the claim holds, and return what is to be said of its record."""
    if claim.status.allocation is None:
        return ()
    pods = tuple(
        ref.name if ref.resource == "pods" else f"{ref.resource}/{ref.name}"
        for ref in claim.status.reserved_for
    )
    written, remarks = _records(claim)
    for result in claim.status.allocation.devices.results:
        device = _device(result)
        held = holdings.get(device, NOTHING)
        holder = Holder(
            claim_key(claim),
            result.request,
            pods,
            result.share_id,
            # Nor does a share that is written down as negative give anything to others.
            {name: max(amount, ZERO) for name, amount in result.consumed_capacity.items()},
            _wanted(claim, result.request),
            written.get((device, result.share_id)),
        )
        is_admin = bool(result.admin_access)
        holdings[device] = _plus(held, holder, is_admin=is_admin, features=features)
    return remarks


def _records(
    claim: ResourceClaim,
) -> tuple[Mapping[tuple[DeviceId, str | None], Record], Sequence[str]]:
    """The claim's records by device and share. One that can't be read is as good as none."""
    text = claim.metadata.annotations.get(records.ANNOTATION)
    if text is None:
        return {}, ()
    try:
        found = records.read(text)
    except Mistake as mistake:
        what = f"claim {claim_key(claim)}: annotation {records.ANNOTATION}: {mistake}"
        return {}, (f"{what}; what it draws is taken from the slices",)
    return {(record.device, record.share): record for record in found}, ()


def _wanted(claim: ResourceClaim, name: str) -> Mapping[str, Quantity]:
    """The capacity that a request, or one of its alternatives ("r/s"), asks for."""
    request, _, sub = name.partition("/")
    for each in claim.spec.devices.requests:
        if each.name == request:
            asked = (
                [each.exactly] if not sub else [s for s in each.first_available if s.name == sub]
            )
            for one in asked:
                if one is not None and one.capacity is not None:
                    return one.capacity.requests
    return {}


def _plus(held: Holding, holder: Holder, *, is_admin: bool, features: Features) -> Holding:
    if is_admin:
        watcher = replace(holder, consumed={}, record=None)
        return Holding(held.whole, held.shares, (*held.watchers, watcher), held.consumed)
    if holder.share is None or not features.consumable_capacity:
        # Without KEP-5075 nothing can tell shares apart: one of them takes the whole device.
        whole = replace(holder, share=None, consumed={})
        return Holding((*held.whole, whole), held.shares, held.watchers, held.consumed)
    consumed = _sum(held.consumed, holder.consumed)
    return Holding(held.whole, (*held.shares, holder), held.watchers, consumed)


def _drop(held: Holding, claim: str) -> Holding:
    shares = tuple(share for share in held.shares if share.claim != claim)
    consumed: Mapping[str, Quantity] = {}
    for share in shares:
        consumed = _sum(consumed, share.consumed)
    return Holding(
        tuple(holder for holder in held.whole if holder.claim != claim),
        shares,
        tuple(watcher for watcher in held.watchers if watcher.claim != claim),
        consumed,
    )


def _sum(left: Mapping[str, Quantity], right: Mapping[str, Quantity]) -> Mapping[str, Quantity]:
    total = dict(left)
    for name, amount in right.items():
        total[name] = total[name].plus(amount) if name in total else amount
    return total
