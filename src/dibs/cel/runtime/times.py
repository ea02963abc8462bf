"""Timestamps and durations as text, and the calendar: RFC 3339 and Go's duration grammar.

Whole-number arithmetic throughout: Python's datetime has no nanoseconds and no year 10000.
"""

from __future__ import annotations

import re
from typing import Final

from dibs.cel.runtime.errors import EvaluationError
from dibs.cel.runtime.values import LEAST_INT, MOST_INT, Duration, Timestamp

SECOND: Final = 1_000_000_000
DAY_S: Final = 86_400
# The first and last second a Timestamp may have (google.protobuf.Timestamp).
LEAST_SECOND, MOST_SECOND = -62_135_596_800, 253_402_300_799

_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}
_DURATION_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
# Go's reader also takes an hour of one digit and a comma before the fraction.
_RFC3339: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})"
    r"(?:[.,]([0-9]+))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)


def timestamp(nanoseconds: int, offset_s: int = 0) -> Timestamp:
    """Make a Timestamp; raise `timestamp overflow` outside of years 1 to 9999."""
    if not LEAST_SECOND <= nanoseconds // SECOND <= MOST_SECOND:
        raise EvaluationError("timestamp overflow")
    return Timestamp(nanoseconds, offset_s)


def duration(nanoseconds: int) -> Duration:
    """Make a Duration; raise `integer overflow` beyond 64 bits."""
    if not LEAST_INT <= nanoseconds <= MOST_INT:
        raise EvaluationError("integer overflow")
    return Duration(nanoseconds)


def parsed_timestamp(text: str) -> Timestamp | None:
    """Read RFC 3339; None when it isn't. Raises `timestamp overflow` out of range."""
    if len(text) > 1000 or not (found := _RFC3339.fullmatch(text)):
        return None
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    fraction, sign, zone_hour, zone_minute = found.groups()[6:]
    if not 1 <= month <= 12 or not 1 <= day <= days_of_month(year, month):
        return None
    if hour > 23 or minute > 59 or second > 59:
        return None
    offset_s = 0
    if sign:
        if int(zone_hour) > 24 or int(zone_minute) > 60:
            return None
        offset_s = int(sign + "1") * (int(zone_hour) * 3600 + int(zone_minute) * 60)
    local_s = days_of(year, month, day) * DAY_S + hour * 3600 + minute * 60 + second
    nanoseconds = int(((fraction or "") + "000000000")[:9])
    return timestamp((local_s - offset_s) * SECOND + nanoseconds, offset_s)


def parsed_duration(text: str) -> Duration | None:
    """Read "1h30m", "-1.5s", "0"; None when it isn't one or needs more than 64 bits."""
    if len(text) > 1000:
        return None
    negative = text.startswith("-")
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return Duration(0)
    total, at = 0, 0
    while at < len(rest):
        found = _DURATION_PART.match(rest, at)
        if not found or not (found[1] or found[2]):
            return None
        unit = _UNITS[found[3]]
        total += int(found[1] or "0") * unit
        if found[2]:
            total += int(found[2]) * unit // 10 ** len(found[2])
        at = found.end()
    total = -total if negative else total
    return Duration(total) if rest and LEAST_INT <= total <= MOST_INT else None


def timestamp_text(moment: Timestamp) -> str:
    """Write RFC 3339 with as many digits of the fraction as it has, in its own zone."""
    second, nanoseconds = divmod(moment.nanoseconds, SECOND)
    days, of_day = divmod(second + moment.offset_s, DAY_S)
    year, month, day = date_of(days)
    hour, minute = of_day // 3600, of_day // 60 % 60
    text = f"{year:04d}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{of_day % 60:02d}"
    if nanoseconds:
        text += f".{nanoseconds:09d}".rstrip("0")
    if not moment.offset_s:
        return text + "Z"
    sign, minutes = "-" if moment.offset_s < 0 else "+", abs(moment.offset_s) // 60
    return f"{text}{sign}{minutes // 60:02d}:{minutes % 60:02d}"


def duration_text(span: Duration) -> str:
    """Write the span in seconds: "90s", "-1.5s". Beyond 2^53 digits are lost, as upstream."""
    second, nanoseconds = divmod(abs(span.nanoseconds), SECOND)
    seconds = second + nanoseconds / 1e9
    text = f"{seconds:.9f}" if seconds != int(seconds) else str(int(seconds))
    for digits in range(1, 9):
        if "." in text and float(f"{seconds:.{digits}f}") == seconds:
            text = f"{seconds:.{digits}f}"
            break
    return f"{'-' if span.nanoseconds < 0 else ''}{text}s"


def days_of(year: int, month: int, day: int) -> int:
    """Count the days from 1970-01-01 to a date of the Gregorian calendar."""
    year -= month <= 2
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def date_of(days: int) -> tuple[int, int, int]:
    """Turn days since 1970-01-01 into (year, month, day)."""
    era, of_era = divmod(days + 719_468, 146_097)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year + era * 400 + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1


def days_of_month(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31
