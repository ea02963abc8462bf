"""Devices of one counter set must have a compatibility group in common (KEP-5963).

A card works in one mode at a time; groups say which modes a device can be used in. What all held
devices of a set have in common is worked out once an attempt, what the attempt adds is in its
draft; a device that goes with neither can't be had. Sets of which no device declares a group are
left out altogether. Admin access joins nothing and is in nobody's way (KEP-5018).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dibs.supply.identity import NO_GROUPS, CounterSetId, DeviceId, Groups, PoolId
from dibs.supply.ledger import Holding, Ledger
from dibs.supply.pools import Candidate, Pool

# What the users of each counter set have in common; None while it has no user.
Modes = Mapping[CounterSetId, Groups | None]


def held(pool: Pool, ledger: Ledger) -> Modes:
    """The modes in which held devices leave the pool's counter sets."""
    members = list(_held(pool, ledger))
    published = (each for device in (*pool.candidates, *pool.elsewhere) for each in device.groups)
    modes: dict[CounterSetId, Groups | None] = {
        owner: None
        for owner, groups in (*published, *((owner, groups) for owner, groups, _ in members))
        if groups != NO_GROUPS
    }
    for owner, groups, _ in members:
        if owner in modes:
            modes[owner] = _joined(modes[owner], groups)
    return modes


def are_recorded(pool: PoolId, ledger: Ledger) -> bool:
    """Whether any held device was recorded with groups, whatever is published now."""
    return any(
        groups != NO_GROUPS
        for device in ledger.recorded.get(pool, ())
        for holder in ledger.held(device).holders
        if holder.record is not None
        for groups in holder.record.groups.values()
    )


def plus(candidate: Candidate, before: Modes, standing: Modes) -> Modes:
    """The draft's modes once it has this device; `standing` are those of the held devices."""
    if not standing:
        return before
    after = dict(before)
    for owner, groups in candidate.groups:
        if owner in standing:
            after[owner] = _joined(after.get(owner, standing[owner]), groups)
    return after


def clash(candidate: Candidate, modes: Modes) -> CounterSetId | None:
    """The counter set on which the device doesn't go with its users; None when it does on all."""
    for owner, groups in candidate.groups:
        common = modes.get(owner)
        if common is not None and common.isdisjoint(groups):
            return owner
    return None


def text_of(owner: CounterSetId, candidate: Candidate, pool: Pool, ledger: Ledger) -> str:
    """The clash in words: "card-0 is in use as vgpu by default/serve, this device goes as mig"."""
    users = dict.fromkeys(
        f"as {named(groups)} by {', '.join(claims)}"
        for where, groups, claims in _held(pool, ledger)
        if where == owner
    )
    return (
        f"{owner.name} is in use {', '.join(users)}; this device goes as {_own(owner, candidate)}"
    )


def text_within(owner: CounterSetId, candidate: Candidate, modes: Modes) -> str:
    """The clash with picks of the same attempt in words."""
    common = modes.get(owner) or Groups()
    text = f"{owner.name} goes as {named(common)} to other requests of the same pod"
    return f"{text}, this device as {_own(owner, candidate)}"


def apart(one: Candidate, other: Candidate) -> str:
    """Why the two devices can't be used together; "" if they can."""
    ways = dict(other.groups)
    for owner, groups in one.groups:
        if owner in ways and ways[owner].isdisjoint(groups):
            return f"{owner.name} goes either as {named(groups)} or as {named(ways[owner])}"
    return ""


def named(groups: Groups) -> str:
    """For people; a device of no group is in one of its own, see `supply.identity`."""
    if groups == NO_GROUPS:
        return "no group"
    return "/".join(sorted(groups)) or "nothing"


def _own(owner: CounterSetId, candidate: Candidate) -> str:
    return named(dict(candidate.groups)[owner])


def _joined(common: Groups | None, groups: Groups) -> Groups:
    return groups if common is None else common & groups


def _held(pool: Pool, ledger: Ledger) -> Iterator[tuple[CounterSetId, Groups, tuple[str, ...]]]:
    """The groups of every held device, as recorded at its allocation, else as published now."""
    published = {each.id: each for each in (*pool.candidates, *pool.elsewhere) if each.groups}
    devices: dict[DeviceId, Candidate | None] = dict(published)
    for device in sorted(ledger.recorded.get(pool.id, ())):
        devices.setdefault(device, None)
    for device, candidate in devices.items():
        holding = ledger.held(device)
        if holding.is_free:
            continue
        claims = tuple(dict.fromkeys(holder.claim for holder in holding.holders))
        for owner, groups in _of(candidate, holding):
            yield owner, groups, claims


def _of(candidate: Candidate | None, holding: Holding) -> Iterator[tuple[CounterSetId, Groups]]:
    records = [holder.record for holder in holding.holders if holder.record is not None]
    for record in records:
        yield from record.groups.items()
    if not records and candidate is not None:
        yield from candidate.groups
