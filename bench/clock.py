"""Medians of time, in this process and of whole commands, and what machine it was."""

from __future__ import annotations

import atexit
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds by the clock, and seconds of processor time: on a busy machine the two part."""

    clock_s: float
    cpu_s: float

    def minus(self, other: Took) -> Took:
        return Took(self.clock_s - other.clock_s, self.cpu_s - other.cpu_s)


def median(task: Callable[[], object], *, runs: int = 5, inner: int = 1) -> Took:
    """What one call of `task` takes: medians of `runs`, each the mean of `inner` calls.

    The first call is for warming up and doesn't count. Processes that the task waits for do.
    """
    task()
    samples = []
    for _ in range(runs):
        start, before = time.perf_counter(), _cpu_s()
        for _ in range(inner):
            task()
        samples.append(((time.perf_counter() - start) / inner, (_cpu_s() - before) / inner))
    clock, cpu = zip(*samples, strict=True)
    return Took(statistics.median(clock), statistics.median(cpu))


def command(arguments: Sequence[str], *, runs: int = 5, expected: int = 0) -> Took:
    """From starting a process to its end. Raises RuntimeError for another exit code."""
    return median(lambda: _run(arguments, expected), runs=runs)


def _cpu_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def dibs(*arguments: str) -> list[str]:
    """The command line of the dibs that belongs to this Python."""
    return [str(Path(sys.executable).with_name("dibs")), *arguments]


def machine() -> str:
    """Cores, processor, system and Python: what a figure is worth nothing without."""
    return (
        f"{os.cpu_count()} cores, {_processor()}, {platform.system()}, "
        f"Python {platform.python_version()}"
    )


def _run(arguments: Sequence[str], expected: int) -> None:
    # As installed: pip compiles what it installs, so from the second run on nothing is compiled.
    # A shell that keeps Python from writing bytecode (CI, containers) would measure the compiler.
    environment = {name: value for name, value in os.environ.items() if name != _NO_BYTECODE}
    environment["PYTHONPYCACHEPREFIX"] = _bytecode()
    done = subprocess.run(arguments, capture_output=True, check=False, env=environment)
    if done.returncode != expected:
        told = done.stderr.decode(errors="replace").strip()
        raise RuntimeError(f"{' '.join(arguments)}: exit code {done.returncode}: {told[-400:]}")


@cache
def _bytecode() -> str:
    """A folder for compiled modules that lasts as long as this process."""
    folder = tempfile.mkdtemp(prefix="dibs-bench-bytecode.")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
