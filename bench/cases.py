"""What is measured: one `Case` a figure, with what the figure includes and the goal it has.

Whole commands are timed from starting the process to its end. The others are one call in this
process, objects ready, nothing remembered from an earlier call unless the case says so.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from bench import clock, clusters
from bench.clock import Took
from bench.clusters import Tree
from dibs.allocate import allocator
from dibs.allocate.outcome import Allocated, Outcome, Refused
from dibs.allocate.selecting import Answers
from dibs.model import codec
from dibs.model.core import Node
from dibs.model.objects import DeviceClass, ResourceClaim, ResourceSlice
from dibs.request import selectors
from dibs.request.views import DeviceView
from dibs.supply.ledger import Ledger
from dibs.supply.pools import Supply

SCALE = {"s": 1.0, "ms": 1e3, "µs": 1e6}


@dataclass
class Bench:
    """Where inputs are written, how often each case runs, and inputs that are made once."""

    folder: Path
    runs: int = 5
    nodes: int = 500
    devices: int = 8

    @cached_property
    def full(self) -> Tree:
        """Every device held, one Pod pending."""
        return clusters.dump(self.nodes, self.devices, held=self.nodes * self.devices)

    @cached_property
    def json_dump(self) -> Path:
        path = self.folder / "cluster.json"
        path.write_text(json.dumps(self.full, indent=2))
        return path

    @cached_property
    def yaml_dump(self) -> Path:
        path = self.folder / "cluster.yaml"
        dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
        path.write_text(yaml.dump(self.full, Dumper=dumper, sort_keys=True))
        return path


@dataclass(frozen=True, slots=True)
class Case:
    """The figure is told in `unit`, and so is the goal."""

    name: str
    unit: str
    includes: str
    measure: Callable[[Bench], Took]
    goal: float | None = None
    # Cases that take long are left out of a quick run.
    is_slow: bool = field(default=False)


# --- whole commands ----------------------------------------------------------------------------


def why_json(bench: Bench) -> Took:
    command = clock.dibs("why", "pod/pending", "-f", str(bench.json_dump))
    return clock.command(command, runs=bench.runs, expected=1)


def why_yaml(bench: Bench) -> Took:
    command = clock.dibs("why", "pod/pending", "-f", str(bench.yaml_dump))
    return clock.command(command, runs=bench.runs, expected=1)


def help_text(bench: Bench) -> Took:
    return clock.command(clock.dibs("--help"), runs=2 * bench.runs)


def importing(bench: Bench) -> Took:
    """The engine's imports on top of an empty Python."""
    engine = [sys.executable, "-c", "import dibs.schedule.pods, dibs.client.dump"]
    nothing = [sys.executable, "-c", "pass"]
    runs = 2 * bench.runs
    return clock.command(engine, runs=runs).minus(clock.command(nothing, runs=runs))


# --- the selector language ---------------------------------------------------------------------


def cel_compile(bench: Bench) -> Took:
    """Every time another expression: compiled ones are remembered."""
    sizes = itertools.count(1)

    def task() -> None:
        selectors.compile(clusters.SELECTOR.replace("80Gi", f"{next(sizes)}Gi"))

    return clock.median(task, runs=bench.runs, inner=200)


def cel_evaluate(bench: Bench) -> Took:
    program = selectors.compile(clusters.SELECTOR).program
    view = DeviceView.of(clusters.DRIVER, _slice(2, 1).spec.devices[0])
    assert program.evaluate(view.activation)[0] is True
    return clock.median(lambda: program.evaluate(view.activation), runs=bench.runs, inner=20_000)


def cel_match(bench: Bench) -> Took:
    selector = selectors.Selector.compile(clusters.SELECTOR)
    ((listing,),) = _supply([_slice(2, 1)]).by_pool.values()
    (candidate,) = listing.candidates
    return clock.median(lambda: selector.matches(candidate), runs=bench.runs, inner=5_000)


# --- objects -----------------------------------------------------------------------------------


def decode(bench: Bench) -> Took:
    trees = [clusters.resource_slice(index, 8) for index in range(1000)]

    def task() -> None:
        for tree in trees:
            codec.decode(tree)

    return clock.median(task, runs=bench.runs)


# --- decisions ---------------------------------------------------------------------------------


