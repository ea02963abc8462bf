"""What values are called and how they look in texts: type names, Go class names, `no such key: k`.

Which Python class belongs to which static type is said here once, in `CLASSES`; the compiler
dispatches on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Final

from dibs.cel.runtime import times
from dibs.cel.runtime.values import (
    CIDR,
    IP,
    URL,
    DefaultMap,
    Duration,
    Map,
    NamedFormat,
    Optional,
    Quantity,
    Semver,
    Timestamp,
    TypeValue,
    UInt,
    Value,
    keys_of,
)
from dibs.cel.types import Type

# Python class → (CEL name as texts have it, name of the Go class in "expected iterable type").
_NAMES: Final[Mapping[type, tuple[str, str]]] = {
    bool: ("bool", "types.Bool"),
    int: ("int", "types.Int"),
    UInt: ("uint", "types.Uint"),
    float: ("double", "types.Double"),
    str: ("string", "types.String"),
    bytes: ("bytes", "types.Bytes"),
    type(None): ("null_type", "types.Null"),
    tuple: ("list", "*types.baseList"),
    Map: ("map", "*types.baseMap"),
    DefaultMap: ("map", "*types.baseMap"),
    TypeValue: ("type", "*types.Type"),
    Optional: ("optional_type", "*types.Optional"),
    Timestamp: ("google.protobuf.Timestamp", "types.Timestamp"),
    Duration: ("google.protobuf.Duration", "types.Duration"),
    Quantity: ("kubernetes.Quantity", "cel.Quantity"),
    Semver: ("kubernetes.Semver", "cel.Semver"),
    URL: ("kubernetes.URL", "cel.URL"),
    IP: ("net.IP", "cel.IP"),
    CIDR: ("net.CIDR", "cel.CIDR"),
    NamedFormat: ("kubernetes.NamedFormat", "*cel.Format"),
}

# Static type name (`cel/types.py`) → the classes of its values. Missing: anything fits (dyn, A).
CLASSES: Final[Mapping[str, frozenset[type]]] = {
    "bool": frozenset((bool,)),
    "int": frozenset((int,)),
    "uint": frozenset((UInt,)),
    "double": frozenset((float,)),
    "string": frozenset((str,)),
    "bytes": frozenset((bytes,)),
    "null": frozenset((type(None),)),
    "list": frozenset((tuple,)),
    "map": frozenset((Map, DefaultMap)),
    "type": frozenset((TypeValue,)),
    "optional_type": frozenset((Optional,)),
    "timestamp": frozenset((Timestamp,)),
    "duration": frozenset((Duration,)),
    "kubernetes.Quantity": frozenset((Quantity,)),
    "kubernetes.Semver": frozenset((Semver,)),
    "kubernetes.URL": frozenset((URL,)),
    "net.IP": frozenset((IP,)),
    "net.CIDR": frozenset((CIDR,)),
    "kubernetes.NamedFormat": frozenset((NamedFormat,)),
}


def fits(value: Value, expected: Type) -> bool:
    """Whether `value` may be handed to a parameter of that static type.

    As upstream, of a list or map only the first element is looked at. Lists of lists are taken
    for what they are: `flatten`, the one function of such, accepts flat lists.
    """
    classes = CLASSES.get(expected.name)
    if classes is None or expected.is_parameter:
        return True
    if type(value) not in classes:
        return False
    if not expected.params or not value or expected.name not in ("list", "map"):
        return True
    if expected.name == "map":
        key, item = next(zip(keys_of(value), value.values(), strict=True))
        return fits(key, expected.params[0]) and fits(item, expected.params[1])
    (element,) = expected.params
    return element.name == "list" or fits(value[0], element)


def type_name(value: Value) -> str:
    """The runtime type as error texts and `type(x)` have it: "int", "kubernetes.Semver"."""
    return _NAMES[type(value)][0]


def go_class(value: Value) -> str:
    """The name upstream prints where a list or map was expected: "types.Int"."""
    return _NAMES[type(value)][1]


def shown(value: Value, most: int = 200) -> str:
    """`value` for a person: as a literal where there is one, cut after about `most` characters."""
    text = _shown(value, 4)
    return text if len(text) <= most else text[: most - 1] + "…"


def _shown(value: Value, depth: int) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return '"' + value[:1000].replace("\\", "\\\\").replace('"', '\\"') + '"'
        case bytes():
            return repr(value[:1000])
        case UInt() | int() | float():
            return repr(value)
        case Timestamp():
            return f'timestamp("{times.timestamp_text(value)}")'
        case Duration():
            return f'duration("{times.duration_text(value)}")'
        case TypeValue():
            return value.name
        case Optional():
            return f"optional.of({_shown(value.value, depth)})" if value.present else repr(value)
        case Quantity():
            return f'quantity("{value}")'
        case Semver():
            return f'semver("{value}")'
        case IP():
            return f'ip("{value}")'
        case CIDR():
            return f'cidr("{value}")'
        case URL():
            return f'url("{value.text}")'
        case NamedFormat():
            return f"format.{value.name}()"
        case tuple() | dict() if not depth:
            return "…"
        case tuple():
            return f"[{', '.join(_shown(item, depth - 1) for item in value[:50])}]"
        case Map():
            pairs = islice(zip(keys_of(value), value.values(), strict=True), 50)
            inner = (f"{_shown(key, 1)}: {_shown(item, depth - 1)}" for key, item in pairs)
            return f"{{{', '.join(inner)}}}"
    return str(value)
