"""What a group of devices publishes: names, kinds and values, by shelf and domain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from dibs.lint.published import Published
from dibs.lint.reads import Shelf
from dibs.model.objects import DeviceAttribute
from dibs.values.quantity import Quantity

# A name as expressions reach it: shelf, domain, identifier.
Name = tuple[Shelf, str, str]
Value = int | bool | str | Quantity


@dataclass(frozen=True, slots=True)
class Seen:
    """All values of one name. `kinds` are those of the API: int, string, versions, quantity …"""

    kinds: frozenset[str]
    values: tuple[Value, ...]

    @property
    def quantities(self) -> list[Quantity]:
        return [value for value in self.values if isinstance(value, Quantity)]


@dataclass(frozen=True, slots=True)
class Catalog:
    names: Mapping[Name, Seen] = field(default_factory=dict)

    def find(self, shelf: Shelf, domain: str, name: str) -> Seen | None:
        return self.names.get((shelf, domain, name))

    def domains(self) -> set[str]:
        return {domain for _, domain, _ in self.names}

    def called(self, name: str, shelf: Shelf | None = None) -> list[Name]:
        """Return where else a name is published, in a stable order."""
        return sorted(each for each in self.names if each[2] == name and shelf in (None, each[0]))

    def identifiers(self, shelf: Shelf, domain: str) -> list[str]:
        return sorted(each[2] for each in self.names if each[:2] == (shelf, domain))

    def texts(self, domain: str) -> dict[str, list[str]]:
        """Return every string value of a domain with the attributes that have it."""
        found: dict[str, list[str]] = {}
        for name in self.identifiers("attributes", domain):
            seen = self.names["attributes", domain, name]
            if "string" in seen.kinds:
                for value in seen.values:
                    found.setdefault(str(value), []).append(name)
        return found


NOTHING = Catalog()


def of(devices: Iterable[Published]) -> Catalog:
    kinds: dict[Name, set[str]] = {}
    values: dict[Name, dict[Value, None]] = {}
    for device in devices:
        for name, kind, found in names_of(device):
            kinds.setdefault(name, set()).add(kind)
            values.setdefault(name, {}).update(dict.fromkeys(found))
    return Catalog({name: Seen(frozenset(kinds[name]), tuple(values[name])) for name in kinds})


def names_of(device: Published) -> Iterator[tuple[Name, str, tuple[Value, ...]]]:
    """Yield every name of a device with the kind and the values of what stands there."""
    for key, attribute in device.device.attributes.items():
        domain, name = split(key, device.id.driver)
        kind, found = content(attribute)
        if kind:
            yield ("attributes", domain, name), kind, found
    for key, capacity in device.device.capacity.items():
        domain, name = split(key, device.id.driver)
        if capacity.value is not None:
            yield ("capacity", domain, name), "quantity", (capacity.value,)


def split(key: str, driver: str) -> tuple[str, str]:
    """Return domain and identifier; a bare name is in the driver's domain (KEP-4381)."""
    domain, slash, name = key.partition("/")
    return (domain, name) if slash else (driver, key)


def content(attribute: DeviceAttribute) -> tuple[str, tuple[Value, ...]]:
    """Return the kind of an attribute and its value, or the values of its list."""
    match attribute:
        case DeviceAttribute(int_=int(value)):
            return "int", (value,)
        case DeviceAttribute(bool_=bool(value)):
            return "bool", (value,)
        case DeviceAttribute(string=str(value)):
            return "string", (value,)
        case DeviceAttribute(version=str(value)):
            return "version", (value,)
        case DeviceAttribute(ints=tuple(values)):
            return "ints", values
        case DeviceAttribute(bools=tuple(values)):
            return "bools", values
        case DeviceAttribute(strings=tuple(values)):
            return "strings", values
        case DeviceAttribute(versions=tuple(values)):
            return "versions", values
    return "", ()
