"""One YAML document to a tree, with care: duplicate keys, places, anchors, bounds, clear faults.

Built on the events of libyaml, because every limit has to hold before a tree exists. `yaml_dump`
is the fast way for large dumps; what this file says is right. Scalars are `scalars`'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import yaml

from dibs.model import scalars

MAX_DEPTH = 200
# What aliases may add up to, in nodes: ten anchors of ten aliases each would be 10^10.
MAX_ALIASED = 200_000
# More repeated keys of one document are not told one by one.
MAX_REPEATS = 1000

Steps = tuple[str | int, ...]


class Place(NamedTuple):
    """Line and column (from 1) of an entry's key or dash, and of its value."""

    line: int
    column: int
    value_line: int
    value_column: int


class Unreadable(Exception):
    """No tree can be made of the text. `opened` is the line where what is broken begins, or 0."""

    def __init__(self, message: str, line: int, column: int, remedy: str = "", opened: int = 0):
        super().__init__(message)
        self.message, self.line, self.column, self.remedy = message, line, column, remedy
        self.opened = opened


class Repeat(NamedTuple):
    """A key that stands twice in one mapping: where the second is. The last one counts."""

    steps: Steps
    line: int
    column: int
    first_line: int


class BareWord(NamedTuple):
    """A y or n without quotes: text here, true or false to kubectl."""

    steps: Steps
    word: str
    line: int
    column: int


@dataclass
class Reading:
    tree: object = None
    words: list[BareWord] = field(default_factory=list)
    repeats: list[Repeat] = field(default_factory=list)
    places: dict[Steps, Place] = field(default_factory=dict)


# Events between two calls of `tick`: about 0.2 s.
_STRIDE = 50_000


def read(
    text: str, *, with_places: bool = False, tick: Callable[[int], None] | None = None
) -> Reading:
    """Read the one document in `text`. Raises Unreadable; lines count from 1 in `text`.

    `tick` is called now and then with the number of characters that are read.
    """
    reading = Reading()
    builder = _Builder(reading, with_places)
    for count, event in enumerate(_events(text), 1):
        builder.take(event)
        if tick and count % _STRIDE == 0:
            tick(event.end_mark.index)
    return reading


def root(text: str) -> Place:
    """Return where the value in `text` begins, without reading on. Raises Unreadable."""
    for event in _events(text):
        mark = event.start_mark
        if isinstance(event, yaml.NodeEvent) and mark:
            return Place(mark.line + 1, mark.column + 1, mark.line + 1, mark.column + 1)
    return Place(1, 1, 1, 1)


def _events(text: str) -> Iterator[Any]:
    try:
        yield from yaml.parse(text, yaml.CSafeLoader)
    except yaml.MarkedYAMLError as fault:
        raise _unreadable(fault) from None
    except yaml.reader.ReaderError as fault:
        before = text[: fault.position]
        raise Unreadable(
            f"character U+{_code(fault.character):04X} is not allowed in YAML",
            before.count("\n") + 1,
            fault.position - before.rfind("\n"),
            "remove it, or write it as an escape inside double quotes",
        ) from None


# libyaml says what its scanner wanted; the remedy is what the author most likely did.
_REMEDIES = (
    ("cannot start any token", "indent with spaces, and quote values that begin with @ ` or %"),
    ("mapping values are not allowed", "check the indentation, or quote a value with ': ' in it"),
    ("could not find expected ':'", "check the indentation here and above, or add the ':'"),
    ("did not find expected key", "the entries of a mapping must begin in one column"),
    ("did not find expected '-'", "the items of a list must begin in one column"),
    ("did not find expected <document", "put --- on a line of its own between documents"),
    ("undefined alias", "define the anchor (&name) above, in the same document"),
    ("nesting depth", f"nest at most {MAX_DEPTH} levels"),
    ("unexpected end of stream", "close the quote or bracket that is opened above"),
)


def _unreadable(fault: yaml.MarkedYAMLError) -> Unreadable:
    mark = fault.problem_mark or fault.context_mark
    problem = fault.problem or "not YAML"
    message = f"{problem} {fault.context}" if fault.context else problem
    context = fault.context_mark if fault.context else None
    opened = context.line + 1 if context and mark and context.line != mark.line else 0
    remedy = next((then for sign, then in _REMEDIES if sign in problem), "")
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    return Unreadable(message, line, column, remedy, opened)


def _code(character: object) -> int:
    return character if isinstance(character, int) else ord(str(character)[0])


_NO_KEY = object()
_MERGE = object()


@dataclass(slots=True)
class _Open:
    """A mapping or list whose end has not come yet."""

    node: dict[str, object] | list[object]
    steps: Steps
    anchor: str | None
    line: int
    # How many nodes it has grown to, those behind aliases included.
    size: int = 1
    repeated: int = 0
    key: object = _NO_KEY
    key_mark: tuple[int, int] = (0, 0)
    first_lines: dict[str, int] = field(default_factory=dict)
    merged: list[tuple[object, int, int]] = field(default_factory=list)


