"""Upstream's allocator, measured on the same world: the Go program of conformance/oracle.

`make oracle` builds it. Where it is missing nothing is measured and everything else goes on. It
runs on one thread and stops a task at a limit, so that an endless search ends.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from bench.clock import Runs, Took
from bench.world import Tree, World

BUILT = Path(__file__).parents[1] / "build" / "oracle"

# What kube-scheduler 1.37 has on by default of what the allocator can do.
DEFAULTS = (
    "adminAccess",
    "prioritizedList",
    "partitionableDevices",
    "deviceTaints",
    "deviceBindingAndStatus",
    "consumableCapacity",
)


@dataclass(frozen=True, slots=True)
class Answer:
    """`count`: how many nodes were feasible, or how many claims were placed."""

    took: Took
    outcome: str
    count: int


@dataclass(frozen=True, slots=True)
class Peer:
    """The program; its path may not exist, which `is_there` says."""

    program: Path = BUILT

    @property
    def is_there(self) -> bool:
        return self.program.is_file()

    def filter(self, world: World, runs: Runs, feasible: Sequence[int]) -> list[Answer]:
        """Make an allocator and ask nodes in order until so many fit; one answer for each."""
        return self.ask(world, runs, [{"kind": "filter", "feasible": each} for each in feasible])

    def fill(self, world: World, runs: Runs) -> Answer:
        """Place the claims one after another until one fits nowhere."""
        (answer,) = self.ask(world, replace(runs, least=1), [{"kind": "fill"}])
        return answer

    def selector(self, expression: str, device: Tree, runs: Runs, kind: str) -> Answer:
        """`compile` the expression, or `match` it with the device, which converts the device."""
        world = World((), (), (), ())
        asked = {"expr": expression, "device": device}
        (answer,) = self.ask(world, runs, [{"kind": kind}], selector=asked)
        return answer

    def ask(
        self,
        world: World,
        runs: Runs,
        tasks: Sequence[Mapping[str, object]],
        selector: Tree | None = None,
    ) -> list[Answer]:
        """Raises RuntimeError when the program fails, as it does for a malformed world."""
        limits = {"runs": runs.least, "limit_s": runs.limit_s}
        with tempfile.TemporaryFile() as given:
            asked = question(world, [{**each, **limits} for each in tasks], selector)
            given.write(msgspec.json.encode(asked))
            given.seek(0)
            done = subprocess.run(
                [self.program, "time"], stdin=given, capture_output=True, check=False
            )
        if done.returncode != 0:
            raise RuntimeError(f"{self.program}: {done.stderr.decode(errors='replace').strip()}")
        return [_answer(each) for each in json.loads(done.stdout)]


def question(world: World, tasks: Sequence[Tree], selector: Tree | None = None) -> Tree:
    """What the program reads."""
    return {
        "features": dict.fromkeys((*DEFAULTS, *sorted(world.needs)), True),
        "nodes": list(world.nodes),
        "slices": list(world.slices),
        "classes": list(world.classes),
        "claims": list(world.claims),
        "allocated": list(world.held),
        "tasks": list(tasks),
        **({"selector": selector} if selector else {}),
    }


def _answer(told: Tree) -> Answer:
    if told["outcome"] == "error":
        raise RuntimeError(f"the peer can't be measured on this: {told.get('message')}")
    seconds = told["seconds"]
    took = Took(statistics.median(seconds), None, len(seconds), told["finished"])
    return Answer(took, told["outcome"], told["count"])
