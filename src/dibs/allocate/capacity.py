"""What a request takes from a device's capacities, and whether that much is there (KEP-5075).

The amount is the same whoever holds the rest: it follows from the request and the device's
policy alone. Names are compared as written: unlike attributes, capacities have no default domain.
Source: CapacityRequestPolicy; arithmetic of KEP-5075 "rounding", fractions as the gate
DRAFractionalCapacityRange has them.
"""

from __future__ import annotations

from collections.abc import Mapping

from dibs.allocate import amounts
from dibs.allocate.draft import NO_AMOUNTS, Amounts
from dibs.model.objects import CapacityRequestPolicy, CapacityRequestPolicyRange, DeviceCapacity
from dibs.values.quantity import Quantity

ZERO = Quantity.of(0)

# The largest int64, in which the API server and kube-scheduler reckon.
MOST = 2**63 - 1


def consumption(
    capacities: Mapping[str, DeviceCapacity], wanted: Amounts, *, in_milli: bool = True
) -> tuple[Amounts, str]:
    """Return what a share takes of every capacity, and why the device could never give it.

    The text is empty when it could: then no amount breaks its policy or exceeds the total.
    `in_milli` says whether policies may count in thousandths (DRAFractionalCapacityRange).
    """
    for name, amount in wanted.items():
        if name not in capacities:
            return NO_AMOUNTS, f"has no capacity {name} ({amount} wanted)"
    taken: dict[str, Quantity] = {}
    for name, capacity in capacities.items():
        value = capacity.value if capacity.value is not None else ZERO
        policy, asked = capacity.request_policy, wanted.get(name)
        amount = _amount(value, policy, asked, in_milli)
        if why := _broken_policy(policy, amount, in_milli):
            return NO_AMOUNTS, f"{name}: {why}, {amounts.wanted(amount, asked, policy)}"
        if amount > value:
            return NO_AMOUNTS, f"{name} is {value}, {amounts.wanted(amount, asked, policy)}"
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


def unmeasurable(
    capacities: Mapping[str, DeviceCapacity], wanted: Amounts, *, in_milli: bool = True
) -> str:
    """Why an amount can't be reckoned with at all: negative, or beyond 64 bits when rounded.

    Upstream ends the whole attempt on it, so that nobody gains from asking for nonsense.
    """
    if any(name not in capacities for name in wanted):
        return ""
    for name, capacity in capacities.items():
        asked, policy = wanted.get(name), capacity.request_policy
        limits = policy.valid_range if policy is not None else None
        if asked is not None and limits is not None and _is_beyond(limits, asked, in_milli):
            return f"{name}: {asked} is too large or too fine to be rounded to {limits.step}"
        amount = _amount(capacity.value or ZERO, policy, asked, in_milli)
        if amount < ZERO:
            return f"{name}: {amount} is negative"
    return ""


def _amount(
    value: Quantity, policy: CapacityRequestPolicy | None, wanted: Quantity | None, in_milli: bool
) -> Quantity:
    if wanted is None:
        return policy.default if policy is not None and policy.default is not None else value
    if policy is None:
        return wanted
    if policy.valid_range is not None:
        return _rounded(policy.valid_range, wanted, in_milli)
    return min((each for each in policy.valid_values if each >= wanted), default=wanted)


def _rounded(limits: CapacityRequestPolicyRange, wanted: Quantity, in_milli: bool) -> Quantity:
    least = limits.min if limits.min is not None else ZERO
    if wanted < least:
        return least
    if limits.step is None:
        return wanted
    in_milli = in_milli and _is_fractional(limits)
    low, step, asked = (_units(each, in_milli) for each in (least, limits.step, wanted))
    if step <= 0:
        return wanted
    units = low + -(-(asked - low) // step) * step
    if in_milli and units % 1000:
        return Quantity(units, -3)
    # Written as the step is.
    return Quantity.of(units // 1000 if in_milli else units, limits.step.format)


def _broken_policy(policy: CapacityRequestPolicy | None, amount: Quantity, in_milli: bool) -> str:
    # The default is valid by definition, whatever the list or range says.
    if policy is None or amount == policy.default:
        return ""
    if policy.valid_range is not None:
        limits = policy.valid_range
        if limits.max is not None and amount > limits.max:
            return f"at most {limits.max} a share"
        if limits.min is not None and amount < limits.min:
            return f"at least {limits.min} a share"
        if limits.step is not None and not _is_aligned(limits, amount, in_milli):
            return f"only in steps of {limits.step}"
    elif policy.valid_values and amount not in policy.valid_values:
        return f"at most {max(policy.valid_values)} a share"
    return ""


def _is_aligned(limits: CapacityRequestPolicyRange, amount: Quantity, in_milli: bool) -> bool:
    assert limits.step is not None
    in_milli = in_milli and _is_fractional(limits)
    least = limits.min if limits.min is not None else ZERO
    low, step, units = (_units(each, in_milli) for each in (least, limits.step, amount))
    return step <= 0 or (units - low) % step == 0


def _is_fractional(limits: CapacityRequestPolicyRange) -> bool:
    """Whether a range may be reckoned in thousandths: when all of its figures are some.

    For one of whole figures it makes no difference.
    """
    figures = (limits.min, limits.max, limits.step)
    if not all(figure is None or _is_milli(figure) for figure in figures):
        return False
    return limits.step is None or limits.step.milli_rounded_up() >= 1


def _is_milli(amount: Quantity) -> bool:
    """Whether it is a whole number of thousandths that an int64 holds."""
    milli = amount.exact_milli()
    return milli is not None and -MOST - 1 <= milli <= MOST


def _is_beyond(limits: CapacityRequestPolicyRange, asked: Quantity, in_milli: bool) -> bool:
    """Whether rounding leaves what an int64 holds."""
    if limits.step is None or (limits.min is not None and asked < limits.min):
        return False
    if in_milli and _is_fractional(limits):
        if not _is_milli(asked):
            return True
        return _rounded(limits, asked, in_milli).milli_rounded_up() > MOST
    return asked.rounded_up() > MOST or _rounded(limits, asked, False).rounded_up() > MOST


def _units(amount: Quantity, in_milli: bool) -> int:
    return amount.milli_rounded_up() if in_milli else amount.rounded_up()
