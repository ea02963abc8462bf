"""Text to plain trees: YAML with several documents, JSON, streams of JSON; and back to places.

A tree is made of dict, list, str, int, float, bool and None, as Kubernetes would read the text.
This file cuts a text into documents and picks the reader; each document stands or falls alone.
Where something stands is worked out only when a fault asks. What the trees mean is `codec`'s.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import NamedTuple, NoReturn

from dibs.model import json_reader, paths, yaml_dump, yaml_reader
from dibs.model.faults import MAX_FAULTS, Fault, FaultKind
from dibs.model.places import Places
from dibs.model.yaml_reader import Place, Reading, Unreadable
from dibs.values.mistake import Mistake

Tree = object


# A document takes 0.1 ms, however small it is.
MAX_DOCUMENTS = 100_000


class Position(NamedTuple):
    """Both from 1."""

    line: int
    column: int


@dataclass(frozen=True)
class Document:
    """One document of a file, its text, and where in the file that text begins.

    `faults` are its duplicate keys and bare words. Of two equal keys the last one counts, as in
    Kubernetes.
    """

    tree: Tree
    text: str
    line: int = 1
    column: int = 1
    is_json: bool = False
    # After a line of "...", which many take for "and so on"; it ends a document.
    follows_end: bool = False
    faults: tuple[Fault, ...] = ()

    def position(self, path: str) -> Position:
        """Return where the entry at `path` begins: its key, or the list item.

        Paths are written as in Kubernetes: `spec.devices[0].attributes[dra.net/mtu].int`. A path
        that isn't there gives the nearest enclosing entry that is, "" the document.
        """
        place = self._place(path)
        return self.in_file(place.line, place.column)

    def value_position(self, path: str) -> Position:
        """Return where the value at `path` begins, for faults inside of it."""
        place = self._place(path)
        return self.in_file(place.value_line, place.value_column)

    def in_file(self, line: int, column: int) -> Position:
        """Return a line and column of `text` as those of the file."""
        return Position(line + self.line - 1, column + (self.column - 1 if line == 1 else 0))

    def _place(self, path: str) -> Place:
        return self._places.find(paths.follow(self.tree, path))

    @cached_property
    def _places(self) -> Places:
        return Places(self.text, self.tree, self.is_json)


@dataclass(frozen=True, slots=True)
class Parsed:
    """Every document that could be read, and a syntax fault for each that could not."""

    documents: tuple[Document, ...]
    faults: tuple[Fault, ...]


# What begins like this was meant to be JSON, whose faults are told if it is not YAML either.
_LIKE_JSON = re.compile(r'\s*[{\[]\s*["{\[](?!.*^---)', re.DOTALL | re.MULTILINE)

# A list is no manifest, so a large one isn't worth a second way of reading.
_LIKE_LIST = re.compile(r"\s*\[(?!.*^---)", re.DOTALL | re.MULTILINE)


Tick = Callable[[int], None]


def parse(content: bytes, tick: Tick = lambda done: None) -> Parsed:
    """Read all documents of one text, YAML or JSON by its first character.

    Documents that say nothing (blank, only comments, null) are left out. `tick` is called now and
    then with the number of characters that are read. Raises Mistake for what is no text at all
    (binary, another encoding than UTF-8, NUL) and for more than MAX_DOCUMENTS.
    """
    text = decoded(content)
    if text.lstrip(" \t\r\n").startswith(("{", "[")):
        parsed = _json(text)
        if not parsed.faults:
            return parsed
        # YAML allows more in braces: comments, bare words, a comma at the end. People write that,
        # programs do not.
        is_like_json = bool(_LIKE_JSON.match(text))
        if len(text) >= _LARGE and (is_like_json or _LIKE_LIST.match(text)):
            return parsed
        relaxed = _yaml(text, tick)
        return parsed if relaxed.faults and is_like_json else relaxed
    return _yaml(text, tick)


_GZIP = b"\x1f\x8b"


def decoded(content: bytes) -> str:
    """Return the text, without byte order mark. Raises Mistake, its path "line:column"."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Mistake(
            "the text is encoded in UTF-16", remedy="save it as UTF-8 (iconv -f UTF-16 -t UTF-8)"
        )
    if content.startswith(_GZIP):
        raise Mistake("compressed with gzip, not a manifest", remedy="unpack it first (gunzip)")
    content = content.removeprefix(b"\xef\xbb\xbf")
    nul = content.find(b"\0")
    if nul >= 0:
        raise Mistake(
            f"not a manifest but binary: byte {nul + 1} is NUL",
            path=_spot(content, nul),
            remedy="give YAML or JSON text in UTF-8",
        )
    try:
        return content.decode()
    except UnicodeDecodeError as fault:
        raise Mistake(
            f"byte {fault.start + 1} (0x{content[fault.start]:02x}) is not UTF-8",
            path=_spot(content, fault.start),
            remedy="save the file as UTF-8",
        ) from None


def _spot(content: bytes, at: int) -> str:
    line = content.count(b"\n", 0, at) + 1
    column = at - content.rfind(b"\n", 0, at)
    return f"{line}:{column}"


def _json(text: str) -> Parsed:
    """One value or a stream of them."""
    try:
        tree = json_reader.quick(text.encode())
    except ValueError:
        return _json_stream(text)
    return Parsed((Document(tree, text, is_json=True),) if tree is not None else (), ())


