"""What a claim's devices drew from which counters when they were allocated, kept on the claim.

A driver may republish a pool, with its partitions cut anew, while some are in use: what is held
must not be worked out from what is published then (kubernetes#140802). So who allocates writes a
record as an annotation, one entry a device, and the `ledger` believes it more than the slices.
Source: KEP-4815 (counters), KEP-5941 (by capacity), KEP-5963 (groups); designs/031.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dibs.supply.identity import NO_GROUPS, CounterId, CounterSetId, DeviceId, Groups, PoolId
from dibs.values.mistake import Mistake
from dibs.values.quantity import NotAQuantity, Quantity

ANNOTATION = "resource.dibs.dev/drawn-counters"

ZERO = Quantity.of(0)

Amounts = Mapping[CounterId, Quantity]


@dataclass(frozen=True, slots=True)
class Record:
    """What one result of an allocation drew.

    `once` is what the device draws however many shares of it are out: each share's record has it,
    so that it stays known until the last of them is released. `each` is this share's own.
    """

    device: DeviceId
    share: str | None = None
    once: Amounts = field(default_factory=dict, hash=False)
    each: Amounts = field(default_factory=dict, hash=False)
    groups: Mapping[CounterSetId, Groups] = field(default_factory=dict, hash=False)


def text_of(records: Iterable[Record]) -> str:
    """The annotation: a JSON list, the same for the same records."""
    return json.dumps([_tree(record) for record in records], separators=(",", ":"))


def read(text: str) -> tuple[Record, ...]:
    """Raises Mistake for a text that `text_of` can't have written."""
    try:
        tree: object = json.loads(text)
    except (ValueError, RecursionError):
        raise Mistake("is not JSON") from None
    return tuple(_record(each, f"[{place}]") for place, each in enumerate(_list(tree, "")))


# --- writing -----------------------------------------------------------------------------------


def _tree(record: Record) -> dict[str, object]:
    tree: dict[str, object] = {
        "driver": record.device.driver,
        "pool": record.device.pool,
        "device": record.device.device,
    }
    if record.share is not None:
        tree["shareID"] = record.share
    names = [counter.set for counter in (*record.once, *record.each)]
    names += [owner.name for owner in record.groups]
    tree["counterSets"] = {name: _set_tree(record, name) for name in dict.fromkeys(names)}
    return tree


def _set_tree(record: Record, name: str) -> dict[str, object]:
    groups = record.groups.get(CounterSetId(_pool(record.device), name), Groups())
    parts: dict[str, object] = {
        "counters": _amounts_tree(record.once, name),
        "perShare": _amounts_tree(record.each, name),
        "compatibilityGroups": sorted(groups - NO_GROUPS),
    }
    return {key: value for key, value in parts.items() if value}


def _amounts_tree(amounts: Amounts, name: str) -> dict[str, str]:
    return {counter.name: str(amount) for counter, amount in amounts.items() if counter.set == name}


def _pool(device: DeviceId) -> PoolId:
    return PoolId(device.driver, device.pool)


# --- reading -----------------------------------------------------------------------------------


def _record(tree: object, path: str) -> Record:
    fields = _object(tree, path, ("driver", "pool", "device", "shareID", "counterSets"))
    driver, pool, name = (_text(fields, key, path) for key in ("driver", "pool", "device"))
    device = DeviceId(driver, pool, name)
    share = _text(fields, "shareID", path) if "shareID" in fields else None
    once: dict[CounterId, Quantity] = {}
    each: dict[CounterId, Quantity] = {}
    groups: dict[CounterSetId, Groups] = {}
    sets = _object(fields.get("counterSets", {}), f"{path}.counterSets", None)
    for owner, drawn in sets.items():
        here = f"{path}.counterSets.{owner}"
        parts = _object(drawn, here, ("counters", "perShare", "compatibilityGroups"))
        once.update(_amounts(parts.get("counters", {}), f"{here}.counters", device, owner))
        each.update(_amounts(parts.get("perShare", {}), f"{here}.perShare", device, owner))
        named = _list(parts.get("compatibilityGroups", []), f"{here}.compatibilityGroups")
        groups[CounterSetId(_pool(device), owner)] = Groups(map(str, named)) or NO_GROUPS
    return Record(device, share, once, each, groups)


def _amounts(tree: object, path: str, device: DeviceId, name: str) -> dict[CounterId, Quantity]:
    amounts: dict[CounterId, Quantity] = {}
    for counter, text in _object(tree, path, None).items():
        try:
            amount = Quantity.parse(text if isinstance(text, str) else "")
        except NotAQuantity:
            raise Mistake("is no quantity", path=f"{path}.{counter}", value=text) from None
        if amount < ZERO:
            # It would make room that isn't there.
            raise Mistake("is negative", path=f"{path}.{counter}", value=text)
        amounts[CounterId(_pool(device), name, counter)] = amount
    return amounts


def _object(tree: object, path: str, known: tuple[str, ...] | None) -> Mapping[str, object]:
    if not isinstance(tree, dict):
        raise Mistake("is no object", path=path)
    for key in tree:
        if known is not None and key not in known:
            raise Mistake("is not known", path=f"{path}.{key}")
    return tree


def _list(tree: object, path: str) -> list[object]:
    if not isinstance(tree, list):
        raise Mistake("is no list", path=path)
    return tree


def _text(fields: Mapping[str, object], key: str, path: str) -> str:
    value = fields.get(key)
    if not isinstance(value, str) or not value:
        raise Mistake("is no text", path=f"{path}.{key}", value=value)
    return value
