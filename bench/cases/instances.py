"""The worst of many small random questions in which devices are scarce (`dibs.testing.tight`).

Whether the answers are right is for the comparison with an exact solver; here it is how long the
worst one takes: processor time, for slow ones the better of two, so that neither a busy machine
nor the collector of memory decides.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import time
from collections.abc import Iterator, Sequence

from bench import telling
from bench.case import Bench, Case, Ours, Theirs
from bench.clock import Took
from bench.deciding import BARE
from dibs.allocate import allocator
from dibs.allocate.outcome import Outcome, TimedOut
from dibs.supply.ledger import Ledger
from dibs.supply.pools import Supply
from dibs.testing import question as protocol
from dibs.testing import tight
from dibs.testing.question import Question
from dibs.testing.tight import Size

# What upstream may spend on one question, and each side on all of them.
LIMIT_S, ALL_S = 0.5, 30.0
SLOW_S = 0.002


def questions(bench: Bench, size: Size) -> Iterator[Question]:
    """Of medium ones a tenth as many, as in the comparison with the exact solver."""
    count = bench.instances if size is tight.SMALL else bench.instances // 10
    return (tight.question(seed, size) for seed in range(count))


def ours(bench: Bench, size: Size) -> Ours:
    spent: list[float] = []
    gave_up, all_s = 0, 0.0
    for asked in questions(bench, size):
        took_s, outcome = decided(asked)
        if SLOW_S < took_s < LIMIT_S:
            # Was it the question, or the collector of memory, or a selector met for the first time?
            took_s = min(took_s, decided(asked)[0])
        spent.append(took_s)
        all_s += took_s
        gave_up += isinstance(outcome, TimedOut)
        if all_s > ALL_S:
            break
    note = told(spent) + (f", {gave_up} given up" if gave_up else "")
    return Ours(Took(max(spent), max(spent), len(spent)), note=note)


def decided(asked: Question) -> tuple[float, Outcome]:
    """Seconds of processor time, with pools and ledger at hand and nothing else."""
    supply, ledger = Supply.of(asked.slices), Ledger.of(asked.allocated)
    classes = {each.metadata.name: each for each in asked.classes}
    before = time.process_time()
    outcome = allocator.allocate(asked.node, asked.claims, supply, ledger, classes, BARE)
    return time.process_time() - before, outcome


def theirs(bench: Bench, size: Size) -> Theirs:
    """As many of the same questions as the time for all of them lets it answer."""
    asker = subprocess.Popen(
        [bench.peer.program, "--timing"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"GOMAXPROCS": "1"},
    )
    assert asker.stdin is not None
    assert asker.stdout is not None
    spent: list[float] = []
    gave_up = 0
    end = time.perf_counter() + ALL_S
    for asked in questions(bench, size):
        asker.stdin.write(json.dumps({**protocol.tree(asked), "timeout_s": LIMIT_S}) + "\n")
        asker.stdin.flush()
        answer = json.loads(asker.stdout.readline())
        if answer["outcome"] == "mistake":
            continue  # It has a field that upstream doesn't know yet.
        spent.append(answer["elapsed_ms"] / 1e3)
        gave_up += answer["outcome"] == "timeout"
        if time.perf_counter() > end:
            break
    asker.stdin.close()
    asker.stdout.close()
    asker.wait()
    note = told(spent) + (f", {gave_up:,} cut at {LIMIT_S:g} s" if gave_up else "")
    return Theirs(Took(max(spent), None, len(spent), is_finished=not gave_up), note=note)


def told(spent: Sequence[float]) -> str:
    cuts = statistics.quantiles(spent, n=100)
    median, p99 = (telling.amount(cuts[place] * 1e3, "ms") for place in (49, 98))
    return f"{len(spent):,} asked, median {median}, p99 {p99}"


def case(size: Size, includes: str, goal: float | None = None) -> Case:
    return Case(
        f"random-{size.name}",
        "hard",
        "ms",
        includes,
        measure=lambda bench: ours(bench, size),
        peer=lambda bench: theirs(bench, size),
        goal=goal,
        flatters="upstream's figure has the making of its allocator and the compiling of "
        "selectors in it, dibs's the compiling once for all",
        is_slow=True,
    )


CASES = (
    case(
        tight.SMALL,
        "the worst of 10,000 random questions about one node of up to 10 devices, half of which "
        "have no answer",
        goal=10,
    ),
    case(
        tight.MEDIUM,
        "the same of 1,000 questions of up to 40 devices",
    ),
)
