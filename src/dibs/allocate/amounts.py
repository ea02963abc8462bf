"""Amounts of a capacity in words: why it is another than was asked for, and who has how much.

The amount itself is `capacity`'s; this only names the rule of the device's policy that made it
(KEP-5075, CapacityRequestPolicy).
"""

from __future__ import annotations

from collections.abc import Iterable

from dibs.model.objects import CapacityRequestPolicy
from dibs.supply.ledger import Holder
from dibs.values.quantity import Quantity

# Of more values, or more claims, than this the rest is not listed.
SHOWN = 4

ZERO = Quantity.of(0)


def told(amount: Quantity, asked: Quantity | None, policy: CapacityRequestPolicy | None) -> str:
    """`10Gi (7Gi asked, in steps of 5Gi)`: the amount, and why it isn't what was asked."""
    why = reason(amount, asked, policy)
    return f"{amount} ({why})" if why else str(amount)


def wanted(amount: Quantity, asked: Quantity | None, policy: CapacityRequestPolicy | None) -> str:
    """`10Gi wanted (7Gi asked, in steps of 5Gi)`, for refusals."""
    if asked is None and policy is not None and policy.default is not None:
        return f"{amount} wanted by default"
    why = reason(amount, asked, policy)
    return f"{amount} wanted ({why})" if why else f"{amount} wanted"


def reason(amount: Quantity, asked: Quantity | None, policy: CapacityRequestPolicy | None) -> str:
    """`7Gi asked, in steps of 5Gi`; empty when the amount is as it was asked for."""
    if asked is None:
        return "by default" if policy and policy.default is not None else "all of it: no default"
    if asked == amount:
        return ""
    rule = _rule(asked, policy) if policy is not None else ""
    return f"{asked} asked, {rule}" if rule else f"{asked} asked"


def taken_by(name: str, shares: Iterable[Holder]) -> str:
    """`default/a (10Gi), default/b (5Gi)`: who has how much of the capacity, the most first."""
    sums: dict[str, Quantity] = {}
    for share in shares:
        amount = share.consumed.get(name, ZERO)
        sums[share.claim] = sums.get(share.claim, ZERO).plus(amount)
    largest = sorted(sums.items(), key=lambda each: each[1], reverse=True)
    shown = [f"{claim} ({amount})" for claim, amount in largest[:SHOWN]]
    if len(largest) > SHOWN:
        shown.append(f"{len(largest) - SHOWN} more")
    return ", ".join(shown)


def _rule(asked: Quantity, policy: CapacityRequestPolicy) -> str:
    limits = policy.valid_range
    if limits is not None:
        if limits.min is not None and asked < limits.min:
            return f"at least {limits.min}"
        if limits.step is None:
            return ""
        least = "" if _is_multiple(limits.min, limits.step) else f" from {limits.min}"
        return f"in steps of {limits.step}{least}"
    if policy.valid_values:
        values = [str(value) for value in policy.valid_values]
        more = " …" if len(values) > SHOWN else ""
        return f"which can be {', '.join(values[:SHOWN])}{more}"
    return ""


def _is_multiple(least: Quantity | None, step: Quantity) -> bool:
    """Whether the steps can be counted from zero, as a reader does."""
    low, by = (least or ZERO).exact_milli(), step.exact_milli()
    return low is not None and by is not None and by > 0 and low % by == 0
