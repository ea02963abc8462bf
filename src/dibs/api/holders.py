"""Who holds which device: read out of the claims for the table of slices.

Counted when it is asked for, from the bytes of the claims and without decoding the rest of them
(2 µs a claim); so there is nothing that could be out of date.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import msgspec

from dibs.api.charges import CLAIMS
from dibs.store.store import Store

Device = tuple[str, str, str]
Holders = Mapping[Device, tuple[str, ...]]


class _Result(msgspec.Struct):
    driver: str = ""
    pool: str = ""
    device: str = ""


class _Devices(msgspec.Struct):
    results: list[_Result] | None = None


class _Allocation(msgspec.Struct):
    devices: _Devices | None = None


class _Status(msgspec.Struct):
    allocation: _Allocation | None = None


class _Claim(msgspec.Struct):
    status: _Status | None = None


_read = msgspec.json.Decoder(_Claim).decode


def of(store: Store) -> Callable[[], Holders]:
    """Return what counts them once, when it is first called."""

    @cache
    def counted() -> Holders:
        found: dict[Device, tuple[str, ...]] = {}
        for entry in store.page(CLAIMS).entries:
            status = _read(entry.value).status
            devices = status.allocation.devices if status and status.allocation else None
            for each in (devices.results if devices else None) or ():
                key = (each.driver, each.pool, each.device)
                found[key] = (*found.get(key, ()), f"{entry.key.namespace}/{entry.key.name}")
        return found

    return counted
