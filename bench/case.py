"""What a benchmark is: a name, what its figure includes, a goal, and how each side is measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from bench import clock
from bench.clock import Runs, Took
from bench.peer import Answer, Peer

Unit = Literal["s", "ms", "µs", "ns", "MB", "claims/s", "pods/s", "events/s"]
# From seconds; the others are what they are.
SCALE: dict[str, float] = {"s": 1.0, "ms": 1e3, "µs": 1e6, "ns": 1e9}
# Of which more is better: a goal is what it is at least.
RATES = frozenset(("claims/s", "pods/s", "events/s"))

SECTIONS = {
    "everyday": "The common decision",
    "hard": "Hard questions for one node",
    "upstream": "The shapes of upstream's scheduler_perf, allocator only",
    "nodes": "Cost against nodes",
    "devices": "Cost against devices a node",
    "requests": "Cost against requests",
    "filling": "Filling a cluster",
    "snapshots": "Snapshots",
    "selectors": "Selectors",
    "plane": "A control plane on one box: `dibs up`",
    "commands": "Commands and memory",
}

Task: TypeAlias = Callable[[], object]


@dataclass(frozen=True)
class Bench:
    """Where inputs are written, how often things run, and who else is measured."""

    folder: Path
    runs: Runs = field(default_factory=Runs)
    peer: Peer = field(default_factory=Peer)
    # How many random instances; a quick run has fewer.
    instances: int = 10_000


@dataclass(frozen=True, slots=True)
class Ours:
    """dibs's figure: a time, or `value` where it is no time, and what it would be by processor
    time. `note` is told beside it.
    """

    took: Took
    value: float | None = None
    by_cpu: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Theirs:
    """The peer's figure; `first` is what it takes to find one node only."""

    took: Took
    first: Took | None = None
    value: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Case:
    """`prepare` makes the task that is timed, and that `--profile` looks into; `measure` is for
    what is measured otherwise. `at` is the size, in cases that make up a curve.
    """

    name: str
    section: str
    unit: Unit
    includes: str
    prepare: Callable[[Bench], Task] | None = None
    measure: Callable[[Bench], Ours] | None = None
    peer: Callable[[Bench], Theirs] | None = None
    goal: float | None = None
    at: int | None = None
    # What of this comparison flatters whom.
    flatters: str = ""
    inner: int = 1
    # Left out of a quick run.
    is_slow: bool = False

    def ours(self, bench: Bench) -> Ours:
        if self.measure is not None:
            return self.measure(bench)
        assert self.prepare is not None, "a case has one or the other"
        return Ours(clock.sampled(self.prepare(bench), bench.runs, inner=self.inner))

    def theirs(self, bench: Bench) -> Theirs | None:
        if self.peer is None or not bench.peer.is_there:
            return None
        return self.peer(bench)


def agreed(answer: Answer, expected: str) -> Took:
    """The peer's time, if its answer is the one that dibs is held to, or it gave up."""
    assert answer.outcome in (expected, "timeout"), f"the peer says {answer.outcome}"
    return answer.took
