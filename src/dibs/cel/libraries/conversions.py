"""Conversions between CEL types: int, uint, double, bool, bytes, string, timestamp, duration.

Texts are read as Go's strconv reads them, which is stricter than Python: no blanks, no
underscores, nothing beyond 64 bits.
"""

from __future__ import annotations

import contextlib
import math
import re

from dibs.cel import runtime
from dibs.cel.declare import Library, function
from dibs.cel.runtime import Duration, EvaluationError, Timestamp, UInt, Value, times
from dibs.cel.runtime.texts import encoded
from dibs.cel.types import BOOL, BYTES, DOUBLE, DURATION, INT, STRING, TIMESTAMP, UINT

_INT = re.compile(r"[+-]?0*([0-9]{1,19})")
_UINT = re.compile(r"0*([0-9]{1,20})")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_HEXADECIMAL = re.compile(
    r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+"
)
# Go's reader of doubles, unlike that of integers, lets digits be grouped.
_UNDERSCORE = re.compile(r"(?<=[0-9])_(?=[0-9])")
_NOT_A_NUMBER = re.compile(r"[+-]?(?:inf|infinity)|nan", re.IGNORECASE)
_BOOLS = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}


def _unconvertible(source: str, target: str) -> EvaluationError:
    return EvaluationError(f"type conversion error from '{source}' to '{target}'")


def int_of_uint(number: UInt) -> int:
    if number > runtime.MOST_INT:
        raise EvaluationError("integer overflow")
    return int(number)


def int_of_double(number: float) -> int:
    """Cut off the fraction. Both ends of the range are out, as in cel-go."""
    if -(2.0**63) < number < 2.0**63:
        return int(number)
    raise EvaluationError("integer overflow")


def int_of_string(text: str) -> int:
    runtime.spend_on_text(len(text))
    if _INT.fullmatch(text):
        number = int(text) if len(text) < 100 else int(text[0] + text[-20:].lstrip("+-"))
        if runtime.LEAST_INT <= number <= runtime.MOST_INT:
            return number
    raise _unconvertible("string", "int")


def int_of_timestamp(moment: Timestamp) -> int:
    """Whole seconds since 1970, rounded down."""
    return moment.nanoseconds // times.SECOND


def int_of_duration(span: Duration) -> int:
    """Nanoseconds."""
    return span.nanoseconds


def uint_of_int(number: int) -> UInt:
    if number < 0:
        raise EvaluationError("unsigned integer overflow")
    return UInt(number)


def uint_of_double(number: float) -> UInt:
    if 0 <= number < 2.0**64:
        return UInt(int(number))
    raise EvaluationError("unsigned integer overflow")


def uint_of_string(text: str) -> UInt:
    runtime.spend_on_text(len(text))
    if found := _UINT.fullmatch(text):
        number = int(found[1])
        if number <= runtime.MOST_UINT:
            return UInt(number)
    raise _unconvertible("string", "uint")


def double_of_string(text: str) -> float:
    """Read a decimal, a C hexadecimal, inf or nan. A number too large for a double is an error."""
    number = math.inf
    runtime.spend_on_text(60 * len(text))
    text = _UNDERSCORE.sub("", text)
    if _DECIMAL.fullmatch(text):
        number = float(text)
    elif _HEXADECIMAL.fullmatch(text):
        with contextlib.suppress(OverflowError):
            number = float.fromhex(text)
    elif _NOT_A_NUMBER.fullmatch(text):
        return float(text)
    if math.isinf(number):
        raise _unconvertible("string", "double")
    return number


def bool_of_string(text: str) -> bool:
    if text not in _BOOLS:
        raise _unconvertible("string", "bool")
    return _BOOLS[text]


def timestamp_of_string(text: str) -> Timestamp:
    moment = times.parsed_timestamp(text)
    if moment is None:
        raise _unconvertible("string", "google.protobuf.Timestamp")
    return moment


def timestamp_of_int(seconds: int) -> Timestamp:
    return times.timestamp(seconds * times.SECOND)


def duration_of_string(text: str) -> Duration:
    span = times.parsed_duration(text)
    if span is None:
        raise _unconvertible("string", "google.protobuf.Duration")
    return span


def duration_of_int(_: int) -> Duration:
    """Declared, and never defined: cel-go checks it and fails at run time."""
    raise _unconvertible("int", "google.protobuf.Duration")


def same(value: Value) -> Value:
    return value


LIBRARY = Library(
    "conversions",
    (
        *function(
            "int",
            ("int64_to_int64", (INT,), INT, same),
            ("uint64_to_int64", (UINT,), INT, int_of_uint),
            ("double_to_int64", (DOUBLE,), INT, int_of_double),
            ("string_to_int64", (STRING,), INT, int_of_string),
            ("timestamp_to_int64", (TIMESTAMP,), INT, int_of_timestamp),
            ("duration_to_int64", (DURATION,), INT, int_of_duration),
        ),
        *function(
            "uint",
            ("uint64_to_uint64", (UINT,), UINT, same),
            ("int64_to_uint64", (INT,), UINT, uint_of_int),
            ("double_to_uint64", (DOUBLE,), UINT, uint_of_double),
            ("string_to_uint64", (STRING,), UINT, uint_of_string),
        ),
        *function(
            "double",
            ("double_to_double", (DOUBLE,), DOUBLE, same),
            ("int64_to_double", (INT,), DOUBLE, float),
            ("uint64_to_double", (UINT,), DOUBLE, float),
            ("string_to_double", (STRING,), DOUBLE, double_of_string),
        ),
        *function(
            "bool",
            ("bool_to_bool", (BOOL,), BOOL, same),
            ("string_to_bool", (STRING,), BOOL, bool_of_string),
        ),
        *function(
            "bytes",
            ("bytes_to_bytes", (BYTES,), BYTES, same),
            ("string_to_bytes", (STRING,), BYTES, encoded),
        ),
        *function(
            "string",
            ("string_to_string", (STRING,), STRING, same),
            ("bool_to_string", (BOOL,), STRING, runtime.to_text),
            ("int64_to_string", (INT,), STRING, str),
            ("uint64_to_string", (UINT,), STRING, runtime.to_text),
            ("double_to_string", (DOUBLE,), STRING, runtime.to_text),
            ("bytes_to_string", (BYTES,), STRING, runtime.to_text),
            ("timestamp_to_string", (TIMESTAMP,), STRING, runtime.to_text),
            ("duration_to_string", (DURATION,), STRING, runtime.to_text),
        ),
        *function(
            "timestamp",
            ("timestamp_to_timestamp", (TIMESTAMP,), TIMESTAMP, same),
            ("string_to_timestamp", (STRING,), TIMESTAMP, timestamp_of_string),
            ("int64_to_timestamp", (INT,), TIMESTAMP, timestamp_of_int),
        ),
        *function(
            "duration",
            ("duration_to_duration", (DURATION,), DURATION, same),
            ("string_to_duration", (STRING,), DURATION, duration_of_string),
            ("int64_to_duration", (INT,), DURATION, duration_of_int),
        ),
    ),
)
