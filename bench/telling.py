"""How figures are worded, for the terminal and for the page."""

from __future__ import annotations

from bench.case import RATES
from bench.figures import Record, is_met

# In thousandths of each other, so that 1,830 µs is told as 1.83 ms.
_TIMES = ("ns", "µs", "ms", "s")


def amount(value: float | None, unit: str) -> str:
    """Three digits and the unit in which they read best."""
    if value is None:
        return "–"
    while unit in _TIMES[:-1] and value >= 1000:
        value, unit = value / 1000, _TIMES[_TIMES.index(unit) + 1]
    while unit in _TIMES[1:] and 0 < value < 1:
        value, unit = value * 1000, _TIMES[_TIMES.index(unit) - 1]
    digits = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return f"{digits} {unit}"


def peer(record: Record) -> str:
    if not record["has_peer"]:
        return "–"
    if record["peer"] is None:
        return "not measured"
    told = amount(record["peer"], record["unit"])
    return told if record["peer_finished"] else f"> {told}, not finished"


def first(record: Record) -> str:
    return amount(record["peer_first"], record["unit"])


def ratio(record: Record) -> str:
    """In words that need no legend: how many times faster, or smaller, dibs is."""
    found = record["ratio"]
    if found is None:
        return "–"
    if record["unit"] in RATES:
        found = 1 / found
    better, worse = ("less", "more") if record["unit"] == "MB" else ("faster", "slower")
    at_least = "" if record["peer_finished"] or found > 1 else "> "
    times, word = (1 / found, better) if found <= 1 else (found, worse)
    digits = f"{times:,.0f}" if times >= 10 else f"{times:.1f}"
    return f"{at_least}{digits}× {word}"


def goal(record: Record) -> str:
    if record["goal"] is None:
        return "–"
    return f"{'≥' if record['unit'] in RATES else '≤'} {amount(record['goal'], record['unit'])}"


def verdict(record: Record) -> str:
    met = is_met(record)
    return "–" if met is None else "met" if met else "not met"
