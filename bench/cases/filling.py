"""Filling a cluster, claim by claim, until no device is left: decisions a second."""

from __future__ import annotations

import time

from bench import clusters
from bench.case import Bench, Case, Ours, Task, Theirs
from bench.clock import Took
from bench.world import World
from dibs.schedule import pods
from dibs.schedule.plan import Placed
from dibs.schedule.snapshot import Snapshot


def world(nodes: int, devices: int) -> World:
    claims = [
        clusters.claim(f"claim-{number:05}", [clusters.request()])
        for number in range(nodes * devices)
    ]
    return clusters.cluster(nodes, devices, (), *claims)


def snapshot(filled: World) -> Snapshot:
    read = filled.read
    return Snapshot.of([*read.nodes, *read.slices, *read.classes.values(), *read.claims])


def planned(bench: Bench, filled: World) -> Ours:
    """`pods.plan`, for as long as the limit lets it."""
    limit_s = bench.runs.limit_s
    start, before = time.perf_counter(), time.process_time()
    placed = 0
    for decision, _ in pods.steps(snapshot(filled)):
        assert isinstance(decision, Placed), decision
        placed += 1
        if time.perf_counter() - start > limit_s:
            break
    took = Took(time.perf_counter() - start, time.process_time() - before, 1)
    note = "" if placed == len(filled.claims) else f"{placed:,} claims within {limit_s:g} s"
    assert took.cpu_s is not None
    return Ours(took, placed / took.clock_s, placed / took.cpu_s, note)


def filled_there(bench: Bench, filled: World) -> Theirs:
    answer = bench.peer.fill(filled, bench.runs)
    return Theirs(answer.took, value=answer.count / answer.took.clock_s)


def planning(filled: World) -> Task:
    """For the profile: the whole plan."""
    there = snapshot(filled)
    return lambda: pods.plan(there)


def case(nodes: int, devices: int, *, is_slow: bool = False) -> Case:
    return Case(
        f"fill-{nodes}x{devices}",
        "filling",
        "claims/s",
        f"one device a claim, until {nodes} nodes of {devices} are full: index and ledger built, "
        "every decision, and what is written",
        prepare=lambda bench: planning(world(nodes, devices)),
        measure=lambda bench: planned(bench, world(nodes, devices)),
        peer=lambda bench: filled_there(bench, world(nodes, devices)),
        flatters="upstream: no result is written, nothing is copied between Pods, and each search "
        "starts at the node where the last one ended",
        is_slow=is_slow,
    )


CASES = (case(100, 8), case(500, 8, is_slow=True))
