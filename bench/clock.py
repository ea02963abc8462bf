"""Samples of time, in this process and of whole commands; peak memory; and what machine it was."""

from __future__ import annotations

import atexit
import gc
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
# Short tasks are repeated until there are many samples, or for this long (the peer does alike).
_SAMPLED_FOR_S = 0.3
_MOST_SAMPLES = 1000


@dataclass(frozen=True, slots=True)
class Took:
    """Medians of `n` samples: seconds by the clock, and of processor time, where that is known.

    On a busy machine the two part. `is_finished` is false where a limit ended the only sample.
    """

    clock_s: float
    cpu_s: float | None
    n: int
    is_finished: bool = True

    def minus(self, other: Took) -> Took:
        assert self.cpu_s is not None
        assert other.cpu_s is not None
        return Took(self.clock_s - other.clock_s, self.cpu_s - other.cpu_s, self.n)


@dataclass(frozen=True, slots=True)
class Runs:
    """How often: at least so many samples, and no new one once `limit_s` is used up."""

    least: int = 5
    limit_s: float = 10.0


def sampled(task: Callable[[], object], runs: Runs, *, inner: int = 1) -> Took:
    """What one call of `task` takes. The first call is for warming up, unless it is a slow one.

    Samples are means of `inner` calls. Processes that the task waits for count in `cpu_s`.
    """
    gc.collect()
    first = _sample(task, 1)
    if first[0] > runs.limit_s / (runs.least + 1):
        return Took(*first, n=1)
    samples: list[tuple[float, float]] = []
    total = 0.0
    while len(samples) < _MOST_SAMPLES:
        if len(samples) >= runs.least and total >= min(_SAMPLED_FOR_S, runs.limit_s):
            break
        samples.append(_sample(task, inner))
        total += samples[-1][0] * inner
    clock, cpu = zip(*samples, strict=True)
    return Took(statistics.median(clock), statistics.median(cpu), len(samples))


def command(arguments: Sequence[str], runs: Runs, *, expected: int = 0) -> Took:
    """From starting a process to its end. Raises RuntimeError for another exit code."""
    # So that what Python compiles once isn't in any sample, however few there are.
    run(arguments, expected)
    return sampled(lambda: run(arguments, expected), runs)


def run(arguments: Sequence[str], expected: int = 0, given: Path | None = None) -> bytes:
    """What the command writes, with the file `given` for its input. Raises RuntimeError for another
    exit code."""
    # As installed: pip compiles what it installs, so from the second run on nothing is compiled.
    # A shell that keeps Python from writing bytecode (CI, containers) would measure the compiler.
    environment = {name: value for name, value in os.environ.items() if name != _NO_BYTECODE}
    environment["PYTHONPYCACHEPREFIX"] = _bytecode()
    with (given or Path(os.devnull)).open("rb") as source:
        done = subprocess.run(
            arguments, stdin=source, capture_output=True, check=False, env=environment
        )
    if done.returncode != expected:
        told = done.stderr.decode(errors="replace").strip()
        raise RuntimeError(f"{' '.join(arguments)}: exit code {done.returncode}: {told[-400:]}")
    return done.stdout


# A process is charged with the memory of the one that started it, up to where it became another
# program: so it is started by a small one.
_STARTER = """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(child.pid, 0)
print(used.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status) & 255)
"""


def peak_mb(arguments: Sequence[str], given: Path | None = None) -> float:
    """The most memory that a command had resident, in MB. Raises RuntimeError if it fails."""
    told = run([sys.executable, "-c", _STARTER, *arguments], given=given)
    # Linux counts KiB, macOS bytes.
    return int(told) / (1e6 if sys.platform == "darwin" else 1e6 / 1024)


def dibs(*arguments: str) -> list[str]:
    """The command line of the dibs that belongs to this Python."""
    return [str(Path(sys.executable).with_name("dibs")), *arguments]


def machine() -> str:
    """Cores, processor, system and Python: what a figure is worth nothing without."""
    return (
        f"{os.cpu_count()} cores, {_processor()}, {platform.system()}, "
        f"Python {platform.python_version()}"
    )


def _sample(task: Callable[[], object], inner: int) -> tuple[float, float]:
    start, before = time.perf_counter(), _cpu_s()
    for _ in range(inner):
        task()
    took = time.perf_counter() - start
    return took / inner, (_cpu_s() - before) / inner


def _cpu_s() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


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
