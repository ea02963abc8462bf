"""Files that only their owner may read: keys, tokens, kubeconfigs.

Written whole or not at all, and refused when others can read them: a key that leaked is no key.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from dibs.values.mistake import Mistake


def write(path: Path, content: bytes) -> None:
    """Put content in place of what was there, at once, for the owner's eyes only."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as fault:
        beside.unlink(missing_ok=True)
        raise Mistake(
            f"can't be written: {fault.strerror}",
            path=str(path),
            remedy="choose another folder with --data, or make room there",
        ) from fault


def read(path: Path) -> bytes:
    """Return the content. Raises Mistake when others than the owner may read or write it."""
    try:
        mode = path.stat().st_mode
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise Mistake(
                f"others may read or write it (mode {stat.S_IMODE(mode):04o})",
                path=str(path),
                remedy=f"chmod 600 {path}; if it may have been read, remove it and make it anew",
            )
        return path.read_bytes()
    except OSError as fault:
        raise Mistake(
            f"can't be read: {fault.strerror}", path=str(path), remedy="see to its owner and mode"
        ) from fault
