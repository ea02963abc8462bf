"""Who did what, when, and which claim got which device by it: JSON lines in the data folder.

Every write is remembered, and everything that was refused; reading is not. What can't be kept
(a full disk) never stops the server: it is counted, and the next line that can be says how many
are missing. `read` and `Filter` are for `dibs audit-log`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from dibs.api import stamps
from dibs.api.access import trees
from dibs.api.calls import Tree
from dibs.api.gate import Record
from dibs.values.mistake import Mistake

NAME = "audit.log"
# A file is set aside at this size; so many old ones are kept.
MAX_BYTES = 64 * 1024 * 1024
KEPT_FILES = 16
READING = frozenset({"get", "list", "watch", "head"})
REFUSED = frozenset({401, 403})
# What a client calls itself is only remembered so far.
MAX_TEXT = 256


class Entry(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, rename="camel"):
    """One line. `acting_as` is whom the user impersonated, with these groups. `allocated` and
    `released` are devices as driver/pool/device, `pods` those that the claim was reserved for.
    `lost` is how many lines before this one could not be kept."""

    time: str
    user: str
    verb: str
    code: int
    acting_as: str = ""
    groups: tuple[str, ...] = ()
    peer: str = ""
    user_agent: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    allocated: tuple[str, ...] = ()
    released: tuple[str, ...] = ()
    pods: tuple[str, ...] = ()
    node: str = ""
    dry_run: bool = False
    lost: int = 0


def entry(record: Record, now: float) -> Entry | None:
    """Return what is to be remembered of a request, None for what isn't."""
    asked = record.asked
    if asked.verb in READING and record.code not in REFUSED:
        return None
    # What only would have happened has given nothing to anybody.
    is_claim = asked.resource == "resourceclaims" and not record.is_dry
    before, after = map(_devices, (record.before, record.after)) if is_claim else ((), ())
    return Entry(
        time=f"{stamps.seconds(now)[:-1]}.{int(now * 1000) % 1000:03}+00:00",
        user=record.caller.accountable[:MAX_TEXT],
        acting_as=record.caller.name[:MAX_TEXT] if record.caller.by else "",
        groups=record.caller.groups,
        peer=record.peer,
        user_agent=record.user_agent[:MAX_TEXT],
        verb=asked.verb,
        code=record.code,
        resource=f"{asked.resource}.{asked.group}" if asked.group else asked.resource,
        subresource=asked.subresource,
        namespace=asked.namespace,
        name=asked.name or _name(record.after or record.before),
        path=asked.path[:MAX_TEXT],
        allocated=tuple(each for each in after if each not in before),
        released=tuple(each for each in before if each not in after),
        pods=_pods(record.after or record.before) if before or after else (),
        node="" if record.is_dry else _node(record),
        dry_run=record.is_dry,
    )


@dataclass(slots=True)
class Log:
    """The file that is written. Owned by one process, as the data folder is."""

    path: Path
    max_bytes: int = MAX_BYTES
    kept_files: int = KEPT_FILES
    lost: int = 0
    _handle: int = field(default=-1)
    # Nobody else writes to it.
    _size: int = 0

    @classmethod
    def in_folder(cls, folder: Path) -> Log:
        """Open the log of a folder. Raises Mistake when it can't be written."""
        log = cls(folder / NAME)
        try:
            log._open()
        except OSError as fault:
            raise Mistake(
                f"can't be written: {fault.strerror}",
                path=str(log.path),
                remedy="choose another folder with --data, or see to its owner and mode",
            ) from fault
        return log

    def write(self, line: Entry) -> None:
        """Append a line, whole or not at all."""
        if self.lost:
            line = msgspec.structs.replace(line, lost=self.lost)
        text = msgspec.json.encode(line) + b"\n"
        try:
            if self._handle < 0:
                self._open()
            if self._size + len(text) > self.max_bytes:
                self._set_aside()
            self._append(text)
        except OSError:
            self.lost += 1
        else:
            self.lost = 0

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _append(self, text: bytes) -> None:
        written = os.write(self._handle, text)
        if written < len(text):
            # Half a line would make the next one unreadable too.
            os.ftruncate(self._handle, self._size)
            raise OSError("the line was cut")
        self._size += written

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(self.path, flags, 0o600)
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            os.close(handle)
            raise OSError(0, "is no file")
        self._handle, self._size = handle, found.st_size

    def _set_aside(self) -> None:
        self.close()
        for number in range(self.kept_files - 1, 0, -1):
            older = _aside(self.path, number)
            if older.exists():
                older.replace(_aside(self.path, number + 1))
        self.path.replace(_aside(self.path, 1))
        _aside(self.path, self.kept_files + 1).unlink(missing_ok=True)
        self._open()


