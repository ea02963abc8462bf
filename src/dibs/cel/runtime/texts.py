"""Values as text: what `string(x)` gives, and how Go prints a value within an error text."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Final

from dibs.cel.runtime import times
from dibs.cel.runtime.effort import spend_on_text
from dibs.cel.runtime.errors import EvaluationError, no_overload
from dibs.cel.runtime.naming import shown, type_name
from dibs.cel.runtime.values import CIDR, IP, Duration, Timestamp, UInt, Value

# From here on Go's %g writes an exponent, however many digits there are.
_MOST_PLAIN_EXPONENT: Final = 6


def to_text(value: Value) -> str:
    """`string(value)`. Raises `no such overload: string(list)` where there is no conversion."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case UInt() | int():
            return str(int(value))
        case float():
            return double_text(value)
        case bytes():
            return decoded(value)
        case Timestamp():
            return times.timestamp_text(value)
        case Duration():
            return times.duration_text(value)
        case IP() | CIDR():
            return str(value)
    raise no_overload(f"string({type_name(value)})")


def as_text(value: Value) -> str:
    """`value` as it stands within an error text: strings bare, all else as `shown` has it."""
    match value:
        case str():
            return value if len(value) <= 1000 else value[:1000] + "…"
        case int() if not isinstance(value, bool):
            return str(int(value))
        case float():
            return double_text(value)
        case Timestamp():
            return times.timestamp_text(value)
        case Duration():
            return times.duration_text(value)
    return shown(value)


def double_text(number: float) -> str:
    """Go's shortest `%g`: 1.5, 1e+06, 1e-05, NaN, +Inf."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    digits, power = shortest_digits(abs(number))
    sign = "-" if math.copysign(1.0, number) < 0 else ""
    exponent = power + len(digits) - 1
    if exponent < -4 or exponent >= _MOST_PLAIN_EXPONENT:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    return sign + plain(digits, power)


def plain(digits: str, power: int) -> str:
    """Write `digits × 10^power` without an exponent."""
    if power >= 0:
        return digits + "0" * power
    point = len(digits) + power
    if point > 0:
        return f"{digits[:point]}.{digits[point:]}"
    return f"0.{'0' * -point}{digits}"


def shortest_digits(number: float) -> tuple[str, int]:
    """The fewest digits that read back as `number` (≥ 0), and the power of the last one."""
    _, digits, power = Decimal(repr(number)).as_tuple()
    text = "".join(map(str, digits)).lstrip("0") or "0"
    stripped = text.rstrip("0") or "0"
    assert isinstance(power, int)
    return stripped, 0 if stripped == "0" else power + len(text) - len(stripped)


def decoded(data: bytes) -> str:
    """Bytes as a string. Raises where they are no UTF-8."""
    spend_on_text(len(data))
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


def encoded(text: str) -> bytes:
    """A string as UTF-8; a lone surrogate, which only broken input has, becomes three bytes."""
    spend_on_text(len(text))
    return text.encode("utf-8", "surrogatepass")
