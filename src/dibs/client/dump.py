"""Manifests from files, folders and standard input, as objects that know where they came from.

The one door for everything a user hands in as text. Reads only; `write` prints objects the same
way. It holds no opinion on what the objects mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from dibs.model.documents import Document, Position
from dibs.model.faults import Fault
from dibs.model.kinds import Known


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an object stands: `file` ("-" is standard input), document, and path in it.

    `root` is "" or, inside a List, "items[3]". Paths asked for are those of v1; they are found
    also when the file is written in v1beta1.
    """

    file: str
    document: Document
    root: str
    api_version: str
    kind: str

    def written(self, path: str) -> str:
        """Return the v1 `path` as the file's own version has it."""
        raise NotImplementedError

    def position(self, path: str = "") -> Position:
        """Return line and column of the entry (its key) at a v1 path."""
        raise NotImplementedError

    def value_position(self, path: str) -> Position:
        """Return line and column of the value at a v1 path."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Entry:
    object: Known
    origin: Origin


@dataclass(frozen=True, slots=True)
class Loaded:
    """All that was read, in the order of the paths, files and documents.

    `entries` has no key twice; a second object of the same kind, namespace and name is a fault if
    it differs (the first one wins) and is only counted in `repeated` if it is equal.
    `skipped` counts kinds that are not ours: "apps/v1 Deployment" → 3.
    """

    entries: tuple[Entry, ...]
    skipped: Mapping[str, int]
    faults: tuple[Fault, ...]
    repeated: int
    files: tuple[str, ...]

    @property
    def objects(self) -> tuple[Known, ...]:
        return tuple(entry.object for entry in self.entries)


def load(
    paths: Sequence[str],
    *,
    stdin: BinaryIO,
    progress: Callable[[str, int, int], None] | None = None,
) -> Loaded:
    """Read every manifest at `paths`: files, folders, "-".

    `progress(file, done_bytes, all_bytes)` is called before each file. Raises Mistake for a path that
    cannot be read, a folder without manifests, and what is no text.
    """
    raise NotImplementedError


def write(objects: Sequence[Known], output: str, version: str = "v1") -> str:
    """Return the objects as "yaml" (several documents) or "json" (a List when not exactly one)."""
    raise NotImplementedError
