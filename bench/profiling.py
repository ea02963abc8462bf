"""Where dibs's time goes: a profile of one task, summed up by room and by function."""

from __future__ import annotations

import cProfile
import pstats
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import dibs
from bench.case import Bench, Case, Task

# Long enough for a sample that means something; the profiler itself takes part of it.
_PROFILED_FOR_S = 1.0
_SHOWN = 12
_HOME = Path(dibs.__file__).parent


def show(cases: Sequence[Case], bench: Bench) -> None:
    """Print each case's profile. Small functions look larger than they are: calls cost extra."""
    for case in cases:
        assert case.prepare is not None, "there is a task to look into"
        stats, calls = profiled(case.prepare(bench))
        print(f"{case.name}: {calls:,} profiled calls, {stats.total_tt / calls * 1e6:,.1f} µs each")
        rows = own_times(stats)
        for title, found in (("room", by_room(rows)), ("function", rows)):
            total = sum(found.values())
            for name, spent in sorted(found.items(), key=lambda each: -each[1])[:_SHOWN]:
                print(f"  {title:<9} {spent / total:6.1%}  {name}")


def profiled(task: Task) -> tuple[pstats.Stats, int]:
    """Everything is warm: the task has run once before."""
    task()
    # Processor time: others on the machine are not in it.
    profile = cProfile.Profile(time.process_time)
    calls = 0
    end = time.perf_counter() + _PROFILED_FOR_S
    profile.enable()
    while time.perf_counter() < end:
        task()
        calls += 1
    profile.disable()
    return pstats.Stats(profile), calls


def own_times(stats: pstats.Stats) -> dict[str, float]:
    """Seconds in each function itself, by "room/file.py:function"."""
    found: dict[str, float] = defaultdict(float)
    for (file, _, function), (_, _, own, _, _) in stats.stats.items():  # type: ignore[attr-defined]
        found[f"{_place(file)}:{function}"] += own
    return found


def by_room(rows: dict[str, float]) -> dict[str, float]:
    found: dict[str, float] = defaultdict(float)
    for name, own in rows.items():
        found[name.partition("/")[0].partition(":")[0]] += own
    return found


def _place(file: str) -> str:
    path = Path(file)
    if path.is_relative_to(_HOME):
        return str(path.relative_to(_HOME))
    return "bench" if "bench" in path.parts else "Python"
