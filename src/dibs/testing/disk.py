"""A disk that fails at the call you name, and shows what it held when the power went.

SQLite asks the system for everything through a table of functions, its VFS. This one counts the
calls that change a file (write, sync, truncate, delete), has each judged, and passes it on to the
real one. It is reached with ctypes, in the library that Python's `sqlite3` uses. What Python itself
does with files is not seen: making, naming and locking them.
"""

from __future__ import annotations

import _sqlite3
import contextlib
import ctypes
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_int64, c_void_p
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

# How each kind of call goes wrong in life: the codes that SQLite's own VFS returns for it.
FAILURES = {
    "write": (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE),
    "sync": (sqlite3.SQLITE_IOERR_FSYNC,),
    "truncate": (sqlite3.SQLITE_IOERR_TRUNCATE,),
    "delete": (sqlite3.SQLITE_IOERR_DELETE,),
}


@dataclass(frozen=True, slots=True)
class Call:
    """The `number`th call that changes a file, from 0 on."""

    number: int
    kind: str
    path: Path


@dataclass(frozen=True, slots=True)
class Unsynced:
    """What a write or truncation replaced, and may come back as long as no sync has followed."""

    offset: int
    replaced: bytes
    size: int


# Returns 0 to let a call pass, or the code it fails with. It is called before anything happens.
Judge = Callable[[Call], int]


@dataclass(slots=True)
class Disk:
    """Made by `installed`. `torn` lets failing writes leave their first half."""

    judge: Judge
    torn: bool = False
    calls: list[Call] = field(default_factory=list)
    unsynced: dict[Path, list[Unsynced]] = field(default_factory=dict)

    def copy(self, folder: Path, to: Path, lost: Random | None = None) -> None:
        """Copy what a killed process would leave now; with `lost`, what a power cut would.

        Of writes that no sync has followed, some are lost then, in any order, as disks do.
        """
        shutil.copytree(folder, to)
        for path, changes in self.unsynced.items():
            copied = to / path.relative_to(folder)
            if lost and copied.exists():
                _lose(copied, changes, lost)

    def _counted(self, kind: str, path: Path) -> int:
        call = Call(len(self.calls), kind, path)
        self.calls.append(call)
        return self.judge(call)

    def _replacing(self, path: Path, offset: int, length: int | None) -> None:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(min(offset, size))
            replaced = file.read() if length is None else file.read(length)
        self.unsynced.setdefault(path, []).append(Unsynced(offset, replaced, size))


def is_reachable() -> bool:
    """Is this Python's SQLite in a library of its own? In some builds it is a part of Python."""
    return hasattr(_sqlite3, "__file__")


@contextlib.contextmanager
def installed(judge: Judge, *, torn: bool = False) -> Iterator[Disk]:
    """Let all SQLite files opened meanwhile be on such a disk; close them before the end."""
    disk = Disk(judge, torn)
    vfs = _Shim(disk)
    vfs.register()
    try:
        yield disk
    finally:
        vfs.unregister()


def _lose(path: Path, changes: list[Unsynced], lost: Random) -> None:
    with path.open("r+b") as file:
        gone = [change for change in changes if lost.random() < 0.5]
        # Backwards, as the earliest that is lost decides what stands there.
        for change in reversed(gone):
            file.seek(change.offset)
            file.write(change.replaced)
        if changes and len(gone) == len(changes):
            file.truncate(changes[0].size)


# --- SQLite's side: sqlite3.h, "OS Interface Object" and "OS Interface File Virtual Methods" ------

_XOpen = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, c_void_p)
_XDelete = CFUNCTYPE(c_int, c_void_p, c_char_p, c_int)
_XWrite = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
_XTruncate = CFUNCTYPE(c_int, c_void_p, c_int64)
_XSync = CFUNCTYPE(c_int, c_void_p, c_int)


