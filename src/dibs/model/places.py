"""Where the entries of a document stand, found on demand and in the part that is asked about.

A List of thousands of objects is cut into its items first, which is cheap, and only the item in
question is read again. Lines and columns are those of the document's own text, from 1.
"""

from __future__ import annotations

import json
import re
from functools import cached_property
from typing import NamedTuple

from dibs.model import json_reader, yaml_reader
from dibs.model.yaml_reader import Place, Steps, Unreadable

# Smaller texts are surveyed whole: less than 0.1 s.
_SMALL = 128 * 1024
# Larger ones not at all: it would take longer than anybody waits, and no object is as large.
_LARGEST = 8 * 2**20


class _Region(NamedTuple):
    """The text of one item of a List, and where it begins."""

    text: str
    line: int
    column: int


class Places:
    """The places of one document, whose text is known to be readable."""

    def __init__(self, text: str, tree: object, is_json: bool):
        self._text, self._tree, self._is_json = text, tree, is_json
        self._surveyed: dict[int, dict[Steps, Place]] = {}

    def find(self, steps: Steps) -> Place:
        """Return the place of an entry that exists in the tree."""
        match steps:
            case ():
                return self._root(self._text)
            case ("items", int(index), *rest) if index < len(self._regions):
                region = self._regions[index]
                try:
                    if not rest or len(region.text) > _LARGEST:
                        return _moved(self._root(region.text), region)
                    places = self._item(index, region)
                except Unreadable:
                    # It uses an anchor of another item, so it cannot be read alone.
                    return _nearest(self._whole, steps)
                return _moved(_nearest(places, tuple(rest)), region)
            case _:
                return _nearest(self._whole, steps)

    def _root(self, text: str) -> Place:
        return json_reader.root(text) if self._is_json else yaml_reader.root(text)

    def _item(self, index: int, region: _Region) -> dict[Steps, Place]:
        if index not in self._surveyed:
            self._surveyed[index] = self._survey(region.text)
        return self._surveyed[index]

    @cached_property
    def _whole(self) -> dict[Steps, Place]:
        if len(self._text) > _LARGEST:
            return {(): self._root(self._text)}
        return self._survey(self._text)

    def _survey(self, text: str) -> dict[Steps, Place]:
        if self._is_json:
            return json_reader.survey(text).places
        return yaml_reader.read(text, with_places=True).places

    @cached_property
    def _regions(self) -> list[_Region]:
        """The items of a large List; none when it is small or its text has another shape."""
        items = self._tree.get("items") if isinstance(self._tree, dict) else None
        if len(self._text) < _SMALL or not isinstance(items, list):
            return []
        regions = _json_items(self._text) if self._is_json else _yaml_items(self._text)
        return regions if len(regions) == len(items) else []


def _nearest(places: dict[Steps, Place], steps: Steps) -> Place:
    # What a merge key (<<) or an alias brought in has no place of its own.
    while steps and steps not in places:
        steps = steps[:-1]
    return places.get(steps, Place(1, 1, 1, 1))


def _moved(place: Place, region: _Region) -> Place:
    def right(line: int) -> int:
        return region.column - 1 if line == 1 else 0

    down = region.line - 1
    return Place(
        place.line + down,
        place.column + right(place.line),
        place.value_line + down,
        place.value_column + right(place.value_line),
    )


_YAML_ITEMS = re.compile(r"^items:[ \t]*\n( *)- ", re.MULTILINE)
_TOP_LEVEL_KEY = re.compile(r"^[^\s#-]", re.MULTILINE)


def _yaml_items(text: str) -> list[_Region]:
    """Items of a block list: whatever is inside one is indented deeper than its dash."""
    head = _YAML_ITEMS.search(text)
    if not head:
        return []
    begin = head.start(1)
    after = _TOP_LEVEL_KEY.search(text, begin)
    end = after.start() if after else len(text)
    indent = head.group(1)
    dash = re.compile(rf"^{indent}-(?= )", re.MULTILINE)
    starts = [match.start() for match in dash.finditer(text, begin, end)]
    regions: list[_Region] = []
    line, counted_to = 1, 0
    for start, stop in zip(starts, [*starts[1:], end], strict=True):
        line += text.count("\n", counted_to, start)
        counted_to = start
        # Blanks for the dash, so that columns stay.
        body = " " * (len(indent) + 1) + text[start + len(indent) + 1 : stop]
        regions.append(_Region(body, line, 1))
    return regions


def _json_items(text: str) -> list[_Region]:
    """Items of the top-level "items", stepped over value by value at the speed of C."""
    decode = json.JSONDecoder().raw_decode
    at = text.index("{") + 1
    while True:
        at = _after(text, at, ",")
        key, at = decode(text, at)
        at = _after(text, at, ":")
        if key == "items" and text[at] == "[":
            break
        _, at = decode(text, at)
    regions: list[_Region] = []
    line, counted_to = 1, 0
    at = _after(text, at, "[")
    while text[at] != "]":
        _, end = decode(text, at)
        line += text.count("\n", counted_to, at)
        counted_to = at
        regions.append(_Region(text[at:end], line, at - text.rfind("\n", 0, at)))
        at = _after(text, end, ",")
    return regions


_BLANK = re.compile(r"[ \t\r\n]*")


def _after(text: str, at: int, mark: str) -> int:
    """Step over blanks, the mark if it is there, and blanks again."""
    at = _BLANK.match(text, at).end()  # type: ignore[union-attr]
    if text.startswith(mark, at):
        at += len(mark)
    return _BLANK.match(text, at).end()  # type: ignore[union-attr]
