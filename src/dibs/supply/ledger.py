"""Who holds what: the one place where claims become "this device is taken".

Built in one function from claims that have an allocation, asked through `held`. What a claim
still wants is `request`'s; what a device offers is `pools`'.
Source: KEP-4381 (status.allocation), KEP-5075 (shares), KEP-5018 (admin access holds nothing).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dibs.model.objects import DeviceRequestAllocationResult, ResourceClaim
from dibs.supply.features import ALL, Features
from dibs.supply.identity import DeviceId
from dibs.values.quantity import Quantity


@dataclass(frozen=True, slots=True)
class Holder:
    """A claim's grip on one device: whole, or one share of it.

    `claim` is namespace/name; `pods` are the names of those it is reserved for (other kinds of
    consumers as kind/name). `share` is None when the whole device is held.
    """

    claim: str
    request: str = ""
    pods: tuple[str, ...] = ()
    share: str | None = None
    consumed: Mapping[str, Quantity] = field(default_factory=dict, hash=False)


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
    """What is taken at one moment. A frozen value: `plus` and `without` make new ones."""

    holdings: Mapping[DeviceId, Holding] = field(default_factory=dict)
    features: Features = ALL

    @classmethod
    def of(cls, claims: Iterable[ResourceClaim], features: Features = ALL) -> Ledger:
        """Read every allocation; also of claims being deleted, which hold until they are gone."""
        holdings: dict[DeviceId, Holding] = {}
        for claim in claims:
            _write(holdings, claim, features)
        return cls(holdings, features)

    def held(self, device: DeviceId) -> Holding:
        return self.holdings.get(device, NOTHING)

    def plus(self, claim: ResourceClaim) -> Ledger:
        """The ledger after this claim got its allocation."""
        holdings = dict(self.holdings)
        _write(holdings, claim, self.features)
        return Ledger(holdings, self.features)

    def without(self, claim: str) -> Ledger:
        """The ledger as if the claim "namespace/name" had released everything."""
        holdings = {}
        for device, holding in self.holdings.items():
            left = _drop(holding, claim)
            if left.whole or left.shares or left.watchers:
                holdings[device] = left
        return Ledger(holdings, self.features)


def claim_key(claim: ResourceClaim) -> str:
    return f"{claim.metadata.namespace}/{claim.metadata.name}"


def _write(holdings: dict[DeviceId, Holding], claim: ResourceClaim, features: Features) -> None:
    if claim.status.allocation is None:
        return
    pods = tuple(
        ref.name if ref.resource == "pods" else f"{ref.resource}/{ref.name}"
        for ref in claim.status.reserved_for
    )
    for result in claim.status.allocation.devices.results:
        device = DeviceId(result.driver, result.pool, result.device)
        held = holdings.get(device, NOTHING)
        holdings[device] = _plus(held, result, claim_key(claim), pods, features)


def _plus(
    held: Holding,
    result: DeviceRequestAllocationResult,
    claim: str,
    pods: tuple[str, ...],
    features: Features,
) -> Holding:
    if result.admin_access:
        watcher = Holder(claim, result.request, pods, result.share_id, {})
        return Holding(held.whole, held.shares, (*held.watchers, watcher), held.consumed)
    if result.share_id is None or not features.consumable_capacity:
        # Without KEP-5075 nothing can tell shares apart: one of them takes the whole device.
        holder = Holder(claim, result.request, pods)
        return Holding((*held.whole, holder), held.shares, held.watchers, held.consumed)
    share = Holder(claim, result.request, pods, result.share_id, result.consumed_capacity)
    consumed = _sum(held.consumed, result.consumed_capacity)
    return Holding(held.whole, (*held.shares, share), held.watchers, consumed)


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
