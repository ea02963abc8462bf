"""How the cases write values of the language: plain YAML where it has them, else `{kind: text}`."""

from __future__ import annotations

from typing import Any

from dibs.cel import runtime
from dibs.cel.libraries import addresses, formats, quantities, urls, versions
from dibs.cel.runtime import times

_READERS: dict[str, Any] = {
    "uint": runtime.UInt,
    "double": float,
    "bytes": lambda text: text.encode("latin-1"),
    "timestamp": times.parsed_timestamp,
    "duration": times.parsed_duration,
    "quantity": lambda text: quantities.quantity(str(text)),
    "semver": versions.semver,
    "ip": addresses.ip,
    "cidr": addresses.cidr,
    "url": urls.url,
    "format": lambda name: formats.named(name).value,
    "type": runtime.TypeValue,
}


def read(written: Any) -> runtime.Value:
    if isinstance(written, list):
        return tuple(map(read, written))
    if not isinstance(written, dict):
        return written
    ((kind, content),) = written.items()
    if kind == "map":
        return runtime.Map.of((read(key), read(value)) for key, value in content)
    if kind == "some":
        return runtime.Optional(read(content))
    if kind == "none":
        return runtime.NONE
    if kind == "repeat":
        what, count = content
        return tuple(map(read, what)) * count if isinstance(what, list) else what * count
    return _READERS[kind](content)
