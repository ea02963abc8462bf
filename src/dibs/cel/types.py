"""The static types of CEL, as the checker sees them.

A type is a name and its parameters. `dyn` unifies with everything; `any` is what a device
attribute is declared as. Type parameters (A, B, K, V) occur only in overload declarations.
Source: the CEL specification, "gradual type checking".
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Type:
    """`name` is what error texts print; `params` are the element, key and value types."""

    name: str
    params: tuple[Type, ...] = ()
    is_parameter: bool = False

    def __str__(self) -> str:
        if not self.params:
            return self.name
        return f"{self.name}({', '.join(map(str, self.params))})"


BOOL = Type("bool")
INT = Type("int")
UINT = Type("uint")
DOUBLE = Type("double")
STRING = Type("string")
BYTES = Type("bytes")
NULL = Type("null")
DYN = Type("dyn")
ANY = Type("any")
TIMESTAMP = Type("timestamp")
DURATION = Type("duration")

QUANTITY = Type("kubernetes.Quantity")
SEMVER = Type("kubernetes.Semver")
URL = Type("kubernetes.URL")
IP = Type("net.IP")
CIDR = Type("net.CIDR")
NAMED_FORMAT = Type("kubernetes.NamedFormat")

A = Type("A", is_parameter=True)
B = Type("B", is_parameter=True)
K = Type("K", is_parameter=True)
V = Type("V", is_parameter=True)


def list_of(element: Type) -> Type:
    return Type("list", (element,))


def map_of(key: Type, value: Type) -> Type:
    return Type("map", (key, value))


def optional_of(element: Type) -> Type:
    return Type("optional_type", (element,))


def type_of(instance: Type) -> Type:
    return Type("type", (instance,))
