"""The folder that a store lives in: made for its owner alone, and used by one process at a time.

`store.lock` holds the owner's pid and is locked for as long as the process lives, however it ends;
the file stays. SQLite's own lock on `store.db` keeps other programs out.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from dibs.values.mistake import Mistake

DATABASE = "store.db"
LOCK = "store.lock"


def make(folder: Path) -> None:
    """Make the folder, 0700, unless it is there. Raises Mistake if it can't be one."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError as error:
        raise _unusable(folder, "is not a folder") from error
    except OSError as error:
        raise _unusable(folder, f"can't be made: {_why(error)}") from error


class Lock:
    """Held from making it until `release`. Raises Mistake, naming who has it."""

    def __init__(self, folder: Path) -> None:
        # Not on Windows: there, only a store in memory can be had.
        import fcntl

        try:
            # Not truncated: until it is ours, it says whose it is.
            self._file = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise _unusable(folder, f"can't be written to: {_why(error)}") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            owner = os.read(self._file, 20).decode(errors="replace").strip()
            os.close(self._file)
            raise Mistake(
                f"in use by another dibs{f' (pid {owner})' if owner else ''}",
                path=str(folder),
                remedy="stop that one, or name another folder",
            ) from error
        except OSError as error:
            os.close(self._file)
            raise _unusable(folder, f"can't be locked: {_why(error)}") from error
        # A full disk only makes the message of the next one poorer.
        with contextlib.suppress(OSError):
            os.ftruncate(self._file, 0)
            os.write(self._file, f"{os.getpid()}\n".encode())

    def release(self) -> None:
        os.close(self._file)


def _unusable(folder: Path, what: str) -> Mistake:
    return Mistake(what, path=str(folder), remedy="name a folder that you may write to")


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