def _json_stream(text: str) -> Parsed:
    documents: list[Document] = []
    line, counted_to = 1, 0
    try:
        for value in json_reader.values(text):
            line += text.count("\n", counted_to, value.start)
            counted_to = value.start
            column = value.start - text.rfind("\n", 0, value.start)
            piece = text[value.start : value.end]
            document = Document(value.tree, piece, line, column, is_json=True)
            if json_reader.may_repeat_keys(piece.encode(), value.tree):
                document = _with_faults(document, json_reader.survey(piece))
            documents.append(document)
    except Unreadable as fault:
        return Parsed(tuple(documents), (_syntax(fault, 1),))
    return Parsed(tuple(documents), ())


# Smaller texts take less than 0.1 s on the careful way.
_LARGE = 128 * 1024


def _yaml(text: str, tick: Tick) -> Parsed:
    documents: list[Document] = []
    faults: list[Fault] = []
    is_large = len(text) >= _LARGE
    if is_large:
        _check_marks(text)
    done = 0
    for count, piece in enumerate(split(text)):
        tick(done)
        if count == MAX_DOCUMENTS:
            _too_many(piece.line)
        if len(faults) == MAX_FAULTS:
            faults.append(_given_up(piece.line))
            break
        try:
            document = _yaml_document(piece, is_large, tick, done)
        except Unreadable as fault:
            faults.append(_syntax(fault, piece.line))
        else:
            if document.tree is not None:
                documents.append(document)
        done += len(piece.text)
    return Parsed(tuple(documents), tuple(faults))


# Blank lines and remarks, then a dash in the first column.
_LIST = re.compile(r"(?:[ \t\r]*(?:#[^\n]*)?\n)*-(?= )")


def _check_marks(text: str) -> None:
    """Count documents at the speed of C, before any is cut out."""
    if text.count("\n---") > MAX_DOCUMENTS:
        at = next(islice(_lines_of(text, "---"), MAX_DOCUMENTS, None), 0)
        if at:
            _too_many(text.count("\n", 0, at) + 1)


def _too_many(line: int) -> NoReturn:
    raise Mistake(
        f"more than {MAX_DOCUMENTS} documents in one text",
        path=f"{line}:1",
        remedy="split it, or use one List",
    )


def _given_up(line: int) -> Fault:
    message = f"given up after {MAX_FAULTS} faults: no document from here on was looked at"
    return Fault(FaultKind.GIVEN_UP, "", message, line=line, column=1)


def _yaml_document(piece: Piece, is_large: bool, tick: Tick, done: int) -> Document:
    document = Document(None, piece.text, piece.line, follows_end=piece.follows_end)
    if is_large:
        if len(piece.text) >= _LARGE and (item := _LIST.match(piece.text)):
            line = piece.text.count("\n", 0, item.end()) + 1
            message = "a manifest is a mapping with apiVersion and kind, this is a list"
            remedy = "wrap objects as {apiVersion: v1, kind: List, items: […]}"
            raise Unreadable(message, line, 1, remedy)
        try:
            return replace(document, tree=yaml_dump.read(piece.text))
        except ValueError:
            pass
    reading = yaml_reader.read(piece.text, tick=lambda more: tick(done + more))
    return _with_faults(replace(document, tree=reading.tree), reading)


class Piece(NamedTuple):
    """The text of one YAML document; `line` is where it begins in the file."""

    text: str
    line: int
    follows_end: bool


_MARK = re.compile(r"(?:---|\.\.\.)[ \t]*(?=#|\r?\n|\Z)")
_CONTENT = re.compile(r"^(?!%|(?:---|\.\.\.)[ \t\r]*$)[ \t]*[^\s#]", re.MULTILINE)


def split(text: str) -> Iterator[Piece]:
    """Cut YAML at the lines that begin or end a document, where no scalar can reach across.

    So a document that is broken does not spoil the others.
    """
    start, line = 0, 1
    borders = sorted([*_lines_of(text, "---"), *_lines_of(text, "...")])
    for end in [*borders, len(text)]:
        piece = text[start:end]
        if _CONTENT.search(piece):
            # Without its mark a piece is a plain document; the line stays, so numbers hold.
            yield Piece(
                _MARK.sub("", piece, count=1) if _MARK.match(piece) else piece,
                line,
                piece.startswith("..."),
            )
        line += piece.count("\n")
        start = end


def _lines_of(text: str, mark: str) -> Iterator[int]:
    """Where the mark stands at the beginning of a line, alone or before a blank."""
    at = text.find(f"\n{mark}")
    while at >= 0:
        if text[at + 4 : at + 5] in ("", " ", "\t", "\r", "\n"):
            yield at + 1
        at = text.find(f"\n{mark}", at + 1)


def _with_faults(document: Document, reading: Reading) -> Document:
    """Add the document's repeated keys and bare words."""
    repeats = [
        Fault(
            FaultKind.DUPLICATE_KEY,
            paths.plain(repeat.steps),
            f"the key {repeat.steps[-1]} stands twice, "
            f"first on line {document.in_file(repeat.first_line, 1).line}",
            remedy="keep one of them; Kubernetes takes the last or refuses",
        ).at("", *document.in_file(repeat.line, repeat.column))
        for repeat in reading.repeats
    ]
    words = [
        Fault(
            FaultKind.BARE_WORD,
            paths.plain(word.steps),
            f"kubectl reads a bare {word.word} as {str(word.word in 'yY').lower()}",
            value=word.word,
            remedy=f'quote it: "{word.word}"',
        ).at("", *document.in_file(word.line, word.column))
        for word in reading.words
    ]
    return replace(document, faults=(*repeats, *words))


def _syntax(fault: Unreadable, line: int) -> Fault:
    message = fault.message
    if fault.opened:
        message += f" that begins on line {fault.opened + line - 1}"
    return Fault(
        FaultKind.SYNTAX,
        "",
        message,
        remedy=fault.remedy,
        line=fault.line + line - 1,
        column=fault.column,
    )
