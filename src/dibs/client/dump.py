"""Manifests from files, folders and standard input, as objects that know where they came from.

The one door for everything a user hands in as text. It reads, and holds no opinion on what the
objects mean; `write` prints objects the same way.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

import msgspec

from dibs.client import sources, writing
from dibs.client.sources import Source
from dibs.model import codec, codec_kind, documents, kinds, paths, versions
from dibs.model.codec_kind import Member
from dibs.model.documents import Document, Parsed, Position
from dibs.model.faults import MAX_FAULTS, PASSED_OVER, Fault, FaultKind
from dibs.model.kinds import Known
from dibs.values.mistake import Mistake

Progress = Callable[[str, int, int], None]


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
        return versions.written(self.kind, self.api_version.rpartition("/")[2], path)

    def position(self, path: str = "") -> Position:
        """Return line and column of the entry (its key) at a v1 path."""
        return self.document.position(paths.joined(self.root, self.written(path)))

    def value_position(self, path: str) -> Position:
        """Return line and column of the value at a v1 path."""
        return self.document.value_position(paths.joined(self.root, self.written(path)))


@dataclass(frozen=True, slots=True)
class Entry:
    object: Known
    origin: Origin


@dataclass(frozen=True, slots=True)
class Loaded:
    """All that was read, in the order of the paths, files and documents.

    `entries` has no object twice; a second one of the same kind, namespace and name is a fault if
    it differs (the first one counts) and is only counted in `repeated` if it is equal.
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
    progress: Progress | None = None,
) -> Loaded:
    """Read every manifest at `paths`: files, folders, "-".

    `progress(file, done_bytes, all_bytes)` is called before each file and now and then inside.
    Raises Mistake for a path that cannot be read, a folder or file without manifests, and what is
    no text.
    """
    wanted = sources.found(paths)
    total = sum(source.size for source in wanted)
    gathering = _Gathering()
    done = 0
    with _no_collection():
        for source in wanted:
            told = _Told(progress, source.path, done, total)
            _read(source, stdin, gathering, told)
            done += source.size
    return Loaded(
        tuple(gathering.entries),
        dict(gathering.skipped),
        tuple(gathering.faults),
        gathering.repeated,
        tuple(source.path for source in wanted),
    )


def trees(paths: Sequence[str], *, stdin: BinaryIO) -> tuple[dict[str, Any], ...]:
    """Every object at `paths` as it stands there, of whatever kind; what is in it is not judged.

    Raises Mistake for what can't be read, and for anything that is no object.
    """
    found: list[dict[str, Any]] = []
    for source in sources.found(paths):
        parsed = _parsed(source, stdin, _Told(None, source.path, 0, 0))
        broken = [*parsed.faults, *(f for document in parsed.documents for f in document.faults)]
        if broken:
            raise Mistake(str(replace(broken[0], file=source.path)), path=source.path)
        for document in parsed.documents:
            members, faults = codec_kind.members(document.tree)
            if faults:
                raise Mistake(str(replace(faults[0], file=source.path)), path=source.path)
            for member in members:
                if not isinstance(member.tree, dict):
                    raise Mistake("is no object", path=source.path)
                head = {"apiVersion": member.api_version, "kind": member.kind}
                found.append(
                    {**{key: value for key, value in head.items() if value}, **member.tree}
                )
    if not found:
        raise Mistake("no object in it", path=", ".join(paths))
    return tuple(found)


def write(objects: Sequence[Known], output: str, version: str = "") -> str:
    """Return the objects as "yaml" (several documents) or "json" (a List when not exactly one).

    `version` "" is the newest of each kind.
    """
    return writing.text(objects, output, version)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Loading makes a million objects and no garbage; looking for it takes half of the time.

    Afterwards they are frozen: they live as long as what is asked about them, and no later
    collection has to look at them again.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.freeze()
            gc.enable()


@dataclass(frozen=True, slots=True)
class _Told:
    """What progress is told of one file."""

    progress: Progress | None
    file: str
    done: int
    total: int

    def __call__(self, more: int = 0) -> None:
        if self.progress:
            self.progress(self.file, self.done + more, max(self.total, self.done + more))


# Objects between two calls of progress: about 0.1 s.
_STRIDE = 1000


