"""How much of each pool is taken, free or out of use: the answer to a ResourcePoolStatusRequest.

A device counts once, however many share it; admin access counts for nothing. How many more of a
kind of partition would fit is found by giving them out one by one from what the counters have left.
Source: KEP-5677 (ResourcePoolStatusRequest), KEP-4815 (counters), KEP-5075 (shares).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from dibs.model.objects import (
    PartitionTypeStatus,
    PoolStatus,
    ResourcePoolStatusRequestSpec,
    ResourcePoolStatusRequestStatus,
    ShareableCapacityStatus,
    ShareableSummaryStatus,
)
from dibs.schedule.state import State
from dibs.supply.identity import CounterId, PoolId
from dibs.supply.ledger import Ledger
from dibs.supply.published import Candidate, Listing
from dibs.supply.stock import Stock
from dibs.values.quantity import Quantity

DEFAULT_LIMIT = 100
# PoolStatus: so many entries a summary may have, and so many bytes an error.
MOST_ENTRIES = 32
LONGEST_ERROR = 256
ZERO = Quantity.of(0)

Amounts = Mapping[CounterId, Quantity]


def answer(spec: ResourcePoolStatusRequestSpec, state: State) -> ResourcePoolStatusRequestStatus:
    """The pools asked for, by driver and name, cut at the limit; `pool_count` is how many match."""
    wanted = [
        stock
        for id_, stock in sorted(state.supply.by_pool.items())
        if id_.driver == spec.driver and spec.pool_name in (None, id_.name)
    ]
    limit = spec.limit or DEFAULT_LIMIT
    default = spec.default_partition_type_attribute
    pools = tuple(_pool(stock, state.ledger, default) for stock in wanted[:limit])
    return ResourcePoolStatusRequestStatus(pool_count=len(wanted), pools=pools)


def is_complete(status: ResourcePoolStatusRequestStatus) -> bool:
    """Whether every pool could be counted; a driver may be in the middle of publishing one."""
    return all(pool.validation_error is None for pool in status.pools)


def _pool(stock: Stock, ledger: Ledger, default_type: str | None) -> PoolStatus:
    newest = max(listing.generation for listing in stock)
    current = [listing for listing in stock if listing.generation == newest]
    announced = current[0].slice.spec.pool.resource_slice_count
    names = {listing.slice.spec.node_name for listing in current}
    base = PoolStatus(
        driver=stock.id.driver,
        pool_name=stock.id.name,
        generation=newest,
        resource_slice_count=announced,
        node_name=names.pop() if len(names) == 1 else None,
    )
    if len(current) != announced:
        text = f"{len(current)} of {announced} slices of generation {newest} are published"
        return msgspec.structs.replace(base, validation_error=text[:LONGEST_ERROR])
    devices = [candidate for listing in current for candidate in listing.candidates]
    taken = [each for each in devices if not ledger.held(each.id).is_free]
    out = [each for each in devices if each.blocking and ledger.held(each.id).is_free]
    return msgspec.structs.replace(
        base,
        total_devices=len(devices),
        allocated_devices=len(taken),
        unavailable_devices=len(out),
        available_devices=len(devices) - len(taken) - len(out),
        partition_summary=tuple(_partitions(stock.id, current, devices, ledger, default_type)),
        shareable_summary=_shareable([each for each in devices if each.is_shareable], ledger),
    )


# --- partitions ----------------------------------------------------------------------------------


def _partitions(
    pool: PoolId,
    current: Iterable[Listing],
    devices: Sequence[Candidate],
    ledger: Ledger,
    default_type: str | None,
) -> Iterator[PartitionTypeStatus]:
    by_type: dict[tuple[str, str], list[Candidate]] = defaultdict(list)
    for each in devices:
        attribute = each.slice.spec.partition_type_attribute or default_type
        if each.draws and attribute and (kind := _text(each, attribute)):
            by_type[attribute, kind].append(each)
    left = _left(pool, current, devices, ledger)
    for (attribute, kind), alike in sorted(by_type.items())[:MOST_ENTRIES]:
        free = [each for each in alike if ledger.held(each.id).is_free and not each.blocking]
        yield PartitionTypeStatus(
            attribute=attribute, type=kind, total=len(alike), allocatable=_fitting(free, left)
        )


def _text(candidate: Candidate, attribute: str) -> str:
    """The attribute's text, also when the driver wrote it without its own domain."""
    bare = attribute.removeprefix(f"{candidate.id.driver}/")
    for name in (attribute, bare):
        found = candidate.device.attributes.get(name)
        if found is not None and isinstance(found.string, str):
            return found.string
    return ""


def _left(
    pool: PoolId, current: Iterable[Listing], devices: Iterable[Candidate], ledger: Ledger
) -> Amounts:
    left = {
        CounterId(pool, each.name, name): counter.value or ZERO
        for listing in current
        for each in listing.slice.spec.shared_counters
        for name, counter in each.counters.items()
    }
    for each in devices:
        held = ledger.held(each.id)
        if held.is_free:
            continue
        record = next((holder.record for holder in held.holders if holder.record), None)
        draws = record.once.items() if record is not None else each.draws
        for counter, amount in draws:
            left[counter] = left.get(counter, ZERO).minus(amount)
    return left


def _fitting(free: Iterable[Candidate], left: Amounts) -> int:
    """How many of these can be given out, one after the other."""
    rest, count = dict(left), 0
    for each in free:
        if all(rest.get(counter, ZERO) >= amount for counter, amount in each.draws):
            count += 1
            for counter, amount in each.draws:
                rest[counter] = rest[counter].minus(amount)
    return count


# --- shares --------------------------------------------------------------------------------------


def _shareable(devices: Sequence[Candidate], ledger: Ledger) -> ShareableSummaryStatus | None:
    if not devices:
        return None
    total: dict[str, Quantity] = {}
    consumed: dict[str, Quantity] = {}
    untouched = partly = 0
    for each in devices:
        held = ledger.held(each.id)
        for name, published in each.device.capacity.items():
            amount = published.value or ZERO
            total[name] = total.get(name, ZERO).plus(amount)
            # Who holds the whole device leaves nothing of it.
            taken = amount if held.whole else held.consumed.get(name, ZERO)
            consumed[name] = consumed.get(name, ZERO).plus(taken)
        if held.is_free:
            untouched += 1
        elif not held.whole and _has_rest(each, held.consumed):
            partly += 1
    capacity = tuple(
        ShareableCapacityStatus(
            name=name,
            total=total[name],
            consumed=consumed[name],
            available=max(total[name].minus(consumed[name]), ZERO),
        )
        for name in sorted(total)[:MOST_ENTRIES]
    )
    return ShareableSummaryStatus(untouched, partly, capacity)


def _has_rest(candidate: Candidate, consumed: Mapping[str, Quantity]) -> bool:
    """Whether something is left of every capacity, as another share would need."""
    return all(
        (published.value or ZERO) > consumed.get(name, ZERO)
        for name, published in candidate.device.capacity.items()
    )
