"""How much of a capacity a share takes, and whether it may have that much (KEP-5075).

The wish is rounded up by the policy, in thousandths where the range has figures of them and the
feature is on. What is left beside others is `checks`' to add up.
"""

from __future__ import annotations

from dibs.model.objects import CapacityRequestPolicyRange, DeviceCapacity
from dibs.values.quantity import Quantity

ZERO = Quantity.of(0)


def consumption(
    capacity: DeviceCapacity, wanted: Quantity | None, in_milli: bool = True
) -> Quantity:
    """How much a share takes: the wish rounded up by the policy, or its default (KEP-5075)."""
    policy = capacity.request_policy
    if wanted is None:
        default = policy.default if policy is not None else None
        return default if default is not None else total(capacity)
    if policy is None:
        return wanted
    if policy.valid_range is not None:
        low, step = policy.valid_range.min, policy.valid_range.step
        if low is not None and wanted < low:
            return low
        if low is not None and step is not None and in_milli and _is_milli(policy.valid_range):
            base, each = low.milli_rounded_up(), step.milli_rounded_up()
            count = -(-(wanted.milli_rounded_up() - base) // each)
            return Quantity(base + count * each, -3)
        if low is not None and step is not None:
            bottom, width = low.rounded_up(), step.rounded_up()
            steps = -(-(wanted.rounded_up() - bottom) // width)
            return Quantity.of(bottom + steps * width)
        return wanted
    if policy.valid_values:
        return min((each for each in policy.valid_values if each >= wanted), default=wanted)
    return wanted


def _is_milli(limits: CapacityRequestPolicyRange) -> bool:
    figures = (limits.min, limits.max, limits.step)
    return all(figure is None or figure.exact_milli() is not None for figure in figures)


def is_allowed(capacity: DeviceCapacity, taken: Quantity, wanted: Quantity | None) -> bool:
    if taken > total(capacity):
        return False
    policy = capacity.request_policy
    if policy is None or taken == policy.default or wanted is None:
        return True
    if policy.valid_range is not None:
        high = policy.valid_range.max
        return high is None or taken <= high
    return not policy.valid_values or taken in policy.valid_values


def total(capacity: DeviceCapacity) -> Quantity:
    return capacity.value or ZERO
