"""One device as an expression sees it: driver, attributes and capacity by domain, a flag.

The whole device is converted before anything is evaluated, so one broken attribute is an error
for every expression, also for `true` (KEP-4381). A view is made once per device and kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from dibs.cel.runtime import DefaultMap, EvaluationError, Map, Quantity, Value
from dibs.model.objects import Device, DeviceAttribute
from dibs.values.version import Semver

# Views of so many devices are kept, the least recently used go first.
_MOST_VIEWS = 20_000


@dataclass(frozen=True, slots=True)
class DeviceView:
    """What `device` is at evaluation; with a `fault` nothing can be evaluated on this device."""

    activation: Mapping[str, Value]
    fault: str = ""

    @classmethod
    def of(cls, driver: str, device: Device) -> DeviceView:
        """The view of a device of `driver`. Never raises: a broken attribute is its `fault`."""
        return _view(driver, _Same(device))

    @property
    def device(self) -> Map:
        found = self.activation["device"]
        assert isinstance(found, Map)
        return found


class _Same:
    """A device as the key of a cache: devices are the same when they are one object."""

    __slots__ = ("device",)

    def __init__(self, device: Device) -> None:
        self.device = device

    def __hash__(self) -> int:
        return id(self.device)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.device is other.device


@lru_cache(maxsize=_MOST_VIEWS)
def _view(driver: str, same: _Same) -> DeviceView:
    device = same.device
    fault = ""
    values: dict[str, Value] = {}
    for name, attribute in device.attributes.items():
        try:
            values[name] = value_of(attribute)
        except EvaluationError as error:
            fault = fault or f"attribute {name}: {error.text}"
    capacity = {
        name: each.value if each.value is not None else Quantity.parse("0")
        for name, each in device.capacity.items()
    }
    seen = Map(
        driver=driver,
        attributes=by_domain(driver, values),
        capacity=by_domain(driver, capacity),
        allowMultipleAllocations=bool(device.allow_multiple_allocations),
    )
    return DeviceView({"device": seen}, fault)


def value_of(attribute: DeviceAttribute) -> Value:
    """The value of an attribute. Raises EvaluationError when it has none, or a bad version.

    If several fields are set, which the API forbids, the first in upstream's order counts.
    """
    for items in (attribute.ints, attribute.bools, attribute.strings):
        if items is not None:
            return tuple(items)
    if attribute.versions is not None:
        return tuple(_version(text) for text in attribute.versions)
    for value in (attribute.int_, attribute.bool_, attribute.string):
        if value is not None:
            return value
    if attribute.version is not None:
        return _version(attribute.version)
    raise EvaluationError("unsupported attribute value")


@lru_cache(maxsize=4096)
def _version(text: str) -> Semver:
    try:
        return Semver.parse(text)
    except ValueError as error:
        raise EvaluationError(f"parse semantic version: {error}") from None


def by_domain(driver: str, values: Mapping[str, Value]) -> DefaultMap:
    """Sort `domain/id` and bare `id` (the driver's own) into a map of maps.

    Published under both spellings, the qualified one counts; upstream takes either at random.
    """
    domains = DefaultMap()
    for name, value in values.items():
        domain, slash, id = name.partition("/")
        if not slash:
            domain, id = driver, name
            if f"{driver}/{name}" in values:
                continue
        domains.setdefault(domain, Map())[id] = value
    return domains
