"""What a tree must look like to become a struct, derived from the structs themselves.

One description serves reading with every fault (`codec_read`), folding what a Partial does not
name, and writing (`codec_write`). v1beta1's two different types are described here too.
"""

from __future__ import annotations

import types
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec

from dibs.model import core, objects
from dibs.model.meta import Object
from dibs.values.quantity import Quantity


@dataclass(frozen=True, slots=True)
class Text:
    pass


@dataclass(frozen=True, slots=True)
class Truth:
    pass


@dataclass(frozen=True, slots=True)
class Whole:
    bits: int


@dataclass(frozen=True, slots=True)
class Amount:
    pass


@dataclass(frozen=True, slots=True)
class Anything:
    """What only a driver, or nobody here, understands; kept as it is."""


@dataclass(frozen=True, slots=True)
class ListOf:
    item: Shape


@dataclass(frozen=True, slots=True)
class MapOf:
    """Keys are the user's."""

    item: Shape


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """Keys are the API's. One that `is_open` keeps unnamed fields in `rest`."""

    struct: type[Object]
    fields: dict[str, Field]
    is_open: bool


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """`attribute` of the struct; `default` is what a missing field means."""

    attribute: str
    shape: Shape
    default: object


Shape = Text | Truth | Whole | Amount | Anything | ListOf | MapOf | Record


@cache
def record(struct: type[Object], version: str = "v1") -> Record:
    """Return the shape of a struct as a version of the API writes it."""
    if version == "v1beta1" and struct is objects.Device:
        return _beta_device()
    if version == "v1beta1" and struct is objects.DeviceRequest:
        return _beta_request()
    is_open = issubclass(struct, core.Partial)
    fields = {
        entry.encode_name: Field(entry.name, _shape(entry.type, version), _default(entry))
        for entry in msgspec.structs.fields(struct)
        if not (is_open and entry.name == "rest")
    }
    return Record(struct, fields, is_open)


def _beta_device() -> Record:
    """All but the name stands under `basic`."""
    device = record(objects.Device)
    inside = {name: field for name, field in device.fields.items() if name != "name"}
    basic = Field("basic", Record(objects.Device, inside, False), None)
    return Record(objects.Device, {"name": device.fields["name"], "basic": basic}, False)


def _beta_request() -> Record:
    """What v1 has under `exactly` stands in the request itself."""
    request = record(objects.DeviceRequest)
    exact = record(objects.ExactDeviceRequest)
    kept = {name: field for name, field in request.fields.items() if name != "exactly"}
    return Record(objects.DeviceRequest, kept | exact.fields, False)


def _default(entry: msgspec.structs.FieldInfo) -> object:
    if entry.default is not msgspec.NODEFAULT:
        return entry.default
    assert entry.default_factory is not msgspec.NODEFAULT, f"{entry.name} has no zero value"
    return entry.default_factory()


_ATOMS: dict[object, Shape] = {
    str: Text(),
    bool: Truth(),
    Quantity: Amount(),
    Any: Anything(),
}


def _shape(type_: Any, version: str) -> Shape:
    if atom := _ATOMS.get(type_):
        return atom
    if isinstance(type_, type) and issubclass(type_, Object):
        return record(type_, version)
    origin, arguments = get_origin(type_), get_args(type_)
    if origin is Annotated:
        assert arguments[0] is int
        return Whole((arguments[1].le + 1).bit_length())
    if origin in (Union, types.UnionType):
        return _shape(next(kind for kind in arguments if kind is not types.NoneType), version)
    if origin is tuple:
        return ListOf(_shape(arguments[0], version))
    assert arguments[0] is str, f"no shape for {type_}"
    return MapOf(_shape(arguments[1], version))


@cache
def holds_open(shape: Shape) -> bool:
    """Whether a Partial is in it, so that trees must be folded before they become structs."""
    match shape:
        case Record():
            return shape.is_open or any(holds_open(field.shape) for field in shape.fields.values())
        case ListOf(item) | MapOf(item):
            return holds_open(item)
        case _:
            return False


def folded(shape: Shape, tree: object) -> object:
    """Return the tree with the unnamed fields of every Partial moved into its `rest`.

    Whatever does not have the shape is left as it is, for others to complain about.
    """
    match shape, tree:
        case Record(), dict() if holds_open(shape):
            named = {
                key: folded(shape.fields[key].shape, value)
                for key, value in tree.items()
                if key in shape.fields
            }
            if not shape.is_open:
                return named | {key: tree[key] for key in tree if key not in shape.fields}
            rest = {key: value for key, value in tree.items() if key not in shape.fields}
            return named | {"rest": rest} if rest else named
        case ListOf(item), list() if holds_open(item):
            return [folded(item, value) for value in tree]
        case MapOf(item), dict() if holds_open(item):
            return {key: folded(item, value) for key, value in tree.items()}
        case _:
            return tree
