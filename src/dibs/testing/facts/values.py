"""What a constraint compares of a device: a set of values, scalars being sets of one.

KEP-4381 (which name is meant), KEP-5491 (lists), KEP-6080 (derived before published).
"""

from __future__ import annotations

from collections.abc import Mapping

from dibs.model.objects import DeviceAttribute, DeviceConstraint
from dibs.request import derived
from dibs.testing.facts.tables import Spot, Value


def compared(
    constraint: DeviceConstraint, derivations: Mapping[str, str], spot: Spot
) -> frozenset[Value]:
    """The set of values that is compared; an empty one is no value at all."""
    name = constraint.match_attribute or constraint.distinct_attribute or ""
    expression = derivations.get(name)
    if expression is not None:
        return _set_of(derived.compile(expression).attribute(spot))
    domain, _, bare = name.partition("/")
    attributes = spot.device.attributes
    published = attributes.get(name)
    if published is None and domain == spot.id.driver:
        published = attributes.get(bare)
    return frozenset() if published is None else _set_of(published)


def _set_of(attribute: DeviceAttribute) -> frozenset[Value]:
    for kind, scalar, items in (
        ("int", attribute.int_, attribute.ints),
        ("bool", attribute.bool_, attribute.bools),
        ("string", attribute.string, attribute.strings),
        ("version", attribute.version, attribute.versions),
    ):
        if scalar is not None:
            return frozenset([(kind, scalar)])
        if items is not None:
            return frozenset((kind, each) for each in items)
    return frozenset()
