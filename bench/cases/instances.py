"""The worst of many small random questions in which devices are scarce (`dibs.testing.tight`).

Whether the answers are right is for the comparison with an exact solver; here it is how long the
worst one takes. Processor time, once each, so that neither a busy machine nor luck decides.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import time
from collections.abc import Iterator, Sequence

from bench.case import Bench, Case, Ours, Theirs
from bench.clock import Took
from bench.deciding import BARE
from dibs.allocate import allocator
from dibs.allocate.outcome import TimedOut
from dibs.supply.ledger import Ledger
from dibs.supply.pools import Supply
from dibs.testing import question as protocol
from dibs.testing import tight
from dibs.testing.question import Question

# What upstream may spend on one question, and on all of them.
LIMIT_S, ALL_S = 0.5, 30.0


def questions(count: int) -> Iterator[Question]:
    """Half small, half medium."""
    for seed in range(count):
        yield tight.question(seed, tight.MEDIUM if seed % 2 else tight.SMALL)


def ours(bench: Bench) -> Ours:
    spent: list[float] = []
    gave_up = 0
    for asked in questions(bench.instances):
        supply, ledger = Supply.of(asked.slices), Ledger.of(asked.allocated)
        classes = {each.metadata.name: each for each in asked.classes}
        before = time.process_time()
        outcome = allocator.allocate(asked.node, asked.claims, supply, ledger, classes, BARE)
        spent.append(time.process_time() - before)
        gave_up += isinstance(outcome, TimedOut)
    note = told(spent) + (f", {gave_up} given up" if gave_up else "")
    return Ours(Took(max(spent), max(spent), len(spent)), note=note)


def theirs(bench: Bench) -> Theirs:
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
    for asked in questions(bench.instances):
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
    note = told(spent) + (
        f", {gave_up:,} of {len(spent):,} cut at {LIMIT_S:g} s" if gave_up else ""
    )
    return Theirs(Took(max(spent), None, len(spent), is_finished=not gave_up), note=note)


def told(spent: Sequence[float]) -> str:
    cuts = statistics.quantiles(spent, n=100)
    return f"median {cuts[49] * 1e3:.2g} ms, p99 {cuts[98] * 1e3:.2g} ms"


CASES = (
    Case(
        "random-worst",
        "hard",
        "ms",
        "the worst of 10,000 small random questions about one node, half of which have no answer",
        measure=ours,
        peer=theirs,
        goal=10,
        flatters="upstream's figure has the making of its allocator and the compiling of "
        "selectors in it, dibs's the compiling once for all",
        is_slow=True,
    ),
)
