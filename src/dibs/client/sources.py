"""Which files a user's paths stand for, and their bytes: files, folders, standard input.

Every reason why a path cannot be read is a Mistake that names it. What the bytes mean is `dump`'s.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, NoReturn

from dibs.values import nearest
from dibs.values.mistake import Mistake

STDIN = "-"
ENDINGS = (".yaml", ".yml", ".json")
# A dump of 10,000 slices is about 100 MB.
MAX_BYTES = 256 * 2**20


@dataclass(frozen=True, slots=True)
class Source:
    """`size` in bytes, 0 when unknown; one that `is_named` was asked for itself, not its folder."""

    path: str
    size: int
    is_named: bool


def found(paths: Sequence[str]) -> tuple[Source, ...]:
    """Return what the paths stand for, in their order, each file once. Raises Mistake."""
    seen: set[object] = set()
    sources: list[Source] = []
    for path in paths:
        for source in _of_path(path):
            key = STDIN if source.path == STDIN else os.path.realpath(source.path)
            if key not in seen:
                seen.add(key)
                sources.append(source)
    return tuple(sources)


def read(source: Source, stdin: BinaryIO) -> bytes:
    """Return the bytes. Raises Mistake."""
    if source.path == STDIN:
        content = stdin.read(MAX_BYTES + 1)
    else:
        try:
            with open(source.path, "rb") as file:
                content = file.read(MAX_BYTES + 1)
        except OSError as fault:
            _unreadable(source.path, fault)
    if len(content) > MAX_BYTES:
        _too_large(source.path)
    return content


def _of_path(path: str) -> Iterator[Source]:
    if path == STDIN:
        yield Source(STDIN, 0, True)
        return
    if not path:
        raise Mistake(
            "the path is empty",
            path="''",
            remedy="name a file or folder, or - for standard input; is a variable unset?",
        )
    status = _status(path)
    if stat.S_ISDIR(status.st_mode):
        yield from _of_folder(path)
    else:
        yield _of_file(path, status, is_named=True)


def _status(path: str) -> os.stat_result:
    try:
        return os.stat(path)
    except FileNotFoundError as fault:
        if os.path.islink(path):
            raise Mistake("the link points to nothing", path=path) from None
        _missing(path, fault)
    except OSError as fault:
        _unreadable(path, fault)
    except ValueError:
        raise Mistake("a path cannot hold a NUL character", path=repr(path)) from None


def _of_file(path: str, status: os.stat_result, *, is_named: bool) -> Source:
    mode = status.st_mode
    # A shell's <(command) is a pipe that is already open; other pipes may block for ever.
    is_open_pipe = stat.S_ISFIFO(mode) and path.startswith(("/dev/fd/", "/proc/self/fd/"))
    if not stat.S_ISREG(mode) and not is_open_pipe:
        what = "a named pipe" if stat.S_ISFIFO(mode) else "a socket or device"
        raise Mistake(
            f"{what}, not a file", path=path, remedy="send its content to standard input: -f -"
        )
    if status.st_size > MAX_BYTES:
        _too_large(path)
    return Source(path, status.st_size, is_named)


def _of_folder(top: str) -> Iterator[Source]:
    """Every manifest below, by name; hidden ones and what else lies there are passed over."""
    count = 0
    for path in _walk(top, set()):
        status = _status(path)
        count += 1
        yield _of_file(path, status, is_named=False)
    if not count:
        raise Mistake(
            "no manifest in this folder",
            path=top,
            remedy=f"manifests are files that end in {', '.join(ENDINGS)}",
        )


def _walk(folder: str, above: set[tuple[int, int]]) -> Iterator[str]:
    status = _status(folder)
    here = (status.st_dev, status.st_ino)
    if here in above:
        # A link to a folder that it lies in.
        return
    try:
        names = sorted(os.listdir(folder))
    except OSError as fault:
        _unreadable(folder, fault)
    for name in names:
        path = os.path.join(folder, name)
        if name.startswith("."):
            continue
        if os.path.isdir(path):
            yield from _walk(path, above | {here})
        elif name.lower().endswith(ENDINGS):
            yield path


def _missing(path: str, fault: OSError) -> NoReturn:
    folder, name = os.path.split(path)
    remedy = ""
    try:
        remedy = nearest.question(name, os.listdir(folder or "."))
    except OSError:
        remedy = f"{folder} is not there either"
    raise Mistake("no such file or folder", path=path, remedy=remedy) from fault


def _unreadable(path: str, fault: OSError) -> NoReturn:
    remedy = "give yourself the right to read it" if isinstance(fault, PermissionError) else ""
    message = f"cannot be read: {(fault.strerror or str(fault)).lower()}"
    raise Mistake(message, path=path, remedy=remedy) from fault


def _too_large(path: str) -> NoReturn:
    raise Mistake(
        f"larger than {MAX_BYTES >> 20} MiB",
        path=path,
        remedy="dump fewer kinds or namespaces at once, in several files",
    )