@dataclass(slots=True)
class _Gathering:
    entries: list[Entry] = field(default_factory=list)
    by_name: dict[tuple[type, str, str], Entry] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)
    repeated: int = 0
    # Of the file that is being read: faults that end a command, warnings, and warnings unlisted.
    fatal: int = 0
    passed_over: int = 0
    unlisted: int = 0

    def begin_file(self) -> None:
        self.fatal = self.passed_over = self.unlisted = 0

    def blame(self, faults: Sequence[Fault], file: str, document: Document, root: str) -> None:
        """Add faults with their places, as many as anybody reads."""
        wanted: list[Fault] = []
        for fault in faults:
            if fault.kind not in PASSED_OVER:
                self.fatal += 1
            elif self.passed_over < MAX_FAULTS:
                self.passed_over += 1
            else:
                self.unlisted += 1
                continue
            wanted.append(fault)
        self.faults += _placed(wanted, file, document, root)

    def add(self, entry: Entry) -> None:
        metadata = entry.object.metadata
        key = (type(entry.object), metadata.namespace, metadata.name)
        first = self.by_name.setdefault(key, entry) if metadata.name else entry
        if first is entry:
            self.entries.append(entry)
        elif first.object == entry.object:
            self.repeated += 1
        else:
            self.fatal += 1
            self.faults.append(_twice(first, entry))


def _read(source: Source, stdin: BinaryIO, gathering: _Gathering, told: _Told) -> None:
    told()
    gathering.begin_file()
    parsed = _parsed(source, stdin, told)
    gathering.faults += [replace(fault, file=source.path) for fault in parsed.faults]
    if source.is_named and not parsed.documents and not parsed.faults:
        what = "standard input is empty" if source.path == sources.STDIN else "no manifest in it"
        raise Mistake(what, path=source.path, remedy="YAML or JSON of Kubernetes objects is wanted")
    for index, document in enumerate(parsed.documents):
        gathering.faults += [replace(fault, file=source.path) for fault in document.faults]
        members, faults = codec_kind.members(document.tree)
        gathering.blame(faults, source.path, document, "")
        for count, member in enumerate(members):
            if gathering.fatal >= MAX_FAULTS:
                more = len(members) - count + len(parsed.documents) - index - 1
                spot = document.position(member.path)
                gathering.faults.append(_given_up(more).at(source.path, *spot))
                return
            _decode(member, document, source.path, gathering)
            if count % _STRIDE == 0:
                told(source.size)
    if gathering.unlisted:
        message = f"{gathering.unlisted} more unknown or repeated fields are not listed"
        gathering.faults.append(Fault(FaultKind.UNKNOWN_FIELD, "", message, file=source.path))


def _parsed(source: Source, stdin: BinaryIO, told: _Told) -> Parsed:
    try:
        parsed = documents.parse(sources.read(source, stdin), told)
    except Mistake as mistake:
        where = f"{source.path}:{mistake.path}" if mistake.path else source.path
        raise Mistake(
            mistake.message,
            path=mistake.path if mistake.path.startswith(source.path) else where,
            value=mistake.value,
            remedy=mistake.remedy,
        ) from None
    told(source.size)
    return parsed


def _given_up(unseen: int) -> Fault:
    message = f"given up after {MAX_FAULTS} faults: {unseen} more objects were not looked at"
    return Fault(FaultKind.GIVEN_UP, "", message, remedy="correct the first ones, and try again")


def _decode(member: Member, document: Document, file: str, gathering: _Gathering) -> None:
    decoded = codec.decode(member.tree, api_version=member.api_version, kind=member.kind)
    gathering.blame(decoded.faults, file, document, member.path)
    if decoded.is_foreign:
        gathering.skipped[f"{decoded.api_version} {decoded.kind}"] += 1
    if decoded.object is not None:
        origin = Origin(file, document, member.path, decoded.api_version, decoded.kind)
        gathering.add(Entry(_in_namespace(decoded.object), origin))


def _placed(faults: Sequence[Fault], file: str, document: Document, root: str) -> Iterator[Fault]:
    """The faults with their places, in the order of the text."""
    spots = [document.position(paths.joined(root, fault.path)) for fault in faults]
    for spot, fault in sorted(zip(spots, faults, strict=True), key=lambda pair: pair[0]):
        if fault.kind is FaultKind.KIND and document.follows_end and not root:
            remedy = 'the line "..." above ends a YAML document; remove it if these are one'
            fault = replace(fault, remedy=remedy)
        yield fault.at(file, *spot)


def _in_namespace(item: Known) -> Known:
    """What names no namespace is applied to "default"."""
    if not kinds.of(item).namespaced or item.metadata.namespace:
        return item
    metadata = msgspec.structs.replace(item.metadata, namespace="default")
    return msgspec.structs.replace(item, metadata=metadata)


def _twice(first: Entry, second: Entry) -> Fault:
    line, column = second.origin.position()
    there = f"{first.origin.file}:{first.origin.position().line}"
    return Fault(
        FaultKind.DUPLICATE_OBJECT,
        "",
        f"the same object is at {there}, and differs; that one counts",
        remedy="keep one of them, or give them different names",
        subject=kinds.name_of(second.object),
    ).at(second.origin.file, line, column)
