"""Medians of wall-clock time, in this process and of whole commands, and what machine it was."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path


def median_s(task: Callable[[], object], *, runs: int = 5, inner: int = 1) -> float:
    """Seconds for one call of `task`: median of `runs`, each the mean of `inner` calls."""
    task()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        for _ in range(inner):
            task()
        times.append((time.perf_counter() - start) / inner)
    return statistics.median(times)


def command_median_s(
    command: Sequence[str], *, runs: int = 5, expected: Sequence[int] = (0,)
) -> float:
    """Seconds from starting a process to its end. Raises RuntimeError when it answers otherwise."""
    return median_s(lambda: _run(command, expected), runs=runs)


def dibs(*arguments: str) -> list[str]:
    """The command line of the dibs that belongs to this Python."""
    return [str(Path(sys.executable).with_name("dibs")), *arguments]


def machine() -> str:
    """Cores, processor, system and Python: what a figure is worth nothing without."""
    return (
        f"{os.cpu_count()} cores, {_processor()}, {platform.system()}, "
        f"Python {platform.python_version()}"
    )


def _run(command: Sequence[str], expected: Sequence[int]) -> None:
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode not in expected:
        told = done.stderr.decode(errors="replace").strip()
        raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}: {told[-400:]}")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
