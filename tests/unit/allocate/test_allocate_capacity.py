"""How much a share takes: policies, rounding, and what no share may take (KEP-5075)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.allocate import capacity
from dibs.model.objects import (
    CapacityRequestPolicy,
    CapacityRequestPolicyRange,
    DeviceCapacity,
)
from dibs.values.quantity import Quantity


def q(text: str | None) -> Quantity | None:
    return None if text is None else Quantity.parse(text)


def ranged(
    default: str, least: str, most: str | None = None, step: str | None = None
) -> CapacityRequestPolicy:
    limits = CapacityRequestPolicyRange(min=q(least), max=q(most), step=q(step))
    return CapacityRequestPolicy(default=q(default), valid_range=limits)


def listed(default: str, *values: str) -> CapacityRequestPolicy:
    return CapacityRequestPolicy(
        default=q(default), valid_values=tuple(Quantity.parse(value) for value in values)
    )


@pytest.mark.parametrize(
    ("policy", "wanted", "expected"),
    [
        (None, None, "10"),
        (None, "3", "3"),
        (None, "11", "m is 10, 11 wanted"),
        (CapacityRequestPolicy(default=Quantity.of(2)), None, "2"),
        (CapacityRequestPolicy(default=Quantity.of(2)), "3", "3"),
        (CapacityRequestPolicy(default=Quantity.of(12)), None, "m is 10, 12 wanted by default"),
        (ranged("2", "2"), "1", "2"),
        (ranged("2", "2"), "5", "5"),
        (ranged("2", "2", "6"), "7", "m: at most 6 a share, 7 wanted"),
        (ranged("2", "2", "8", "3"), "3", "5"),
        (ranged("2", "2", "8", "3"), "5", "5"),
        (ranged("2", "2", "8", "3"), "6", "8"),
        (
            ranged("2", "2", "8", "3"),
            "9",
            "m: at most 8 a share, 11 wanted (9 asked, in steps of 3 from 2)",
        ),
        (ranged("1", "1", None, "1"), "1500m", "2"),
        (ranged("500m", "500m", "2", "500m"), "700m", "1"),
        (ranged("0", "0"), None, "0"),
        (listed("2", "2", "5"), "3", "5"),
        (listed("2", "2", "5"), None, "2"),
        (listed("2", "2", "5"), "6", "m: at most 5 a share, 6 wanted"),
        (listed("1Ki", "1024", "2048"), "1000", "1024"),
    ],
)
def test_what_a_share_takes(
    policy: CapacityRequestPolicy | None, wanted: str | None, expected: str
) -> None:
    total = "10" if "Ki" not in str(policy) else "10Ki"
    there = {"m": DeviceCapacity(value=q(total), request_policy=policy)}
    asked = {} if wanted is None else {"m": Quantity.parse(wanted)}
    amounts, why = capacity.consumption(there, asked)
    if why:
        assert why == expected
    else:
        assert amounts == {"m": q(expected)}


def test_every_capacity_is_consumed_and_an_unknown_name_is_never_there() -> None:
    there = {"m": DeviceCapacity(value=q("10")), "n": DeviceCapacity(value=q("1"))}
    assert capacity.consumption(there, {"m": Quantity.of(1)})[0] == {"m": q("1"), "n": q("1")}
    assert (
        capacity.consumption(there, {"d/m": Quantity.of(1)})[1] == "has no capacity d/m (1 wanted)"
    )


@given(
    least=st.integers(0, 50),
    step=st.integers(1, 9),
    wanted=st.integers(0, 300),
)
def test_rounding_gives_the_smallest_valid_amount_that_is_enough(
    least: int, step: int, wanted: int
) -> None:
    policy = ranged(str(least), str(least), None, str(step))
    there = {"m": DeviceCapacity(value=Quantity.of(1000), request_policy=policy)}
    amounts, why = capacity.consumption(there, {"m": Quantity.of(wanted)})
    assert not why
    valid = [least + step * times for times in range(400)]
    assert amounts["m"] == Quantity.of(min(each for each in valid if each >= wanted))


def test_what_is_used_and_what_is_wanted_must_fit_in_the_room() -> None:
    four = {"m": Quantity.parse("4Gi")}
    room = capacity.room({"m": DeviceCapacity(value=q("10Gi"))}, four)
    assert room == {"m": q("6Gi")}
    assert capacity.shortage(room, four) == ""
    assert capacity.shortage(room, four, four) == "m"
