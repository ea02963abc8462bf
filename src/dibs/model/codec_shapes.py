"""What a tree must look like to become a struct, derived from the structs themselves.

One description serves reading with every fault (`codec_read`), folding what a Partial does not
name, and writing (`codec_write`). v1beta1's two different types are described here too.
"""

from __future__ import annotations

import types
from collections.abc import Callable, KeysView
from dataclasses import dataclass
from functools import cache, partial
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


Fold = Callable[[object], object]


@cache
def folding(shape: Shape) -> Fold | None:
    """Return what moves the unnamed fields of every Partial of a tree into its `rest`.

    None where there is no Partial, and nothing to move. Whatever does not have the shape is left
    as it is, for others to complain about; no tree is changed in place. Made once a shape: every
    object that is read goes through it.
    """
    match shape:
        case Record():
            return _record_folding(shape)
        case ListOf(item) if inner := folding(item):
            return partial(_fold_list, inner)
        case MapOf(item) if inner := folding(item):
            return partial(_fold_map, inner)
        case _:
            return None


def _record_folding(shape: Record) -> Fold | None:
    inner = [(key, fold) for key, field in shape.fields.items() if (fold := folding(field.shape))]
    if shape.is_open:
        return partial(_fold_open, shape.fields.keys(), inner)
    return partial(_fold_closed, inner) if inner else None


def _fold_open(names: KeysView[str], inner: list[tuple[str, Fold]], tree: object) -> object:
    if not isinstance(tree, dict):
        return tree
    if tree.keys() <= names:
        return _fold_closed(inner, tree)
    named = {key: value for key, value in tree.items() if key in names}
    named["rest"] = {key: value for key, value in tree.items() if key not in names}
    for key, fold in inner:
        if key in named:
            named[key] = fold(named[key])
    return named


def _fold_closed(inner: list[tuple[str, Fold]], tree: object) -> object:
    if not isinstance(tree, dict):
        return tree
    found = tree
    for key, fold in inner:
        if key in tree:
            if found is tree:
                found = dict(tree)
            found[key] = fold(tree[key])
    return found


def _fold_list(fold: Fold, tree: object) -> object:
    return [fold(value) for value in tree] if isinstance(tree, list) else tree


def _fold_map(fold: Fold, tree: object) -> object:
    if not isinstance(tree, dict):
        return tree
    return {key: fold(value) for key, value in tree.items()}
