"""Questions whose answer a plain search finds late or never: each for one node, in full."""

from __future__ import annotations

from collections.abc import Callable

from bench import clusters, hardware
from bench import deciding as asking
from bench.case import Bench, Case, Task
from bench.cases import deciding
from bench.hardware import ROOT
from bench.world import Tree, World
from dibs.allocate.outcome import Refused

ALONE = (
    "dibs: the exact search alone, without the index, which rules out most of these at a glance; a "
    "bare no, as upstream's is, reasons being worked out for who reads them (refusal-32-on-31). "
    "Upstream makes its allocator anew each time, dibs keeps its view of the node's slices"
)


def refused(name: str, includes: str, goal: float, make: Callable[[], World]) -> Case:
    return decided(name, includes, goal, make, expected="refused")


def decided(
    name: str, includes: str, goal: float, make: Callable[[], World], *, expected: str = "allocated"
) -> Case:
    return deciding.case(
        name,
        "hard",
        "ms",
        includes,
        make,
        ask=asking.on_node,
        expected=expected,
        goal=goal,
        flatters=ALONE,
    )


def requests_on(wanted: int, devices: int) -> Case:
    requests = [clusters.request(f"r{index:02}") for index in range(wanted)]
    return refused(
        f"requests-{wanted}-on-{devices}",
        f"{wanted} requests of one device each, {devices} equal devices",
        10,
        lambda: hardware.one_node(hardware.equal(devices), requests),
    )


def refusal_of(wanted: int, devices: int) -> Case:
    """The same, read to its end by somebody."""

    def prepare(bench: Bench) -> Task:
        requests = [clusters.request(f"r{index:02}") for index in range(wanted)]
        world = hardware.one_node(hardware.equal(devices), requests)
        decide = asking.on_node(world, "refused", asking.EXPLAINED)

        def explained() -> int:
            outcome = decide()
            assert isinstance(outcome, Refused)
            return sum(len(ask.note) + len(ask.noes) for ask in outcome.asks)

        return explained

    includes = f"{wanted} requests on {devices} devices, and what each of them lacks, worded"
    return Case(f"refusal-{wanted}-on-{devices}", "hard", "ms", includes, prepare=prepare, goal=10)


def devices_of(wanted: int, devices: int) -> Case:
    return refused(
        f"devices-{wanted}-of-{devices}",
        f"one request for {wanted} of {devices} equal devices",
        10,
        lambda: hardware.one_node(hardware.equal(devices), [clusters.request("gpu", wanted)]),
    )


def mig_mix(cards: int) -> Case:
    small = 7 * cards - 3
    requests = [
        hardware.wants_profile("big", "3g", 1),
        hardware.wants_profile("small", "1g", small),
    ]
    return decided(
        f"mig-mix-{cards}",
        f"1 × 3g and {small} × 1g on {cards} cards: fits only if the 3g sits at the right end",
        10,
        lambda: hardware.one_node(hardware.mig(cards), requests),
    )


def mig_full(cards: int) -> Case:
    requests = [
        hardware.wants_profile("small", "2g", 3 * cards),
        hardware.wants_profile("big", "3g", 1),
    ]
    return refused(
        f"mig-full-{cards}",
        f"{3 * cards} × 2g and then 1 × 3g on {cards} cards, which the 2g fill",
        10,
        lambda: hardware.one_node(hardware.mig(cards), requests),
    )


def match(count: int) -> Case:
    def make() -> World:
        gpus = hardware.rooted([count] * 4, "gpu")
        nics = hardware.rooted([count - 1] * 3 + [count], "nic")
        requests = [
            hardware.wants_kind("gpu", "gpu", count),
            hardware.wants_kind("nic", "nic", count),
        ]
        return hardware.one_node(
            [hardware.pool([*gpus, *nics])], requests, {"matchAttribute": ROOT}
        )

    return decided(
        f"match-{count}",
        f"{count} GPUs and {count} NICs on one PCIe root, of four only the last has enough NICs",
        5,
        make,
    )


def distinct(count: int) -> Case:
    def make() -> World:
        devices = hardware.rooted([4] * (count - 1))
        return hardware.one_node(
            [hardware.pool(devices)],
            [clusters.request("gpu", count)],
            {"distinctAttribute": ROOT},
        )

    return refused(
        f"distinct-{count}", f"{count} devices on different roots of {count - 1} × 4", 5, make
    )


def capacity(count: int) -> Case:
    def make() -> World:
        share = {"capacity": {"requests": {"memory": "60Gi"}}}
        requests: list[Tree] = []
        for index in range(count):
            wanted = clusters.request(f"r{index}")
            requests.append({**wanted, "exactly": {**wanted["exactly"], **share}})
        return hardware.one_node(hardware.shares(count - 1, "100Gi"), requests)

    return refused(
        f"capacity-{count}", f"{count} × 60 GiB on {count - 1} shareable devices of 100", 5, make
    )


def match_alone(count: int) -> Case:
    """Published stress shape: the first half of the devices match nothing but themselves."""

    def make() -> World:
        alone = [f"alone-{index}" for index in range(count)]
        roots = [*alone, *["together"] * count]
        devices = [
            hardware.plain(f"gpu-{index:02}", **{ROOT: {"string": root}})
            for index, root in enumerate(roots)
        ]
        requests = [clusters.request(f"r{index:02}") for index in range(count)]
        return hardware.one_node([hardware.pool(devices)], requests, {"matchAttribute": ROOT})

    return decided(
        f"match-{count}-alone",
        f"{count} requests that must match on {2 * count} devices, of which {count} can't",
        10,
        make,
    )


CASES = (
    requests_on(10, 9),
    requests_on(11, 10),
    requests_on(12, 11),
    requests_on(32, 31),
    refusal_of(32, 31),
    devices_of(5, 4),
    devices_of(32, 31),
    mig_mix(4),
    mig_full(8),
    match(6),
    distinct(8),
    capacity(8),
    match_alone(32),
)
