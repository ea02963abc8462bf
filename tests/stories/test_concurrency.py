"""The concurrency story: all loops, users who do anything, and a cluster on its worst days.

What must be so is written down in `dibs.testing.audit` and `simulation.leftovers`. Each seed is one
story; `--hypothesis-profile=long` looks at a thousand.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from dibs.testing import simulation

SEEDS = 48
LONG_SEEDS = 1008
# A few tests, so that a run says how far it came.
PARTS = 6


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_is_held_twice_stuck_lost_or_unexplained(
    part: int, request: pytest.FixtureRequest
) -> None:
    profile = request.config.getoption("--hypothesis-profile")
    seeds = LONG_SEEDS if profile == "long" else SEEDS
    stories = [simulation.lived(seed) for seed in range(part, seeds, PARTS)]
    bad = [simulation.told(story) for story in stories if story.faults]
    assert not bad, "\n" + "\n".join(bad)


@pytest.mark.slow
def test_the_stories_are_about_something() -> None:
    stories = [simulation.lived(seed) for seed in range(5)]
    assert sum(story.given for story in stories) >= 10
    assert sum(story.bound for story in stories) >= 10


@pytest.mark.slow
def test_a_seed_is_told_the_same_each_time() -> None:
    """Also by a process that hashes strings another way: the order of sets is no part of it."""
    code = "from dibs.testing import simulation; print(simulation.lived(11).digest)"
    told = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert told[0] == told[1]
