"""Whole commands, from starting the process to its end; and what a cluster takes of memory."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec
import yaml

from bench import clock, clusters
from bench.case import Bench, Case, Ours, Theirs
from bench.cases import everyday
from bench.clock import Took
from bench.peer import question
from bench.world import Tree

NODES, DEVICES = 500, 8


def full(nodes: int, devices: int) -> Tree:
    """Every device held, one Pod pending."""
    return clusters.dump(nodes, devices, held=nodes * devices)


def why_json(bench: Bench) -> Ours:
    return why(bench, written(bench, "cluster.json", NODES, DEVICES))


def why_yaml(bench: Bench) -> Ours:
    path = bench.folder / "cluster.yaml"
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    path.write_text(yaml.dump(full(NODES, DEVICES), Dumper=dumper, sort_keys=True))
    return why(bench, path)


def why(bench: Bench, dump: Path) -> Ours:
    command = clock.dibs("why", "pod/pending", "-f", str(dump))
    return Ours(clock.command(command, bench.runs, expected=1))


def help_text(bench: Bench) -> Ours:
    return Ours(clock.command(clock.dibs("--help"), bench.runs))


def importing(bench: Bench) -> Ours:
    """The engine's imports on top of an empty Python."""
    engine = [sys.executable, "-c", "import dibs.schedule.pods, dibs.client.dump"]
    nothing = [sys.executable, "-c", "pass"]
    took = clock.command(engine, bench.runs)
    return Ours(took.minus(clock.command(nothing, bench.runs)))


LOADING = """
import sys
from dibs.client import dump
from dibs.schedule.snapshot import Snapshot
from dibs.schedule.state import State
state = State.of(Snapshot.of(dump.load([sys.argv[1]], stdin=sys.stdin.buffer).objects))
assert len(state.nodes) == int(sys.argv[2])
"""


def memory(held: int) -> Case:
    """`held` of 40,000 devices."""
    nodes, devices = 5_000, 8

    def ours(bench: Bench) -> Ours:
        path = bench.folder / "large.json"
        path.write_text(json.dumps(clusters.dump(nodes, devices, held=held), indent=2))
        peak = clock.peak_mb([sys.executable, "-c", LOADING, str(path), str(nodes)])
        return Ours(NO_TIME, peak)

    def theirs(bench: Bench) -> Theirs:
        """The same objects decoded in Go, and one allocator made of them."""
        places = [(node, device) for node in range(nodes) for device in range(devices)]
        world = clusters.cluster(nodes, devices, places[:held], everyday.ONE)
        path = bench.folder / "large-there.json"
        task = {"kind": "filter", "feasible": 1, "runs": 1, "limit_s": 10}
        path.write_bytes(msgspec.json.encode(question(world, [task])))
        return Theirs(NO_TIME, value=clock.peak_mb([str(bench.peer.program), "time"], path))

    return Case(
        f"memory-{held}",
        "commands",
        "MB",
        "the most a process has resident that reads a JSON dump of 5,000 nodes of 8 devices and "
        f"{held:,} allocated claims, and is ready to decide",
        measure=ours,
        peer=theirs,
        # It was set for a cluster that is loaded; half of it being held is what snapshots have.
        goal=600 if held == 20_000 else None,
        flatters="upstream: the process decodes, and makes one allocator; caches and informers of "
        "kube-scheduler are not in it",
        is_slow=True,
    )


NO_TIME = Took(0, None, 1)


def written(bench: Bench, name: str, nodes: int, devices: int) -> Path:
    path = bench.folder / name
    path.write_text(json.dumps(full(nodes, devices), indent=2))
    return path


CASES = (
    Case(
        "why-json",
        "commands",
        "s",
        "`dibs why pod/pending` on a JSON dump: start, reading 500 nodes, 4,000 devices and 4,000 "
        "allocated claims, deciding on one Pod, the answer",
        measure=why_json,
        goal=2,
        is_slow=True,
    ),
    Case("why-yaml", "commands", "s", "the same on a YAML dump", measure=why_yaml, is_slow=True),
    Case("help", "commands", "ms", "`dibs --help`", measure=help_text, goal=150),
    Case(
        "import",
        "commands",
        "ms",
        "importing engine and reader, beyond an empty Python",
        measure=importing,
    ),
    memory(20_000),
    memory(40_000),
)
