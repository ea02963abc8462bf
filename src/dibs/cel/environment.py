"""What an expression may name: variables, functions, types; and how large values are taken to be.

An environment is built once and shared by every compilation. It knows no devices: the variable
`device` comes from `request.selectors`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dibs.cel import control, messages, types
from dibs.cel.declare import Library, Overload
from dibs.cel.types import Type

_NO_SHAPES: Mapping[str, Shape] = {}


@dataclass(frozen=True, slots=True)
class Shape:
    """How large a value is assumed to be when costs are estimated, and what is inside it.

    `size` is the most characters, elements or entries; `fields` what a name reaches, `key` and
    `item` what iteration and `[k]` reach. With `names_items`, any other name reaches an item too.
    """

    size: int
    fields: Mapping[str, Shape] = field(default_factory=lambda: _NO_SHAPES)
    key: Shape | None = None
    item: Shape | None = None
    names_items: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """A name the caller gives a value to at evaluation."""

    name: str
    type: Type
    shape: Shape


@dataclass(frozen=True, slots=True)
class Environment:
    """Everything the checker looks up by name."""

    variables: Mapping[str, Variable]
    functions: Mapping[str, tuple[Overload, ...]]
    # Object types: name → fields. `device` is of such a type.
    objects: Mapping[str, Mapping[str, Type]]
    # Type names that are values: `int`, `net.IP`.
    type_names: Mapping[str, Type]

    @classmethod
    def of(
        cls,
        libraries: Iterable[Library],
        variables: Iterable[Variable] = (),
        objects: Mapping[str, Mapping[str, Type]] | None = None,
    ) -> Environment:
        functions: dict[str, list[Overload]] = {}
        for library in (control.LIBRARY, *libraries):
            for overload in library.overloads:
                functions.setdefault(overload.function, []).append(overload)
        known = {**messages.FIELDS, **(objects or {})}
        return cls(
            {variable.name: variable for variable in variables},
            {name: tuple(overloads) for name, overloads in functions.items()},
            known,
            {**{name: Type(name) for name in known}, **_TYPE_NAMES},
        )


_TYPE_NAMES: Mapping[str, Type] = {
    "bool": types.BOOL,
    "int": types.INT,
    "uint": types.UINT,
    "double": types.DOUBLE,
    "string": types.STRING,
    "bytes": types.BYTES,
    "null_type": types.NULL,
    "list": types.list_of(types.DYN),
    "map": types.map_of(types.DYN, types.DYN),
    "type": Type("type"),
    "optional_type": types.optional_of(types.DYN),
    "google.protobuf.Timestamp": types.TIMESTAMP,
    "google.protobuf.Duration": types.DURATION,
    **{
        each.name: each
        for each in (
            types.QUANTITY,
            types.SEMVER,
            types.URL,
            types.IP,
            types.CIDR,
            types.NAMED_FORMAT,
        )
    },
}
