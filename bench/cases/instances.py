"""The worst of many small random questions: plain ones (`dibs.testing.worlds`), and ones in which
devices are scarce (`dibs.testing.tight`).

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
from itertools import count, islice

from bench import telling
from bench.case import Bench, Case, Ours, Theirs
from bench.clock import Took
from bench.deciding import BARE
from dibs.allocate import allocator
from dibs.allocate.outcome import Outcome, TimedOut
from dibs.supply.ledger import Ledger
from dibs.supply.pools import Supply
from dibs.testing import question as protocol
from dibs.testing import tight, worlds
from dibs.testing.question import Question
from dibs.testing.tight import Size

# What upstream may spend on one question, and each side on all of them.
LIMIT_S, ALL_S = 0.5, 30.0
SLOW_S = 0.002


# None is for plain worlds, which nobody has made hard.
def questions(bench: Bench, size: Size | None) -> Iterator[Question]:
    """Of medium ones a tenth as many, as in the comparison with the exact solver."""
    if size is None:
        every = (question for seed in count() for question in worlds.world(seed).questions())
        return islice(every, bench.instances)
    number = bench.instances if size is tight.SMALL else bench.instances // 10
    return (tight.question(seed, size) for seed in range(number))


def ours(bench: Bench, size: Size | None) -> Ours:
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


def theirs(bench: Bench, size: Size | None) -> Theirs:
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


def case(size: Size | None, includes: str, goal: float | None = None) -> Case:
    return Case(
        f"random-{size.name if size is not None else 'worlds'}",
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
        None,
        "the worst of 10,000 random questions about one node of up to 6 devices, of all features",
        goal=10,
    ),
    case(
        tight.SMALL,
        "the worst of 10,000 such questions that are made to be hard: up to 10 devices, all "
        "scarce, half of them without an answer",
    ),
    case(
        tight.MEDIUM,
        "the same of 1,000 questions of up to 40 devices",
    ),
)
