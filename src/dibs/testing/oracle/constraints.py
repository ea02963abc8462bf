"""When devices of one claim go together: all alike, or all different in one attribute.

Follows KEP-4381 (matchAttribute), KEP-5075 (distinctAttribute) and KEP-5491 (lists as sets).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from dibs.cel.faults import CompileError
from dibs.model.objects import Device, DeviceAttribute, DeviceConstraint
from dibs.request import derived
from dibs.supply.identity import DeviceId
from dibs.testing.oracle.pools import Candidate, Fatal
from dibs.testing.oracle.wishes import Ask
from dibs.values.mistake import Mistake


def concerns(constraint: DeviceConstraint, ask: Ask) -> bool:
    named = constraint.requests
    return not named or ask.request in named or ask.name in named


def holds(
    constraint: DeviceConstraint,
    ask: Ask,
    candidate: Candidate,
    others: list[tuple[Ask, Candidate]],
    lists: bool,
) -> bool:
    """Whether the device goes with the others; without the attribute it goes with none.

    Raises Fatal for a derived attribute that fails on the device (KEP-6080).
    """
    must_match = constraint.match_attribute is not None
    name = constraint.match_attribute or constraint.distinct_attribute or ""
    value = _attribute(ask, candidate, name)
    if value is None or (lists and not _values(value)[1]):
        return False
    earlier = [_attribute(of, other, name) or DeviceAttribute() for of, other in others]
    agree = _sets_agree if lists else _scalars_agree
    return agree(value, earlier, must_match)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A device as expressions want to be asked about it."""

    id: DeviceId
    device: Device


def _attribute(ask: Ask, candidate: Candidate, name: str) -> DeviceAttribute | None:
    """A derived attribute of the ask comes before a published one."""
    if name not in ask.derived:
        return _lookup(candidate, name)
    try:
        derivation = derived.compile(ask.derived[name])
        return derivation.attribute(_Asked(DeviceId(*candidate.key), candidate.device))
    except (CompileError, Mistake) as error:
        raise Fatal(f"derived attribute {name}: {error}") from error


def _lookup(candidate: Candidate, name: str) -> DeviceAttribute | None:
    """By qualified name, or by the bare one where the domain is the driver's."""
    attributes = candidate.device.attributes
    if name in attributes:
        return attributes[name]
    domain, _, bare = name.partition("/")
    return attributes.get(bare) if domain == candidate.slice.spec.driver else None


def _values(attribute: DeviceAttribute) -> tuple[str, tuple[object, ...], bool]:
    """The type, the values, and whether it is a list."""
    for kind, scalar, several in (
        ("int", attribute.int_, attribute.ints),
        ("bool", attribute.bool_, attribute.bools),
        ("string", attribute.string, attribute.strings),
        ("version", attribute.version, attribute.versions),
    ):
        if scalar is not None:
            return kind, (scalar,), False
        if several is not None:
            return kind, tuple(several), True
    return "", (), True


def _scalars_agree(
    value: DeviceAttribute, earlier: list[DeviceAttribute], must_match: bool
) -> bool:
    """Without the feature a list is of no known type: accepted first, never after others."""
    if not earlier:
        return True
    kind, values, is_list = _values(value)
    if is_list:
        return False
    others = [_values(each) for each in earlier]
    if must_match:
        return others[0] == (kind, values, False)
    return (kind, values, False) not in others


def _sets_agree(value: DeviceAttribute, earlier: list[DeviceAttribute], must_match: bool) -> bool:
    kind, values, _ = _values(value)
    others = [_values(each) for each in earlier]
    if must_match:
        if any(other != kind for other, _, _ in others):
            return False
        sets = [set(each) for _, each, _ in others] + [set(values)]
        return not others or bool(reduce(set.__and__, sets))
    return all(other != kind or not set(each) & set(values) for other, each, _ in others)
