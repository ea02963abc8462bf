"""Who holds what: the one place where claims become "this device is taken".

Read from claims that have an allocation, asked through `held`. A ledger is a value: one more claim
or one less makes another, at the cost of that claim's devices. What a claim still wants is
`request`'s; what a device offers is `pools`'; what held devices draw from counters is worked out
in `allocate.counters`, from the records kept here before anything else.
Source: KEP-4381 (status.allocation), KEP-5075 (shares), KEP-5018 (admin access holds nothing).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from typing import NamedTuple

import msgspec

from dibs.model.objects import ResourceClaim, ResourceSlice
from dibs.supply import records
from dibs.supply.features import ALL, Features
from dibs.supply.identity import DeviceId, PoolId
from dibs.supply.records import Record
from dibs.values.layered import Layered
from dibs.values.mistake import Mistake
from dibs.values.quantity import Quantity

ZERO = Quantity.of(0)

# One for all: most holders consume nothing, and there are tens of thousands.
NO_AMOUNTS: Mapping[str, Quantity] = {}


class Holder(msgspec.Struct, frozen=True, gc=False):
    """A claim's grip on one device: whole, or one share of it.

    `claim` is namespace/name; `pods` are the names of those it is reserved for (other kinds of
    consumers as kind/name). `share` is None when the whole device is held. `wanted` is the capacity
    that its request asks for, `record` what it drew from counters, where that was written down.
    `created` is the claim's age, by which holders are in order.
    """

    claim: str
    request: str = ""
    pods: tuple[str, ...] = ()
    share: str | None = None
    consumed: Mapping[str, Quantity] = NO_AMOUNTS
    wanted: Mapping[str, Quantity] = NO_AMOUNTS
    record: Record | None = None
    created: str | None = None

    def __hash__(self) -> int:
        return hash((self.claim, self.request, self.share))


class Holding(msgspec.Struct, frozen=True, gc=False):
    """All grips on one device, the oldest claim's first. `watchers` have admin access: they take
    nothing away.
    """

    whole: tuple[Holder, ...] = ()
    shares: tuple[Holder, ...] = ()
    watchers: tuple[Holder, ...] = ()
    consumed: Mapping[str, Quantity] = NO_AMOUNTS

    @property
    def is_free(self) -> bool:
        return not self.whole and not self.shares

    @property
    def is_empty(self) -> bool:
        return not (self.whole or self.shares or self.watchers)

    @property
    def holders(self) -> tuple[Holder, ...]:
        return self.whole + self.shares


NOTHING = Holding()


class Entry(NamedTuple):
    """Which devices a claim has a grip on, and what is to be said of its record."""

    devices: tuple[DeviceId, ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ledger:
    """What is taken at one moment. A frozen value: `plus` and `without` make new ones.

    `recorded` are the devices, by pool, whose draws are written down: they draw also when they are
    published no more. `by_claim` has an entry for each claim that holds or watches something.
    """

    holdings: Layered[DeviceId, Holding] = field(default_factory=Layered)
    features: Features = ALL
    recorded: Layered[PoolId, frozenset[DeviceId]] = field(default_factory=Layered)
    by_claim: Layered[str, Entry] = field(default_factory=Layered)

    @classmethod
    def of(cls, claims: Iterable[ResourceClaim], features: Features = ALL) -> Ledger:
        """Read every allocation; also of claims being deleted, which hold until they are gone."""
        holdings: dict[DeviceId, Holding] = {}
        entries: dict[str, Entry] = {}
        for claim in claims:
            grips, remarks = _grips(claim)
            for grip in grips:
                held = holdings.get(grip.device, NOTHING)
                holdings[grip.device] = _plus(held, grip, features)
            if grips or remarks:
                # Questions of the conformance corpus may have nameless claims, all of one key.
                known = entries.get(claim_key(claim), Entry((), ()))
                entries[claim_key(claim)] = _joined(known, _entry(grips, remarks))
        recorded: dict[PoolId, set[DeviceId]] = defaultdict(set)
        for device, holding in holdings.items():
            if _is_recorded(holding):
                recorded[_pool(device)].add(device)
        by_pool = {pool: frozenset(devices) for pool, devices in recorded.items()}
        return cls(Layered(holdings), features, Layered(by_pool), Layered(entries))

    @property
    def remarks(self) -> tuple[str, ...]:
        """Which records could not be read."""
        return tuple(chain.from_iterable(entry.remarks for entry in self.by_claim.values()))

    def held(self, device: DeviceId) -> Holding:
        return self.holdings.get(device, NOTHING)

    def devices_of(self, claim: str) -> tuple[DeviceId, ...]:
        """What the claim "namespace/name" has a grip on; what a change of it touches."""
        entry = self.by_claim.get(claim)
        return entry.devices if entry is not None else ()

    def plus(self, claim: ResourceClaim) -> Ledger:
        """The ledger with this claim as it is now, whatever it held before."""
        grips, remarks = _grips(claim)
        return self._entered(claim_key(claim), grips, remarks)

    def without(self, claim: str) -> Ledger:
        """The ledger as if the claim "namespace/name" had released everything."""
        return self._entered(claim, (), ())

    def _entered(self, claim: str, grips: Sequence[Grip], remarks: Sequence[str]) -> Ledger:
        """With exactly these grips of the claim."""
        old = self.by_claim.get(claim)
        if old is None and not grips and not remarks:
            return self
        touched: dict[DeviceId, Holding] = {}
        for device in old.devices if old is not None else ():
            touched[device] = _drop(self.held(device), claim)
        for grip in grips:
            held = touched[grip.device] if grip.device in touched else self.held(grip.device)
            touched[grip.device] = _plus(held, grip, self.features)
        empty = [device for device, holding in touched.items() if holding.is_empty]
        recorded = self.recorded
        if recorded or any(grip.holder.record is not None for grip in grips):
            for device, holding in touched.items():
                recorded = _recorded(recorded, device, is_in=_is_recorded(holding))
        for device in empty:
            del touched[device]
        holdings = self.holdings.union(touched)
        for device in empty:
            holdings = holdings.minus(device)
        entry = _entry(grips, remarks)
        by_claim = self.by_claim.plus(claim, entry) if any(entry) else self.by_claim.minus(claim)
        return Ledger(holdings, self.features, recorded, by_claim)


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


class Grip(NamedTuple):
    device: DeviceId
    holder: Holder
    is_admin: bool


def _grips(claim: ResourceClaim) -> tuple[Sequence[Grip], Sequence[str]]:
    """What the claim holds, result by result, and what is to be said of its record."""
    if claim.status.allocation is None:
        return (), ()
    pods = tuple(
        ref.name if ref.resource == "pods" else f"{ref.resource}/{ref.name}"
        for ref in claim.status.reserved_for
    )
    written, remarks = _records(claim)
    key = claim_key(claim)
    grips = []
    for result in claim.status.allocation.devices.results:
        device = DeviceId(result.driver, result.pool, result.device)
        consumed = NO_AMOUNTS
        if result.consumed_capacity:
            # Nor does a share that is written down as negative give anything to others.
            consumed = {name: max(each, ZERO) for name, each in result.consumed_capacity.items()}
        holder = Holder(
            key,
            result.request,
            pods,
            result.share_id,
            consumed,
            _wanted(claim, result.request),
            written.get((device, result.share_id)) if written else None,
            claim.metadata.creation_timestamp,
        )
        grips.append(Grip(device, holder, bool(result.admin_access)))
    return grips, remarks


def _entry(grips: Iterable[Grip], remarks: Iterable[str]) -> Entry:
    return Entry(tuple(dict.fromkeys(grip.device for grip in grips)), tuple(remarks))


def _joined(one: Entry, other: Entry) -> Entry:
    devices = dict.fromkeys((*one.devices, *other.devices))
    return Entry(tuple(devices), one.remarks + other.remarks)


def _is_recorded(holding: Holding) -> bool:
    return any(holder.record is not None for holder in holding.holders)


def _recorded(
    recorded: Layered[PoolId, frozenset[DeviceId]], device: DeviceId, *, is_in: bool
) -> Layered[PoolId, frozenset[DeviceId]]:
    pool = _pool(device)
    known = recorded.get(pool, frozenset())
    if (device in known) == is_in:
        return recorded
    devices = known | {device} if is_in else known - {device}
    return recorded.plus(pool, devices) if devices else recorded.minus(pool)


def _pool(device: DeviceId) -> PoolId:
    return PoolId(device.driver, device.pool)


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
    return NO_AMOUNTS


def _plus(held: Holding, grip: Grip, features: Features) -> Holding:
    holder = grip.holder
    if grip.is_admin:
        watcher = _changed(holder, share=holder.share, record=None)
        watchers = _inserted(held.watchers, watcher)
        return Holding(held.whole, held.shares, watchers, held.consumed)
    if holder.share is None or not features.consumable_capacity:
        # Without KEP-5075 nothing can tell shares apart: one of them takes the whole device.
        whole = _changed(holder, share=None, record=holder.record)
        return Holding(_inserted(held.whole, whole), held.shares, held.watchers, held.consumed)
    shares = _inserted(held.shares, holder)
    return Holding(held.whole, shares, held.watchers, _sum(held.consumed, holder.consumed))


def _changed(holder: Holder, *, share: str | None, record: Record | None) -> Holder:
    """The holder as one that consumes nothing; most are that already."""
    if holder.share == share and holder.record is record and not holder.consumed:
        return holder
    return msgspec.structs.replace(holder, share=share, record=record, consumed=NO_AMOUNTS)


def _inserted(holders: tuple[Holder, ...], new: Holder) -> tuple[Holder, ...]:
    """In order of age, however they came: a ledger doesn't depend on what was decided first."""
    if not holders:
        return (new,)
    place = bisect_right(holders, _age(new), key=_age)
    return (*holders[:place], new, *holders[place:])


def _age(holder: Holder) -> tuple[bool, str, str]:
    return holder.created is None, holder.created or "", holder.claim


def _drop(held: Holding, claim: str) -> Holding:
    shares = _others(held.shares, claim)
    consumed = held.consumed
    if len(shares) != len(held.shares):
        consumed = NO_AMOUNTS
        for share in shares:
            consumed = _sum(consumed, share.consumed)
    return Holding(_others(held.whole, claim), shares, _others(held.watchers, claim), consumed)


def _others(holders: tuple[Holder, ...], claim: str) -> tuple[Holder, ...]:
    return tuple(holder for holder in holders if holder.claim != claim) if holders else ()


def _sum(left: Mapping[str, Quantity], right: Mapping[str, Quantity]) -> Mapping[str, Quantity]:
    if not right:
        return left
    total = dict(left)
    for name, amount in right.items():
        total[name] = total[name].plus(amount) if name in total else amount
    return total
