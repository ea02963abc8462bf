"""The rules of a device's capacities, and of what may be requested of a shared one (KEP-5075).

How a request is rounded by these policies is decided in `request`; here is whether they make
sense. Fractions are reckoned in thousandths, as with DRAFractionalCapacityRange.
"""

from __future__ import annotations

from dibs.model.objects import (
    CapacityRequestPolicy,
    CapacityRequestPolicyRange,
    Counter,
    Device,
    DeviceCapacity,
)
from dibs.model.rules import faults, fields, limits
from dibs.model.rules.fields import Faults
from dibs.values.quantity import Quantity

_INT64_MAX = Quantity.of(limits.INT64_MAX)

_NOT_SHARED = "allowMultipleAllocations must be true"
_ONE_POLICY = (
    'exactly one policy can be specified, cannot specify "validValues" and "validRange" '
    "at the same time"
)
_NOT_DEFAULT = "default value is not valid according to the requestPolicy"
_NO_MILLI = "value cannot be represented as a milli value"


def capacities(item: Device, path: str) -> Faults:
    shared = bool(item.allow_multiple_allocations)

    def check(capacity: DeviceCapacity, here: str) -> Faults:
        if capacity.value is None:
            yield faults.required(f"{here}.value")
        if capacity.request_policy is None:
            return
        if not shared:
            yield faults.forbidden(f"{here}.requestPolicy", _NOT_SHARED)
        elif capacity.value is not None:
            yield from policy(capacity.request_policy, capacity.value, f"{here}.requestPolicy")

    yield from fields.each_entry(
        item.capacity, path, None, limits.KEY_SHOWN, fields.qualified_name, check
    )


def counter(item: Counter, path: str) -> Faults:
    """Any amount is a good counter; its policy (KEP-5941) is like that of a capacity."""
    if item.value is None:
        yield faults.required(f"{path}.value")
    elif item.request_policy is not None:
        yield from policy(item.request_policy, item.value, f"{path}.requestPolicy")


def policy(value: CapacityRequestPolicy, whole: Quantity, path: str) -> Faults:
    """A default alone is not checked: it may even exceed the whole."""
    if value.valid_values and value.valid_range is not None:
        yield faults.forbidden(path, _ONE_POLICY)
    elif value.valid_values:
        if value.default is None:
            yield faults.required(f"{path}.default", "required when validValues is defined")
        else:
            yield from _values(value.valid_values, value.default, whole, f"{path}.validValues")
    elif value.valid_range is not None:
        if value.default is None:
            yield faults.required(f"{path}.default", "required when validRange is defined")
        else:
            yield from _range(value.valid_range, value.default, whole, f"{path}.validRange")


def _values(values: tuple[Quantity, ...], default: Quantity, whole: Quantity, path: str) -> Faults:
    for index in range(1, len(values)):
        if values[index - 1] > values[index]:
            text = "values must be sorted in ascending order"
            yield faults.invalid(f"{path}[{index}]", values[index], text)

    def option(value: Quantity, here: str) -> Faults:
        if value > whole:
            text = f"option is larger than capacity value: {whole.as_written}"
            yield faults.invalid(here, value, text)

    yield from fields.each_once(values, path, limits.VALID_VALUES, option, lambda value: value)
    # A list that is too long was not looked into, so its default was not found either.
    if default not in values or len(values) > limits.VALID_VALUES:
        yield faults.invalid(path, default, _NOT_DEFAULT)


def _range(
    value: CapacityRequestPolicyRange, default: Quantity, whole: Quantity, path: str
) -> Faults:
    if value.min is None:
        yield faults.required(f"{path}.min", "required when validRange is defined")
        return
    yield from _bounds(value, value.min, default, whole, path)
    parts = (
        ("default", default),
        ("min", value.min),
        ("max", value.max),
        ("step", value.step),
    )
    in_milli = any(part is not None and not part.is_whole() for _, part in parts)
    if in_milli:
        unfit = [
            (name, part) for name, part in parts if part is not None and part.exact_milli() is None
        ]
        for name, part in unfit:
            yield faults.invalid(f"{path}.{name}", part, _NO_MILLI)
        if unfit:
            return
    if value.step is not None:
        yield from _step(value, value.min, value.step, default, whole, in_milli, path)


def _bounds(
    value: CapacityRequestPolicyRange,
    least: Quantity,
    default: Quantity,
    whole: Quantity,
    path: str,
) -> Faults:
    if least > whole:
        text = f"min is larger than capacity value: {whole.as_written}"
        yield faults.invalid(f"{path}.min", least, text)
    if default < least:
        text = f"default is less than min: {least.as_written}"
        yield faults.invalid(f"{path}.default", default, text)
    if value.max is None:
        return
    if least > value.max:
        text = f"min is larger than max: {value.max.as_written}"
        yield faults.invalid(f"{path}.max", least, text)
    if value.max > whole:
        text = f"max is larger than capacity value: {whole.as_written}"
        yield faults.invalid(f"{path}.max", value.max, text)
    if default > value.max:
        text = f"default is more than max: {value.max.as_written}"
        yield faults.invalid(f"{path}.default", default, text)


def _step(
    value: CapacityRequestPolicyRange,
    least: Quantity,
    step: Quantity,
    default: Quantity,
    whole: Quantity,
    in_milli: bool,
    path: str,
) -> Faults:
    if step.sign() <= 0:
        yield faults.invalid(f"{path}.step", step, "must be greater than zero")
        return
    one_step = least.plus(step)
    if one_step > whole:
        text = f"one step {one_step} is larger than capacity value: {whole.as_written}"
        yield faults.invalid(f"{path}.step", step, text)
    bounds = (("default", default), ("min", least), ("max", value.max), ("step", step))
    beyond = tuple(
        fault
        for name, bound in bounds
        if bound is not None and not in_milli
        for fault in _int64(bound, f"{path}.{name}")
    )
    yield from beyond
    if beyond:
        return
    for bound in (default, value.max):
        if bound is not None and not _is_reached(bound, least, step, in_milli):
            text = (
                f"value is not a multiple of a given step ({step.as_written}) "
                f"from ({least.as_written})"
            )
            yield faults.invalid(f"{path}.step", bound, text)


def _int64(value: Quantity, path: str) -> Faults:
    if value.sign() < 0:
        yield faults.invalid(path, value, fields.NEGATIVE)
    elif value > _INT64_MAX:
        text = f"must not be larger than {limits.INT64_MAX}"
        yield faults.invalid(path, value, text)


def _is_reached(value: Quantity, least: Quantity, step: Quantity, in_milli: bool) -> bool:
    if in_milli:
        away = value.milli_rounded_up() - least.milli_rounded_up()
        return away % step.milli_rounded_up() == 0
    return (value.rounded_up() - least.rounded_up()) % step.rounded_up() == 0