def one_claim(bench: Bench) -> Took:
    """All nodes in order until one fits: the last of 500, all others are full."""
    supply = _supply([_slice(index, bench.devices) for index in range(bench.nodes)])
    full = (bench.nodes - 1) * bench.devices
    places = [(node, device) for node in range(bench.nodes) for device in range(bench.devices)]
    held = [clusters.held_claim(number, *place) for number, place in enumerate(places[:full])]
    ledger = Ledger.of([_read(tree, ResourceClaim) for tree in held])
    nodes = [_read(clusters.node(index), Node) for index in range(bench.nodes)]
    claim = _read(clusters.claim("one", [clusters.request()]), ResourceClaim)

    def task() -> None:
        for node in nodes[:-1]:
            assert isinstance(_allocate(node, claim, supply, ledger), Refused)
        assert isinstance(_allocate(nodes[-1], claim, supply, ledger), Allocated)

    return clock.median(task, runs=bench.runs)


def one_of_many(wanted: int, devices: int) -> Callable[[Bench], Took]:
    """One request for more equal devices than there are."""

    def measure(bench: Bench) -> Took:
        claim = clusters.claim("many", [clusters.request("gpu", wanted)])
        return _refusal_s(bench, claim, devices)

    return measure


def requests_on(wanted: int, devices: int) -> Callable[[Bench], Took]:
    """That many requests of one device each, on one device less."""

    def measure(bench: Bench) -> Took:
        requests = [clusters.request(f"r{index:02}") for index in range(wanted)]
        return _refusal_s(bench, clusters.claim("many", requests), devices)

    return measure


def _refusal_s(bench: Bench, claim: Tree, devices: int) -> Took:
    supply = _supply([_slice(0, devices)])
    ledger = Ledger.of(())
    node = _read(clusters.node(0), Node)
    wanted = _read(claim, ResourceClaim)

    def task() -> None:
        assert isinstance(_allocate(node, wanted, supply, ledger), Refused)

    return clock.median(task, runs=bench.runs, inner=20)


def _allocate(node: Node, claim: ResourceClaim, supply: Supply, ledger: Ledger) -> Outcome:
    return allocator.allocate(node, [claim], supply, ledger, CLASSES, answers=ANSWERS)


def _read(tree: Tree, kind: type[Any]) -> Any:
    decoded = codec.decode(tree)
    assert isinstance(decoded.object, kind), decoded.faults
    return decoded.object


def _slice(index: int, devices: int) -> ResourceSlice:
    found: ResourceSlice = _read(clusters.resource_slice(index, devices), ResourceSlice)
    return found


def _supply(slices: list[ResourceSlice]) -> Supply:
    return Supply.of(slices)


CLASSES = {clusters.DRIVER: _read(clusters.device_class(), DeviceClass)}
# Selectors are compiled once for all decisions, as the scheduler does.
ANSWERS = Answers()

ALL = (
    Case(
        "why-json",
        "s",
        "`dibs why pod/pending` on a JSON dump: start, reading 500 nodes, 4,000 devices and 4,000 "
        "allocated claims, deciding on one Pod, the answer",
        why_json,
        goal=2,
        is_slow=True,
    ),
    Case(
        "why-yaml",
        "s",
        "the same on a YAML dump",
        why_yaml,
        is_slow=True,
    ),
    Case("help", "ms", "`dibs --help`, from start to end of the process", help_text, goal=150),
    Case("import", "ms", "importing engine and reader, beyond an empty Python", importing),
    Case("cel-compile", "µs", "a selector of two conditions, from text to function", cel_compile),
    Case(
        "cel-evaluate",
        "µs",
        "that selector on a device that matches, prepared for the language",
        cel_evaluate,
        goal=5,
    ),
    Case("cel-match", "µs", "the same, the device prepared anew", cel_match),
    Case("decode", "ms", "1,000 slices of 8 devices, from JSON trees to objects", decode),
    Case(
        "one-claim",
        "ms",
        "one device of 500 nodes of 8, all full but the last: 499 refusals with all their reasons, "
        "one allocation",
        one_claim,
    ),
    Case("devices-5-of-4", "ms", "a refusal with reasons", one_of_many(5, 4), goal=10),
    Case("devices-32-of-31", "ms", "a refusal with reasons", one_of_many(32, 31), goal=10),
    Case("requests-12-on-11", "ms", "a refusal with reasons", requests_on(12, 11), goal=10),
    Case("requests-32-on-31", "ms", "a refusal with reasons", requests_on(32, 31), goal=10),
)