class _Builder:
    """Grows the tree event by event, without recursion."""

    def __init__(self, reading: Reading, with_places: bool):
        self.reading = reading
        self.with_places = with_places
        self.open: list[_Open] = []
        self.anchors: dict[str, tuple[object, int]] = {}
        self.aliased = 0
        # By type and not by `match`: a large document has a million events.
        self.handlers: dict[type, Callable[[Any], None]] = {
            yaml.ScalarEvent: self.scalar,
            yaml.MappingStartEvent: lambda event: self.begin({}, event),
            yaml.SequenceStartEvent: lambda event: self.begin([], event),
            yaml.MappingEndEvent: self.end,
            yaml.SequenceEndEvent: self.end,
            yaml.AliasEvent: self.alias,
        }

    def take(self, event: Any) -> None:
        if handle := self.handlers.get(type(event)):
            handle(event)

    def scalar(self, event: Any) -> None:
        try:
            if self.expects_key():
                self.put_key(_key(event), event)
                if _is_doubtful(event):
                    self.doubt((*self.open[-1].steps, event.value), event)
                return
            value = _value(event)
            if _is_doubtful(event):
                self.doubt(self.steps_of_next(), event)
        except scalars.Unresolvable as fault:
            raise _at(event, str(fault), "quote it to make it text") from None
        if event.anchor:
            self.anchors[event.anchor] = (value, 1)
        self.put(value, 1, event)

    def doubt(self, steps: Steps, event: Any) -> None:
        mark = event.start_mark
        self.reading.words.append(BareWord(steps, event.value, mark.line + 1, mark.column + 1))

    def expects_key(self) -> bool:
        return (
            bool(self.open)
            and isinstance(self.open[-1].node, dict)
            and (self.open[-1].key is _NO_KEY)
        )

    def put_key(self, key: object, event: Any) -> None:
        mapping = self.open[-1]
        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        mapping.key, mapping.key_mark = key, (line, column)
        if not isinstance(key, str):
            return
        first = mapping.first_lines.setdefault(key, line)
        if key not in mapping.node:
            return
        mapping.repeated += 1
        if mapping.repeated > MAX_REPEATS:
            # No manifest: not worth the minutes that a large one takes.
            raise _at(event, f"more than {MAX_REPEATS} keys of one mapping stand twice")
        if len(self.reading.repeats) < MAX_REPEATS:
            self.reading.repeats.append(Repeat((*mapping.steps, key), line, column, first))

    def put(self, value: object, size: int, event: Any) -> None:
        """Hang a whole value into what is open. A container is hung when it begins."""
        if self.with_places:
            self.note(event)
        if not self.open:
            self.reading.tree = value
            return
        parent = self.open[-1]
        parent.size += size
        if isinstance(parent.node, list):
            parent.node.append(value)
        elif parent.key is _MERGE:
            mark = event.start_mark
            parent.merged.append((value, mark.line + 1, mark.column + 1))
            parent.key = _NO_KEY
        else:
            assert isinstance(parent.key, str)
            parent.node[parent.key] = value
            parent.key = _NO_KEY

    def steps_of_next(self) -> Steps:
        if not self.open:
            return ()
        parent = self.open[-1]
        step = len(parent.node) if isinstance(parent.node, list) else str(parent.key)
        return (*parent.steps, step)

    def note(self, event: Any) -> None:
        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        in_mapping = bool(self.open) and isinstance(self.open[-1].node, dict)
        at = self.open[-1].key_mark if in_mapping else (line, column)
        self.reading.places[self.steps_of_next()] = Place(at[0], at[1], line, column)

    def begin(self, node: dict[str, object] | list[object], event: Any) -> None:
        if self.expects_key():
            raise _at(event, "a mapping or list cannot be a key", "write the key as text")
        if len(self.open) >= MAX_DEPTH:
            raise _at(event, f"nested deeper than {MAX_DEPTH} levels", "flatten the document")
        steps = self.steps_of_next()
        self.put(node, 1, event)
        self.open.append(_Open(node, steps, event.anchor, event.start_mark.line + 1))

    def end(self, event: Any) -> None:
        closed = self.open.pop()
        for value, line, column in closed.merged:
            _merge(closed.node, value, line, column)
        if self.open:
            self.open[-1].size += closed.size - 1
        if closed.anchor:
            # Only now: an alias inside its own anchor would make an endless tree.
            self.anchors[closed.anchor] = (closed.node, closed.size)

    def alias(self, event: Any) -> None:
        if event.anchor not in self.anchors:
            raise _at(event, f"alias *{event.anchor} has no finished anchor &{event.anchor}")
        value, size = self.anchors[event.anchor]
        self.aliased += size
        if self.aliased > MAX_ALIASED:
            raise _at(
                event,
                f"aliases add up to more than {MAX_ALIASED} values",
                "write out what is needed instead of nesting aliases",
            )
        if self.expects_key():
            if not isinstance(value, str):
                raise _at(event, "an alias used as a key must stand for text")
            self.put_key(value, event)
            return
        self.put(value, size, event)


def _is_doubtful(event: Any) -> bool:
    return bool(event.implicit[0]) and event.value in scalars.DOUBTFUL


def _value(event: Any) -> scalars.Scalar:
    text = str(event.value)
    if event.tag == "!":
        # "Not specific" is the tag of what stands in quotes.
        return text
    if event.tag is not None:
        return scalars.tagged(text, event.tag)
    return scalars.plain(text) if event.implicit[0] else text


def _key(event: Any) -> object:
    text = str(event.value)
    if not event.implicit[0]:
        return text
    return _MERGE if text == "<<" else scalars.key(text)


def _merge(node: object, value: object, line: int, column: int) -> None:
    """`<<: *defaults`: what stands in the mapping itself wins."""
    sources = value if isinstance(value, list) else [value]
    assert isinstance(node, dict)
    for source in sources:
        if not isinstance(source, dict):
            raise Unreadable("<< merges a mapping or a list of mappings", line, column)
        for key, item in source.items():
            node.setdefault(key, item)


def _at(event: Any, message: str, remedy: str = "") -> Unreadable:
    return Unreadable(message, event.start_mark.line + 1, event.start_mark.column + 1, remedy)
