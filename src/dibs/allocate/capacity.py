"""What a request takes from a device's capacities, and whether that much is there (KEP-5075).

The amount is the same whoever holds the rest: it follows from the request and the device's
policy alone. Names are compared as written: unlike attributes, capacities have no default domain.
Source: CapacityRequestPolicy; arithmetic of KEP-5075 "rounding", fractions as the gate
DRAFractionalCapacityRange has them.
"""

from __future__ import annotations

from collections.abc import Mapping

from dibs.allocate.draft import NO_AMOUNTS, Amounts
from dibs.model.objects import CapacityRequestPolicy, CapacityRequestPolicyRange, DeviceCapacity
from dibs.values.quantity import BINARY_SI, Quantity

ZERO = Quantity.of(0)


def consumption(capacities: Mapping[str, DeviceCapacity], wanted: Amounts) -> tuple[Amounts, str]:
    """Return what a share takes of every capacity, and why the device could never give it.

    The text is empty when it could: then no amount breaks its policy or exceeds the total.
    """
    for name, amount in wanted.items():
        if name not in capacities:
            return NO_AMOUNTS, f"has no capacity {name} ({amount} wanted)"
    taken: dict[str, Quantity] = {}
    for name, capacity in capacities.items():
        value = capacity.value if capacity.value is not None else ZERO
        amount = _amount(value, capacity.request_policy, wanted.get(name))
        if why := _broken_policy(name, capacity.request_policy, amount):
            return NO_AMOUNTS, why
        if amount > value:
            return NO_AMOUNTS, f"{name} is {value}, {amount} wanted"
        taken[name] = amount
    return taken, ""


def room(capacities: Mapping[str, DeviceCapacity], held: Amounts) -> Amounts:
    """What is left of every capacity beside what is held."""
    left = {}
    for name, capacity in capacities.items():
        value = capacity.value or ZERO
        left[name] = value.minus(held[name]) if name in held else value
    return left


def shortage(room: Amounts, wanted: Amounts, used: Amounts = NO_AMOUNTS) -> str:
    """The capacity that has too little for `wanted` beside what is used; empty when none has."""
    for name, amount in wanted.items():
        if (amount.plus(used[name]) if name in used else amount) > room[name]:
            return name
    return ""


def _amount(
    value: Quantity, policy: CapacityRequestPolicy | None, wanted: Quantity | None
) -> Quantity:
    if wanted is None:
        return policy.default if policy is not None and policy.default is not None else value
    if policy is None:
        return wanted
    if policy.valid_range is not None:
        return _rounded(policy, policy.valid_range, wanted)
    return min((each for each in policy.valid_values if each >= wanted), default=wanted)


def _rounded(
    policy: CapacityRequestPolicy, limits: CapacityRequestPolicyRange, wanted: Quantity
) -> Quantity:
    least = limits.min if limits.min is not None else ZERO
    if wanted < least:
        return least
    if limits.step is None:
        return wanted
    in_milli = _is_fractional(policy, limits)
    low, step, asked = (_units(each, in_milli) for each in (least, limits.step, wanted))
    if step <= 0:
        return wanted
    units = low + -(-(asked - low) // step) * step
    return Quantity(units, -3) if in_milli else Quantity.of(units, BINARY_SI)


def _broken_policy(name: str, policy: CapacityRequestPolicy | None, amount: Quantity) -> str:
    # The default is valid by definition, whatever the list or range says.
    if policy is None or amount == policy.default:
        return ""
    if policy.valid_range is not None:
        limits = policy.valid_range
        if limits.max is not None and amount > limits.max:
            return f"{name}: at most {limits.max} a share, {amount} wanted"
        if limits.min is not None and amount < limits.min:
            return f"{name}: at least {limits.min} a share, {amount} wanted"
        if limits.step is not None and not _is_aligned(policy, limits, amount):
            return f"{name}: only in steps of {limits.step}, {amount} wanted"
    elif policy.valid_values and amount not in policy.valid_values:
        return f"{name}: at most {max(policy.valid_values)} a share, {amount} wanted"
    return ""


def _is_aligned(
    policy: CapacityRequestPolicy, limits: CapacityRequestPolicyRange, amount: Quantity
) -> bool:
    assert limits.step is not None
    in_milli = _is_fractional(policy, limits)
    least = limits.min if limits.min is not None else ZERO
    low, step, units = (_units(each, in_milli) for each in (least, limits.step, amount))
    return step <= 0 or (units - low) % step == 0


def _is_fractional(policy: CapacityRequestPolicy, limits: CapacityRequestPolicyRange) -> bool:
    """Whether the policy counts in thousandths: when one of its figures isn't whole."""
    figures = [policy.default, limits.min, limits.max, limits.step]
    return any(figure is not None and not figure.is_whole() for figure in figures)


def _units(amount: Quantity, in_milli: bool) -> int:
    return amount.milli_rounded_up() if in_milli else amount.rounded_up()