class _Vfs(ctypes.Structure):
    _fields_ = (
        ("iVersion", c_int),
        ("szOsFile", c_int),
        ("mxPathname", c_int),
        ("pNext", c_void_p),
        ("zName", c_char_p),
        ("pAppData", c_void_p),
        ("xOpen", c_void_p),
        ("xDelete", c_void_p),
        ("others", c_void_p * 14),
    )


class _Methods(ctypes.Structure):
    _fields_ = (
        ("iVersion", c_int),
        ("xClose", c_void_p),
        ("xRead", c_void_p),
        ("xWrite", c_void_p),
        ("xTruncate", c_void_p),
        ("xSync", c_void_p),
        ("others", c_void_p * 13),
    )


class _Shim:
    """A copy of the default VFS; files that it opens get copies of their tables of functions."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.sqlite = ctypes.CDLL(_sqlite3.__file__)
        self.sqlite.sqlite3_vfs_find.restype = POINTER(_Vfs)
        self.real = self.sqlite.sqlite3_vfs_find(None)
        self.vfs = _Vfs.from_buffer_copy(self.real.contents)
        self.vfs.pNext = None
        self.vfs.zName = b"dibs-disk"
        # SQLite holds addresses only: what they point to must outlive it.
        self.held: list[object] = []
        self.paths: dict[int, Path] = {}
        self.tables: dict[int, _Methods] = {}
        self.vfs.xOpen = self.address(_XOpen(self.open))
        self.vfs.xDelete = self.address(_XDelete(self.delete))

    def register(self) -> None:
        self.sqlite.sqlite3_vfs_register(ctypes.byref(self.vfs), 1)

    def unregister(self) -> None:
        self.sqlite.sqlite3_vfs_unregister(ctypes.byref(self.vfs))
        self.sqlite.sqlite3_vfs_register(self.real, 1)

    def address(self, callback: object) -> int | None:
        self.held.append(callback)
        return ctypes.cast(callback, c_void_p).value  # type: ignore[arg-type]

    def open(self, _: int, name: int, file: int, flags: int, out: int) -> int:
        code: int = _XOpen(self.real.contents.xOpen)(self.at_real(), name, file, flags, out)
        methods = ctypes.cast(file, POINTER(c_void_p))
        if code == sqlite3.SQLITE_OK and name and methods[0]:
            self.paths[file] = Path(ctypes.string_at(name).decode())
            methods[0] = ctypes.addressof(self.table(methods[0]))
        return code

    def delete(self, _: int, name: bytes, sync: int) -> int:
        path = Path(name.decode())
        if code := self.disk._counted("delete", path):
            return code
        self.disk.unsynced.pop(path, None)
        found: int = _XDelete(self.real.contents.xDelete)(self.at_real(), name, sync)
        return found

    def at_real(self) -> int:
        return ctypes.addressof(self.real.contents)

    def table(self, address: int) -> _Methods:
        """Return a copy of the functions at an address, with ours for those that change a file."""
        if address in self.tables:
            return self.tables[address]
        table = _Methods.from_buffer_copy(_Methods.from_address(address))
        write, truncate, sync = (
            _XWrite(table.xWrite),
            _XTruncate(table.xTruncate),
            _XSync(table.xSync),
        )

        def on_write(file: int, data: int, length: int, offset: int) -> int:
            path = self.paths[file]
            code = self.disk._counted("write", path)
            if code and not self.disk.torn:
                return code
            length = length // 2 if code else length
            self.disk._replacing(path, offset, length)
            return code or int(write(file, data, length, offset))

        def on_truncate(file: int, size: int) -> int:
            path = self.paths[file]
            if code := self.disk._counted("truncate", path):
                return code
            self.disk._replacing(path, size, None)
            return int(truncate(file, size))

        def on_sync(file: int, flags: int) -> int:
            path = self.paths[file]
            if code := self.disk._counted("sync", path):
                return code
            self.disk.unsynced.pop(path, None)
            return int(sync(file, flags))

        table.xWrite = self.address(_XWrite(on_write))
        table.xTruncate = self.address(_XTruncate(on_truncate))
        table.xSync = self.address(_XSync(on_sync))
        self.tables[address] = table
        return table