@dataclass(frozen=True, slots=True)
class Filter:
    """What is wanted of the log; empty is everything. Times are inclusive, as ISO 8601 in UTC.

    `device` is a part of driver/pool/device that ends at its slashes: "gpu-3", "node-a/gpu-3".
    """

    user: str = ""
    namespace: str = ""
    resource: str = ""
    name: str = ""
    device: str = ""
    since: str = ""
    until: str = ""

    def takes(self, line: Entry) -> bool:
        return (
            self.user in ("", line.user, line.acting_as)
            and self.namespace in ("", line.namespace)
            and self.resource in ("", line.resource, line.resource.partition(".")[0])
            and self.name in ("", line.name)
            and (not self.device or self._has_device(line))
            and (not self.since or line.time >= self.since)
            and (not self.until or line.time <= self.until)
        )

    def _has_device(self, line: Entry) -> bool:
        wanted = f"/{self.device}/"
        return any(wanted in f"/{each}/" for each in (*line.allocated, *line.released))


@dataclass(frozen=True, slots=True)
class Told:
    """What was read: the entries, and how many lines were none."""

    entries: tuple[Entry, ...]
    unreadable: int = 0


def read(folder: Path, wanted: Filter, newest: int = 0) -> Told:
    """Read the logs of a folder, oldest first; `newest` keeps only so many of the last ones.

    Raises Mistake when there is no log, or it can't be read.
    """
    paths = [path for path in _files(folder / NAME) if path.exists()]
    if not paths:
        raise Mistake(
            "there is no audit log", path=str(folder / NAME), remedy="name the folder with --data"
        )
    entries: list[Entry] = []
    unreadable = 0
    decode = msgspec.json.Decoder(Entry).decode
    for line in _lines(paths):
        try:
            found = decode(line)
        except msgspec.DecodeError:
            unreadable += 1
            continue
        if wanted.takes(found):
            entries.append(found)
            if newest and len(entries) > 2 * newest:
                del entries[:-newest]
    return Told(tuple(entries[-newest:] if newest else entries), unreadable)


def _lines(paths: Iterable[Path]) -> Iterator[bytes]:
    for path in paths:
        try:
            with path.open("rb") as file:
                yield from file
        except OSError as fault:
            raise Mistake(
                f"can't be read: {fault.strerror}",
                path=str(path),
                remedy="read it as the user that `dibs up` runs as",
            ) from fault


def _files(path: Path) -> Iterator[Path]:
    """Oldest first."""
    for number in range(KEPT_FILES, 0, -1):
        yield _aside(path, number)
    yield path


def _aside(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}")


def _devices(tree: Tree | None) -> tuple[str, ...]:
    """What a claim holds; nothing for any other object."""
    results = trees.at(tree, "status", "allocation", "devices", "results")
    if not isinstance(results, list):
        return ()
    return tuple(
        "/".join(str(trees.at(each, part)) for part in ("driver", "pool", "device"))
        for each in results
    )


def _pods(tree: Tree | None) -> tuple[str, ...]:
    consumers = trees.at(tree, "status", "reservedFor")
    if not isinstance(consumers, list):
        return ()
    return tuple(str(trees.at(each, "name")) for each in consumers)


def _node(record: Record) -> str:
    """Where a Pod was bound to, by this very request."""
    before, after = (
        trees.at(record.before, "spec", "nodeName"),
        trees.at(record.after, "spec", "nodeName"),
    )
    return str(after) if record.asked.resource == "pods" and after and after != before else ""


def _name(tree: Tree | None) -> str:
    found = trees.at(tree, "metadata", "name")
    return found if isinstance(found, str) else ""
