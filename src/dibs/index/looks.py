"""What a test sees of a device, and whether the device passes it.

A test says yes or no from its *look* at a device alone, so equal looks have one answer. Tests are
necessary conditions for an ask: what can't be told without the node, or without what else is
picked, passes. What selectors, taints and capacities mean is decided in `request`, `supply` and
`allocate`.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from dibs.allocate import capacity, constraints
from dibs.allocate.draft import Values
from dibs.cel import reads
from dibs.cel.reads import Read
from dibs.cel.runtime import EvaluationError
from dibs.model.objects import DeviceAttribute, DeviceCapacity, DeviceToleration
from dibs.request import views
from dibs.request.selectors import Selector
from dibs.supply import taints
from dibs.supply.published import Candidate
from dibs.values.mistake import Mistake
from dibs.values.quantity import Quantity


class Look(Protocol):
    """Equal for tests that look at the same of a device."""

    def __hash__(self) -> int: ...

    def at(self, candidate: Candidate) -> Hashable: ...


class Test(Protocol):
    """Equal for tests that say the same."""

    def __hash__(self) -> int: ...

    @property
    def look(self) -> Look: ...

    def passes(self, candidate: Candidate) -> bool | None:
        """None when the test fails on the device, which may be fatal for the whole attempt."""


class Pin(NamedTuple):
    """A coarser look, and what must be seen in it by a device that passes."""

    look: Look
    seen: frozenset[Hashable]


@dataclass(frozen=True, slots=True)
class Nothing:
    """Sees no difference between devices."""

    def at(self, candidate: Candidate) -> Hashable:
        return None


@dataclass(frozen=True, slots=True)
class Whatever:
    """Any device will do."""

    look: Nothing = Nothing()

    def passes(self, candidate: Candidate) -> bool | None:
        return True


# --- selectors -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Attributes:
    """The attributes and capacities that selectors with these reads look at, as published.

    Finer than needed where one value is written in several ways. Any broken attribute counts: it
    is an error for every selector (KEP-4381).
    """

    reads: tuple[Read, ...]

    def at(self, candidate: Candidate) -> Hashable:
        if _is_broken(candidate):
            return candidate.id
        return tuple([_seen(candidate, read) for read in self.reads])


@dataclass(frozen=True, slots=True)
class Selecting:
    """A selector, compiled; `reads` are in order."""

    expression: str
    selector: Selector
    look: Attributes

    @classmethod
    def of(cls, expression: str) -> Selecting:
        """Raises Mistake for an expression that doesn't compile."""
        selector = Selector.compile(expression)
        return cls(expression, selector, Attributes(tuple(sorted(selector.program.reads))))

    def __hash__(self) -> int:
        return hash(self.expression)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Selecting) and self.expression == other.expression

    def passes(self, candidate: Candidate) -> bool | None:
        try:
            return self.selector.matches(candidate)
        except Mistake:
            return None


@dataclass(frozen=True, slots=True)
class Uncompiled:
    """A selector that can't be compiled: it fails on every device."""

    expression: str
    look: Nothing = Nothing()

    def passes(self, candidate: Candidate) -> bool | None:
        return None


def selecting(expression: str) -> Test:
    try:
        return Selecting.of(expression)
    except Mistake:
        return Uncompiled(expression)


def pin_of(test: Test) -> Pin | None:
    """An attribute that says which few devices can pass; without one every device has to be asked.

    As in `device.attributes["d"].uuid == "x"`, alone or joined with more by &&.
    """
    if not isinstance(test, Selecting):
        return None
    for read, texts in reads.pins(test.selector.program.root):
        if len(read) == 4 and read[:2] == ("device", "attributes"):
            seen = frozenset((DeviceAttribute(string=text),) for text in texts)
            return Pin(Attributes((read,)), seen)
    return None


def _seen(candidate: Candidate, read: Read) -> Hashable:
    """What is published under a path such as ("device", "attributes", domain, name)."""
    device = candidate.device
    match read:
        case ("device", "driver"):
            return candidate.id.driver
        case ("device", "attributes", domain, name):
            own = device.attributes.get(f"{domain}/{name}")
            if own is None and domain == candidate.id.driver:
                return device.attributes.get(name)
            return own
        case ("device", "capacity", domain, name):
            found = device.capacity.get(f"{domain}/{name}")
            if found is None and domain == candidate.id.driver:
                found = device.capacity.get(name)
            return None if found is None else _amount(found)
        case ("device", "allowMultipleAllocations"):
            return bool(device.allow_multiple_allocations)
    # A map as a whole, because a key is computed.
    return (
        candidate.id.driver,
        tuple(device.attributes.items()),
        tuple((name, _amount(each)) for name, each in device.capacity.items()),
        bool(device.allow_multiple_allocations),
    )


def _amount(found: DeviceCapacity) -> Hashable:
    # Equal amounts can differ in isInteger(), and in how they are written.
    value = found.value
    return () if value is None else (value.as_written, value.is_integer())


def _is_broken(candidate: Candidate) -> bool:
    """Whether an attribute has no value, or a version that can't be read."""
    for attribute in candidate.device.attributes.values():
        if attribute.string is None and attribute.int_ is None and attribute.bool_ is None:
            try:
                views.value_of(attribute)
            except EvaluationError:
                return True
    return False


@dataclass(frozen=True, slots=True)
class Sharing:
    """Whether a device is given in shares."""

    def at(self, candidate: Candidate) -> Hashable:
        return candidate.is_shareable


@dataclass(frozen=True, slots=True)
class Shareable:
    """KEP-5075."""

    look: Sharing = Sharing()

    def passes(self, candidate: Candidate) -> bool | None:
        return candidate.is_shareable


@dataclass(frozen=True, slots=True)
class Compared:
    """The values by which constraints compare devices; None for one that hasn't the attribute."""

    attribute: str
    with_lists: bool

    def at(self, candidate: Candidate) -> Values | None:
        return constraints.values_of(candidate, self.attribute, self.with_lists)


# --- taints and capacities -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Taints:
    """The taints of a device that block."""

    def at(self, candidate: Candidate) -> Hashable:
        return tuple([(each.key, each.value, each.effect) for each in candidate.blocking])


@dataclass(frozen=True, slots=True)
class Tolerating:
    """KEP-5055."""

    tolerations: tuple[DeviceToleration, ...]
    look: Taints = Taints()

    def passes(self, candidate: Candidate) -> bool | None:
        return taints.first_untolerated(candidate.blocking, self.tolerations) is None


@dataclass(frozen=True, slots=True)
class Capacities:
    """What a device has to give in shares, by which policies; one that has meters is left out."""

    def at(self, candidate: Candidate) -> Hashable:
        if candidate.meters:
            return None
        return tuple(candidate.device.capacity.items())


@dataclass(frozen=True, slots=True)
class Giving:
    """Whether the device, with nothing of it taken, could serve the capacity (KEP-5075)."""

    wanted: tuple[tuple[str, Quantity], ...]
    in_milli: bool
    look: Capacities = Capacities()

    def passes(self, candidate: Candidate) -> bool | None:
        if candidate.meters:
            return True
        published, wanted = candidate.device.capacity, dict(self.wanted)
        if capacity.unmeasurable(published, wanted, in_milli=self.in_milli):
            return None
        return not capacity.consumption(published, wanted, in_milli=self.in_milli)[1]
