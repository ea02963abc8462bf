"""The slow, thorough way from tree to struct: every fault at once, with its path.

Taken only when the quick way has failed. What is wrong is left out and told; what remains has the
shape it should. Which remedy fits which fault is `codec_hints`'.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice

from dibs.model import codec_hints, paths
from dibs.model.codec_shapes import (
    Amount,
    Anything,
    ListOf,
    MapOf,
    Record,
    Shape,
    Text,
    Truth,
    Whole,
)
from dibs.model.faults import MAX_FAULTS, Fault
from dibs.values.quantity import NotAQuantity, Quantity


@dataclass(slots=True)
class Reader:
    """Collects the faults of one object of one version."""

    version: str
    faults: list[Fault] = field(default_factory=list)
    # Those that are more than an unknown field.
    fatal: int = 0

    def read(self, shape: Shape, tree: object, path: str) -> object:
        """Return the part of `tree` that has the shape; what hasn't is a fault and absent."""
        match shape:
            case Record():
                return self._record(shape, tree, path)
            case ListOf(item):
                return self._list(shape, item, tree, path)
            case MapOf(item):
                return self._map(shape, item, tree, path)
            case Amount():
                return self._amount(tree, path)
            case Anything():
                return tree
            case _:
                if is_of(shape, tree):
                    return tree
                return self._mistyped(shape, tree, path)

    def _record(self, shape: Record, tree: object, path: str) -> object:
        if not isinstance(tree, dict):
            return self._mistyped(shape, tree, path)
        read: dict[str, object] = {}
        unknown: dict[str, object] = {}
        for name, value in tree.items():
            if name not in shape.fields:
                unknown[name] = value
            elif value is not None:
                part = self.read(shape.fields[name].shape, value, paths.field(path, name))
                if part is not _NOTHING:
                    read[name] = part
        if shape.is_open:
            return read | {"rest": unknown} if unknown else read
        some = dict(islice(unknown.items(), MAX_FAULTS))
        self.faults += codec_hints.unknown_fields(shape, self.version, some, tree, path)
        return read

    def _list(self, shape: ListOf, item: Shape, tree: object, path: str) -> object:
        if not isinstance(tree, list):
            return self._mistyped(shape, tree, path)
        parts: list[object] = []
        for at, value in enumerate(tree):
            if self.fatal >= MAX_FAULTS:
                # Nothing will rest on this object.
                break
            part = self._item(item, value, paths.entry(path, at))
            if part is not _NOTHING:
                parts.append(part)
        return parts

    def _map(self, shape: MapOf, item: Shape, tree: object, path: str) -> object:
        if not isinstance(tree, dict):
            return self._mistyped(shape, tree, path)
        parts = {
            key: self._item(item, value, paths.entry(path, key)) for key, value in tree.items()
        }
        return {key: part for key, part in parts.items() if part is not _NOTHING}

    def _item(self, shape: Shape, value: object, path: str) -> object:
        """An item that is null is the zero value of its type, as in Go."""
        return _zero(shape) if value is None else self.read(shape, value, path)

    def _amount(self, tree: object, path: str) -> object:
        try:
            return amount(tree)
        except NotAQuantity as fault:
            self._blame(codec_hints.no_quantity(tree, str(fault), path))
        except TypeError:
            return self._mistyped(Amount(), tree, path)
        return _NOTHING

    def _mistyped(self, shape: Shape, value: object, path: str) -> object:
        if self.fatal < MAX_FAULTS:
            self._blame(codec_hints.mistyped(shape, value, path))
        return _NOTHING

    def _blame(self, fault: Fault) -> None:
        self.fatal += 1
        if self.fatal <= MAX_FAULTS:
            self.faults.append(fault)


# Not None: that is a value of opaque parameters.
_NOTHING = object()


def _zero(shape: Shape) -> object:
    match shape:
        case Record() | MapOf():
            return {}
        case ListOf():
            return []
        case Text():
            return ""
        case Truth():
            return False
        case Whole():
            return 0
        case Amount():
            return Quantity.of(0)
        case _:
            return None


def is_of(shape: Shape, value: object) -> bool:
    match shape:
        case Text():
            return isinstance(value, str)
        case Truth():
            return isinstance(value, bool)
        case Whole(bits):
            limit = 1 << (bits - 1)
            return type(value) is int and -limit <= value < limit
        case _:
            return False


def amount(value: object) -> Quantity:
    """Return a quantity, which may be written as a number. Raises NotAQuantity, TypeError."""
    if isinstance(value, str):
        # The API trims blanks.
        return Quantity.parse(value.strip(" \t\r\n"))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Quantity.parse(str(value))
    if isinstance(value, Quantity):
        return value
    raise TypeError("not a quantity")
