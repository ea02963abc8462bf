"""matchAttribute and distinctAttribute: what a constraint has seen, and what it lets in.

Every value is read as a set of tagged values, a scalar as a set of one (KEP-5491). match keeps
the intersection of all devices, which must not become empty; distinct the union, from which each
next device must be disjoint. Values of different types never meet, as their tags differ.
Both only get stricter with each device, so a violation is final.
"""

from __future__ import annotations

from dibs.allocate.draft import Values
from dibs.model.objects import DeviceAttribute
from dibs.request.asks import Constraint
from dibs.supply.pools import Candidate

NO_VALUES: Values = frozenset()


def values_of(candidate: Candidate, attribute: str, with_lists: bool) -> Values | None:
    """The device's values of a qualified attribute; None when it hasn't got it.

    A list, while lists are off, and a type we don't know are no values: an empty set.
    """
    attributes = candidate.device.attributes
    found = attributes.get(attribute)
    if found is None:
        # A driver may leave out its own name (KEP-4381, "qualified names").
        domain, _, name = attribute.partition("/")
        found = attributes.get(name) if domain == candidate.id.driver else None
    return None if found is None else of_attribute(found, with_lists)


def is_met(constraint: Constraint, seen: Values | None, values: Values) -> bool:
    """Whether a device with these values may join those seen; None is: none yet."""
    if seen is None:
        return True
    if constraint.kind == "match":
        return not seen.isdisjoint(values)
    return bool(values) and seen.isdisjoint(values)


def joined(constraint: Constraint, seen: Values | None, values: Values) -> Values:
    if seen is None:
        return values
    return seen & values if constraint.kind == "match" else seen | values


def text_of(values: Values) -> str:
    """For people: the value, or the values in braces."""
    texts = sorted(str(value) for _, value in values)
    return texts[0] if len(texts) == 1 else "{" + ", ".join(texts) + "}"


def of_attribute(attribute: DeviceAttribute, with_lists: bool) -> Values:
    """The values of an attribute; a list, while lists are off, has none."""
    scalars = (
        ("int", attribute.int_),
        ("bool", attribute.bool_),
        ("string", attribute.string),
        ("version", attribute.version),
    )
    for kind, scalar in scalars:
        if scalar is not None:
            return frozenset([(kind, scalar)])
    lists = (
        ("int", attribute.ints),
        ("bool", attribute.bools),
        ("string", attribute.strings),
        ("version", attribute.versions),
    )
    for kind, several in lists:
        if several is not None and with_lists:
            return frozenset((kind, each) for each in several)
    return NO_VALUES
