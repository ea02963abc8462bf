"""The selector language: from text to function, and that function on a device."""

from __future__ import annotations

import itertools

from bench import clusters
from bench.case import Bench, Case, Task, Theirs, agreed
from bench.peer import Answer
from bench.world import World
from dibs.request import selectors
from dibs.request.views import DeviceView


def compiling(bench: Bench) -> Task:
    """Every time another expression: compiled ones are remembered."""
    sizes = itertools.count(1)
    return lambda: selectors.compile(clusters.SELECTOR.replace("80Gi", f"{next(sizes)}Gi"))


def evaluating(bench: Bench) -> Task:
    program = selectors.compile(clusters.SELECTOR).program
    view = DeviceView.of(clusters.DRIVER, world().read.slices[0].spec.devices[0])
    assert program.evaluate(view.activation)[0] is True
    return lambda: program.evaluate(view.activation)


def matching(bench: Bench) -> Task:
    selector = selectors.Selector.compile(clusters.SELECTOR)
    ((listing,),) = world().read.supply.by_pool.values()
    (candidate,) = listing.candidates
    assert selector.matches(candidate)
    return lambda: selector.matches(candidate)


def compiled_there(bench: Bench) -> Theirs:
    return Theirs(agreed(peer(bench, "compile"), "allocated"))


def matched_there(bench: Bench) -> Theirs:
    return Theirs(agreed(peer(bench, "match"), "allocated"))


def peer(bench: Bench, kind: str) -> Answer:
    device = clusters.device(2, 0, 2)
    asked = {"driver": clusters.DRIVER, **{key: device[key] for key in ("attributes", "capacity")}}
    return bench.peer.selector(clusters.SELECTOR, asked, bench.runs, kind)


def world() -> World:
    return World((), [clusters.resource_slice(2, 1)], (), ())


CASES = (
    Case(
        "cel-compile",
        "selectors",
        "µs",
        "a selector of two conditions, from text to function",
        prepare=compiling,
        peer=compiled_there,
        inner=50,
        flatters="upstream: without its estimate of cost, as its scheduler compiles",
    ),
    Case(
        "cel-match",
        "selectors",
        "µs",
        "that selector on a device that matches, the device prepared anew",
        prepare=matching,
        peer=matched_there,
        inner=1_000,
    ),
    Case(
        "cel-evaluate",
        "selectors",
        "µs",
        "the same, the device prepared already, as within a decision",
        prepare=evaluating,
        inner=5_000,
        goal=5,
    ),
)
