"""Laws of validation: it never raises, whatever stands in the fields; what is unchanged stays good.

Objects are drawn field by field from the types of the model, so a new field is covered at once.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from dibs.model import kinds, objects, rules
from dibs.model.kinds import Known
from dibs.values.quantity import Quantity

TEXTS = (
    "", "a", "A", "gpu-0", "a/b", "a/b/c", "gpu.example.com", "gpu.example.com/x", "\ud800", "\n",
    "1.2.3", "In", "Exists", "Equal", "All", "ExactCount", "None", "10.0.0.5/24", "::/0", "é" * 70,
    "x" * 300, "0f0e0d0c-0000-4000-8000-000000000000", "cpu", "metadata.name", "*",
)  # fmt: skip
AMOUNTS = tuple(
    Quantity.parse(text)
    for text in ("0", "1", "-1", "1Gi", "500m", "1n", "1e30", "1e100000000", "-1e2147483647")
)
NUMBERS = (0, 1, -1, 32, 2**31, -(2**63), 2**63 - 1)
SCALARS = (None, True, False, 1.5, float("nan"), *NUMBERS, *TEXTS)


def drawn(wanted: Any, chance: Random) -> Any:
    """Any value of a type of the model, most of its fields left at their default."""
    origin, parts = typing.get_origin(wanted), typing.get_args(wanted)
    match wanted:
        case _ if wanted in PLAIN:
            return chance.choice(PLAIN[wanted])
        case _ if wanted is Any:
            return tree(chance)
        case _ if origin in (typing.Union, types.UnionType):
            return drawn(chance.choice(parts), chance)
        case _ if origin is tuple:
            return tuple(drawn(parts[0], chance) for _ in range(chance.choice((0, 1, 2, 3))))
        case _ if origin is Mapping:
            keys = chance.sample(TEXTS, chance.choice((0, 1, 2, 3)))
            return {key: drawn(parts[1], chance) for key in keys}
    return wanted(
        **{
            name: drawn(hint, chance)
            for name, hint in fields(wanted).items()
            if name != "rest" and chance.random() < 0.7
        }
    )


@cache
def fields(struct: type) -> dict[str, Any]:
    return typing.get_type_hints(struct)


def tree(chance: Random) -> Any:
    match chance.randrange(4):
        case 0:
            return [tree(chance) for _ in range(chance.randrange(3))]
        case 1:
            return {chance.choice(TEXTS): tree(chance) for _ in range(chance.randrange(3))}
    return chance.choice(SCALARS)


PLAIN: dict[Any, tuple[Any, ...]] = {
    str: TEXTS,
    int: NUMBERS,
    bool: (True, False),
    type(None): (None,),
    Quantity: AMOUNTS,
}
STRUCTS = {kind.name: kind.struct for kind in kinds.KINDS}
# A seed rather than Hypothesis' own choices: an object has hundreds of fields.
chances = some.integers(0, 2**32).map(Random)
CONTEXT = rules.Context(
    compile_selector={"a": rules.SelectorFault(rules.FaultType.INVALID, "no")}.get,
    derived_cost=lambda text: len(text) * 1000,
    admin_access={"a": True, "A": False}.get,
)


@pytest.mark.parametrize("name", STRUCTS)
@given(chance=chances)
def test_validation_never_raises(name: str, chance: Random) -> None:
    item: Known = drawn(STRUCTS[name], chance)
    old: Known = drawn(STRUCTS[name], chance)
    found = (
        *rules.validate(item, context=CONTEXT),
        *rules.validate(item, old, context=CONTEXT),
        *rules.validate_status(item, old, context=CONTEXT),
        *rules.validate_as_found(item, context=CONTEXT),
    )
    for fault in found:
        assert fault.path
        assert str(fault).startswith(f"{fault.path}: ")


@pytest.mark.parametrize("name", ["ResourceClaim", "ResourceClaimTemplate"])
@given(chance=chances)
def test_an_unchanged_spec_is_not_checked_again(name: str, chance: Random) -> None:
    item: Known = drawn(STRUCTS[name], chance)
    assert not [fault for fault in rules.validate(item, item) if fault.path.startswith("spec")]


@given(chance=chances)
def test_faults_are_said_once(chance: Random) -> None:
    found = rules.validate_as_found(drawn(STRUCTS["ResourceSlice"], chance))
    assert len({str(fault) for fault in found}) == len(found)


def test_a_deep_tree_is_refused_and_breaks_nothing() -> None:
    tree: Any = {}
    for _ in range(100_000):
        tree = {"a": tree}
    claim = claim_with(tree)
    (fault,) = rules.validate(claim)
    assert str(fault) == (
        'spec.devices.config[0].opaque.parameters: Invalid value: "<value omitted>": '
        "must not be nested more than 200 levels"
    )
    assert [each.detail for each in rules.validate(claim, claim_with({"a": 1}))] == [
        "field is immutable"
    ]


def claim_with(parameters: Any) -> Known:
    opaque = objects.OpaqueDeviceConfiguration(driver="a", parameters=parameters)
    config = (objects.DeviceClaimConfiguration(opaque=opaque),)
    return objects.ResourceClaim(
        metadata=objects.ObjectMeta(name="a"),
        spec=objects.ResourceClaimSpec(devices=objects.DeviceClaim(config=config)),
    )
