"""What a value of the API looks like, how lists and maps of it merge, and how it is numbered.

Nouns only. `reading` makes them from the tables; patches, OpenAPI, validation and protobuf walk
them. Two structs that refer to each other make a cycle, so records are compared by identity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Scalar:
    """`name`: string bool int32 int64 double bytes Quantity Time MicroTime IntOrString
    Raw FieldsV1.

    Raw is any JSON object, FieldsV1 a set of fields as managedFields write it.
    """

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class ListOf:
    """`kind` says who may own what: the whole list, each value, or each item by its keys.

    `is_boxed`: protobuf puts the list in a message of its own.
    """

    item: Shape
    kind: Literal["atomic", "set", "map"] = "atomic"
    keys: tuple[str, ...] = ()
    is_boxed: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class MapOf:
    """Keys are the user's."""

    item: Shape
    is_atomic: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """Keys are the API's. `name` is the one that OpenAPI gives it (io.k8s.api.core.v1.Pod).

    `fields` are all that JSON shows, those of embedded structs among them; `parts` are the fields
    of protobuf, where embedded structs are messages. A kind has `group_version` and `kind`.
    """

    name: str
    doc: str = ""
    is_atomic: bool = False
    group_version: str | None = None
    kind: str = ""
    fields: dict[str, Field] = field(default_factory=dict)
    parts: list[Field] = field(default_factory=list)


Shape = Scalar | ListOf | MapOf | Record


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """`number` is protobuf's, None where there is none; an embedded struct has no name.

    A list or map that `is_always` written is null when it is empty, as is a required one.

    A zero that is not `is_pointer` is the same as absence. `merge_key` and `strategies` (merge,
    retainKeys) are those of strategic merge patches, where lists without them are replaced.
    """

    name: str
    number: int | None
    shape: Shape
    is_pointer: bool = False
    is_required: bool = False
    is_atomic: bool = False
    is_always: bool = False
    default: object = None
    enum: tuple[str, ...] = ()
    strategies: tuple[str, ...] = ()
    merge_key: str = ""
    doc: str = ""


Kinds = Mapping[tuple[str, str], Record]
