"""Parts of timestamps and durations: getFullYear, getHours … in UTC or a named time zone.

Zones come from the IANA database, as Python's zoneinfo finds it. Years run from 1 to 9999 and
so just fit the calendar; the arithmetic is in `runtime.times`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dibs.cel import runtime
from dibs.cel.declare import Library, Overload, member
from dibs.cel.runtime import Duration, EvaluationError, Timestamp, times
from dibs.cel.types import DURATION, INT, STRING, TIMESTAMP

_OFFSET = re.compile(r"([+-]?[0-9]{1,6}):([+-]?[0-9]{1,6})")
_ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+)*")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Converting needs a day of room at both ends of Python's calendar.
_FIRST_S, _LAST_S = times.LEAST_SECOND + 2 * times.DAY_S, times.MOST_SECOND - 2 * times.DAY_S


def local_seconds(moment: Timestamp, zone: str = "UTC") -> int:
    """Seconds since 1970 as a clock in `zone` counts them. Raises `unknown time zone X`."""
    seconds = moment.nanoseconds // times.SECOND
    # "Local" is the zone of the machine that evaluates, which for us is UTC.
    if zone in ("UTC", "", "Local"):
        return seconds
    if ":" in zone:
        return seconds + _offset_s(zone)
    within = max(_FIRST_S, min(_LAST_S, seconds))
    offset = (_EPOCH + timedelta(seconds=within)).astimezone(_zone(zone)).utcoffset()
    assert offset is not None
    return seconds + round(offset.total_seconds())


def _offset_s(text: str) -> int:
    found = _OFFSET.fullmatch(text)
    if not found:
        raise EvaluationError(f"unknown time zone {text[:100]}")
    hours, minutes = int(found[1]), int(found[2])
    return (hours * 60 - minutes if text[0] == "-" else hours * 60 + minutes) * 60


@lru_cache(maxsize=256)
def _zone(name: str) -> ZoneInfo:
    # A name that is not known is looked for in the file system each time.
    runtime.spend(400)
    try:
        # The pattern keeps file names such as "../../etc/passwd" from being tried.
        if len(name) <= 100 and _ZONE.fullmatch(name):
            return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        pass
    raise EvaluationError(f"unknown time zone {name[:100]}")


def _date(moment: Timestamp, zone: str) -> tuple[int, int, int]:
    return times.date_of(local_seconds(moment, zone) // times.DAY_S)


def year(moment: Timestamp, zone: str = "UTC") -> int:
    return _date(moment, zone)[0]


def month(moment: Timestamp, zone: str = "UTC") -> int:
    """January is 0."""
    return _date(moment, zone)[1] - 1


def day_of_year(moment: Timestamp, zone: str = "UTC") -> int:
    """1 January is 0."""
    days = local_seconds(moment, zone) // times.DAY_S
    return days - times.days_of(times.date_of(days)[0], 1, 1)


def day_of_month(moment: Timestamp, zone: str = "UTC") -> int:
    """From 0."""
    return _date(moment, zone)[2] - 1


def date(moment: Timestamp, zone: str = "UTC") -> int:
    """The day of the month from 1."""
    return _date(moment, zone)[2]


def day_of_week(moment: Timestamp, zone: str = "UTC") -> int:
    """Sunday is 0. 1970 began on a Thursday."""
    return (local_seconds(moment, zone) // times.DAY_S + 4) % 7


def hours(moment: Timestamp, zone: str = "UTC") -> int:
    return local_seconds(moment, zone) // 3600 % 24


def minutes(moment: Timestamp, zone: str = "UTC") -> int:
    return local_seconds(moment, zone) // 60 % 60


def seconds(moment: Timestamp, zone: str = "UTC") -> int:
    return local_seconds(moment, zone) % 60


def milliseconds(moment: Timestamp, zone: str = "UTC") -> int:
    local_seconds(moment, zone)
    return moment.nanoseconds // 1_000_000 % 1000


def _whole(span: Duration, unit: int) -> int:
    """Whole units, rounded towards zero."""
    count = abs(span.nanoseconds) // unit
    return -count if span.nanoseconds < 0 else count


def duration_hours(span: Duration) -> int:
    return _whole(span, 3600 * times.SECOND)


def duration_minutes(span: Duration) -> int:
    return _whole(span, 60 * times.SECOND)


def duration_seconds(span: Duration) -> int:
    return _whole(span, times.SECOND)


def duration_milliseconds(span: Duration) -> int:
    """All of them, not those within the second (cel-go counts the whole span)."""
    return _whole(span, 1_000_000)


def _accessor(
    name: str,
    what: str,
    of_timestamp: Callable[..., int],
    of_duration: Callable[[Duration], int] | None = None,
) -> Iterable[Overload]:
    id = f"timestamp_to_{what}"
    yield from member(name, (id, (TIMESTAMP,), INT, of_timestamp))
    yield from member(name, (f"{id}_with_tz", (TIMESTAMP, STRING), INT, of_timestamp))
    if of_duration:
        yield from member(name, (f"duration_to_{what}", (DURATION,), INT, of_duration))


LIBRARY = Library(
    "timestamps",
    (
        *_accessor("getFullYear", "year", year),
        *_accessor("getMonth", "month", month),
        *_accessor("getDayOfYear", "day_of_year", day_of_year),
        *_accessor("getDayOfMonth", "day_of_month", day_of_month),
        *_accessor("getDate", "day_of_month_1_based", date),
        *_accessor("getDayOfWeek", "day_of_week", day_of_week),
        *_accessor("getHours", "hours", hours, duration_hours),
        *_accessor("getMinutes", "minutes", minutes, duration_minutes),
        *_accessor("getSeconds", "seconds", seconds, duration_seconds),
        *_accessor("getMilliseconds", "milliseconds", milliseconds, duration_milliseconds),
    ),
)
