"""The operators + - * / % and negation, with CEL's overflow rules.

Integers are 64 bits and overflow is an error; doubles follow IEEE 754, so 1.0 / 0.0 is a value.
What a sum of strings or lists may grow to is bounded here.
"""

from __future__ import annotations

import math
import operator

from dibs.cel import runtime
from dibs.cel.declare import Library, function
from dibs.cel.runtime import EvaluationError, Timestamp, UInt, Value, times
from dibs.cel.types import BYTES, DOUBLE, DURATION, INT, STRING, TIMESTAMP, UINT, A, list_of

_LEAST, _MOST, _MOST_UINT = runtime.LEAST_INT, runtime.MOST_INT, runtime.MOST_UINT


def _int(number: int) -> int:
    if _LEAST <= number <= _MOST:
        return number
    raise EvaluationError("integer overflow")


def _uint(number: int) -> UInt:
    if 0 <= number <= _MOST_UINT:
        return UInt(number)
    raise EvaluationError("unsigned integer overflow")


def add_int(left: int, right: int) -> int:
    return _int(left + right)


def add_uint(left: UInt, right: UInt) -> UInt:
    return _uint(left + right)


def _bounded(size: int) -> None:
    """Ask before text of that size is made."""
    runtime.spend_on_text(runtime.bounded_count(size, runtime.MOST_CHARACTERS))


def add_string(left: str, right: str) -> str:
    _bounded(len(left) + len(right))
    return left + right


def add_bytes(left: bytes, right: bytes) -> bytes:
    _bounded(len(left) + len(right))
    return left + right


def add_list(left: tuple[Value, ...], right: tuple[Value, ...]) -> tuple[Value, ...]:
    runtime.spend(runtime.bounded_count(len(left) + len(right)) // 64)
    return left + right


def add_durations(left: runtime.Duration, right: runtime.Duration) -> runtime.Duration:
    return times.duration(left.nanoseconds + right.nanoseconds)


def add_duration(moment: Timestamp, span: runtime.Duration) -> Timestamp:
    return times.timestamp(moment.nanoseconds + span.nanoseconds, moment.offset_s)


def add_to_duration(span: runtime.Duration, moment: Timestamp) -> Timestamp:
    return add_duration(moment, span)


def subtract_int(left: int, right: int) -> int:
    return _int(left - right)


def subtract_uint(left: UInt, right: UInt) -> UInt:
    return _uint(left - right)


def subtract_durations(left: runtime.Duration, right: runtime.Duration) -> runtime.Duration:
    return times.duration(left.nanoseconds - right.nanoseconds)


def subtract_duration(moment: Timestamp, span: runtime.Duration) -> Timestamp:
    return times.timestamp(moment.nanoseconds - span.nanoseconds, moment.offset_s)


def subtract_timestamps(left: Timestamp, right: Timestamp) -> runtime.Duration:
    return times.duration(left.nanoseconds - right.nanoseconds)


def multiply_int(left: int, right: int) -> int:
    return _int(left * right)


def multiply_uint(left: UInt, right: UInt) -> UInt:
    return _uint(left * right)


def divide_int(left: int, right: int) -> int:
    """Round towards zero, as Go and C do."""
    if right == 0:
        raise EvaluationError("division by zero")
    size = abs(left) // abs(right)
    return _int(size if (left < 0) == (right < 0) else -size)


def divide_uint(left: UInt, right: UInt) -> UInt:
    if right == 0:
        raise EvaluationError("division by zero")
    return UInt(left // right)


def divide_double(left: float, right: float) -> float:
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def modulo_int(left: int, right: int) -> int:
    """The remainder has the sign of the dividend."""
    if right == 0:
        raise EvaluationError("modulus by zero")
    if left == _LEAST and right == -1:
        raise EvaluationError("integer overflow")
    return int(math.copysign(1, left)) * (abs(left) % abs(right))


def modulo_uint(left: UInt, right: UInt) -> UInt:
    if right == 0:
        raise EvaluationError("modulus by zero")
    return UInt(left % right)


def negate_int(number: int) -> int:
    return _int(-number)


_LIST = list_of(A)

LIBRARY = Library(
    "arithmetic",
    (
        *function(
            "_+_",
            ("add_int64", (INT, INT), INT, add_int),
            ("add_uint64", (UINT, UINT), UINT, add_uint),
            ("add_double", (DOUBLE, DOUBLE), DOUBLE, operator.add),
            ("add_string", (STRING, STRING), STRING, add_string),
            ("add_bytes", (BYTES, BYTES), BYTES, add_bytes),
            ("add_list", (_LIST, _LIST), _LIST, add_list),
            ("add_duration_duration", (DURATION, DURATION), DURATION, add_durations),
            ("add_duration_timestamp", (DURATION, TIMESTAMP), TIMESTAMP, add_to_duration),
            ("add_timestamp_duration", (TIMESTAMP, DURATION), TIMESTAMP, add_duration),
        ),
        *function(
            "_-_",
            ("subtract_int64", (INT, INT), INT, subtract_int),
            ("subtract_uint64", (UINT, UINT), UINT, subtract_uint),
            ("subtract_double", (DOUBLE, DOUBLE), DOUBLE, operator.sub),
            ("subtract_duration_duration", (DURATION, DURATION), DURATION, subtract_durations),
            ("subtract_timestamp_duration", (TIMESTAMP, DURATION), TIMESTAMP, subtract_duration),
            ("subtract_timestamp_timestamp", (TIMESTAMP, TIMESTAMP), DURATION, subtract_timestamps),
        ),
        *function(
            "_*_",
            ("multiply_int64", (INT, INT), INT, multiply_int),
            ("multiply_uint64", (UINT, UINT), UINT, multiply_uint),
            ("multiply_double", (DOUBLE, DOUBLE), DOUBLE, operator.mul),
        ),
        *function(
            "_/_",
            ("divide_int64", (INT, INT), INT, divide_int),
            ("divide_uint64", (UINT, UINT), UINT, divide_uint),
            ("divide_double", (DOUBLE, DOUBLE), DOUBLE, divide_double),
        ),
        *function(
            "_%_",
            ("modulo_int64", (INT, INT), INT, modulo_int),
            ("modulo_uint64", (UINT, UINT), UINT, modulo_uint),
        ),
        *function(
            "-_",
            ("negate_int64", (INT,), INT, negate_int),
            ("negate_double", (DOUBLE,), DOUBLE, operator.neg),
        ),
    ),
)
