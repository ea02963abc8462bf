"""The shapes that upstream's own scheduler_perf tests have, with the allocator alone.

Source: test/integration/scheduler_perf/dra in kubernetes/kubernetes, what its workloads describe;
there they are measured through an API server and etcd.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench import clusters, hardware
from bench.case import Case
from bench.cases import deciding
from bench.clusters import DRIVER
from bench.hardware import ROOT
from bench.world import Tree, World

NODES, DEVICES = 500, 10
# Pools that all nodes see, as in the tests of partitions and of capacity.
NETWORK_NODES, NETWORK_POOLS = 100, 1_000
PART = "resource.example.com/slice"
SELECTOR = (
    f"device.attributes['{DRIVER}'].type == 'gpu' && "
    f"device.capacity['{DRIVER}'].memory.compareTo(quantity('24Gi')) >= 0"
)


def held(state: str, nodes: int, devices: int) -> Sequence[tuple[int, int]]:
    match state:
        case "empty":
            return ()
        case "half":
            return clusters.half(nodes, devices)
    return clusters.all_but_last(nodes, devices)


CLAIMS = {
    "plain": clusters.claim("plain", [clusters.request()]),
    "selector": clusters.claim("selector", [clusters.request("gpu", 1, SELECTOR)]),
    "match": clusters.claim(
        "match", [clusters.request("a"), clusters.request("b")], {"matchAttribute": ROOT}
    ),
}


def steady(kind: str, state: str, nodes: int = NODES, devices: int = DEVICES) -> Case:
    told = {"empty": "none held", "half": "every second one held", "full": "one node free"}[state]
    what = {"plain": "one device", "selector": "one device by selector", "match": "two that match"}
    return deciding.case(
        f"perf-{kind}-{state}",
        "upstream",
        "µs",
        f"{what[kind]} of {nodes} × {devices}, {told}",
        lambda: clusters.cluster(nodes, devices, held(state, nodes, devices), CLAIMS[kind]),
    )


def prioritized(nodes: int = NODES, devices: int = DEVICES) -> Case:
    nobody = {**clusters.device_class(), "metadata": {"name": "nobody"}}
    nobody["spec"] = {"selectors": [{"cel": {"expression": "device.driver == 'nobody'"}}]}
    wanted = clusters.request()["exactly"]
    alternatives = [
        {**wanted, "name": "first", "deviceClassName": "nobody"},
        {**wanted, "name": "second"},
    ]

    def make() -> World:
        claim = clusters.claim("prioritized", [{"name": "gpu", "firstAvailable": alternatives}])
        world = clusters.cluster(nodes, devices, (), claim)
        return World(world.nodes, world.slices, [*world.classes, nobody], world.claims)

    return deciding.case(
        "perf-prioritized",
        "upstream",
        "µs",
        f"a first choice that no device is, and a second, of {nodes} × {devices}",
        make,
    )


def backtracking() -> Case:
    """Eight partitions, the first twice as large: seven fit, but not with the first."""

    def device(number: int) -> Tree:
        memory = "20Gi" if number == 1 else "10Gi"
        draws = [
            {"counterSet": "cores", "counters": {f"core-{number}": {"value": "1"}}},
            {"counterSet": "memory", "counters": {"memory": {"value": memory}}},
        ]
        return {**hardware.plain(f"part-{number}"), "consumesCounters": draws}

    def make() -> World:
        numbers = range(1, 9)
        cores = {f"core-{number}": {"value": "1"} for number in numbers}
        counters = [
            {"name": "cores", "counters": cores},
            {"name": "memory", "counters": {"memory": {"value": "70Gi"}}},
        ]
        slices = [
            hardware.pool((), of=2, sharedCounters=counters),
            hardware.pool([device(number) for number in numbers], part=1, of=2),
        ]
        return hardware.one_node(slices, [clusters.request("gpu", 7)])

    return deciding.case(
        "perf-backtracking",
        "upstream",
        "µs",
        "seven of eight partitions, of which the first is too large to be among them",
        make,
    )


def partitionable(nodes: int = NETWORK_NODES, pools: int = NETWORK_POOLS) -> Case:
    """Each pool is one card of four slices: as two halves or four quarters; one half is held."""
    places = {"half-1": (1, 2), "half-2": (3, 4), "quarter-1": (1,), "quarter-2": (2,)}
    places |= {"quarter-3": (3,), "quarter-4": (4,)}

    def devices(index: int) -> list[Tree]:
        return [
            {
                **hardware.plain(name, **{PART: {"int": index}}),
                "consumesCounters": [
                    {
                        "counterSet": "card",
                        "counters": {f"slice-{place}": {"value": "1"} for place in taken},
                    }
                ],
            }
            for name, taken in places.items()
        ]

    def make() -> World:
        counters = {f"slice-{place}": {"value": "1"} for place in (1, 2, 3, 4)}
        slices = []
        for index in range(pools):
            sets = [{"name": "card", "counters": counters}]
            slices.append(network_slice(index, 0, 2, sharedCounters=sets))
            slices.append(network_slice(index, 1, 2, devices=devices(index)))
        return World(
            nodes=[clusters.node(index) for index in range(nodes)],
            slices=slices,
            classes=[clusters.device_class()],
            claims=[clusters.claim("two", [clusters.request("gpu", 2)], {"matchAttribute": PART})],
            held=[network_claim(index, "half-1") for index in range(pools)],
        )

    return deciding.case(
        "perf-partitionable",
        "upstream",
        "ms",
        f"two matching partitions out of {pools:,} cards that all {nodes} nodes see, half of each "
        "held: the other half is tried first and is one only",
        make,
        is_slow=True,
    )


def consumable(nodes: int = NETWORK_NODES, pools: int = NETWORK_POOLS) -> Case:
    def share(name: str) -> Tree:
        exactly = clusters.request(name, 2)["exactly"]
        return {
            "name": name,
            "exactly": {**exactly, "capacity": {"requests": {"memory": "40Gi"}}},
        }

    def devices(index: int) -> list[Tree]:
        return [
            {
                **hardware.plain(f"shared-{number}", **{PART: {"int": index}}),
                "allowMultipleAllocations": True,
                "capacity": {"memory": {"value": "80Gi"}},
            }
            for number in range(2)
        ]

    def make() -> World:
        constraints = [
            {"requests": ["apart"], "distinctAttribute": PART},
            {"requests": ["together"], "matchAttribute": PART},
        ]
        return World(
            nodes=[clusters.node(index) for index in range(nodes)],
            slices=[network_slice(index, 0, 1, devices=devices(index)) for index in range(pools)],
            classes=[clusters.device_class()],
            claims=[clusters.claim("four", [share("apart"), share("together")], *constraints)],
        )

    return deciding.case(
        "perf-consumable",
        "upstream",
        "ms",
        f"two shares apart and two together, of {pools:,} pools of two shareable devices that all "
        f"{nodes} nodes see",
        make,
        is_slow=True,
    )


def lists(requests: int = 32, values: int = 47) -> Case:
    """Lists that meet nobody's, then lists that meet in one value (KEP-5491)."""

    def device(number: int) -> Tree:
        own = [f"device-{number}-value-{index}" for index in range(values - 1)]
        meeting = ["shared"] if number >= requests else [f"device-{number}-alone"]
        return hardware.plain(f"gpu-{number:02}", **{PART: {"strings": [*meeting, *own]}})

    def make() -> World:
        devices = [device(number) for number in range(2 * requests)]
        wanted = [clusters.request(f"r{index:02}") for index in range(requests)]
        needs = frozenset({"listTypeAttributes"})
        return hardware.one_node(
            [hardware.pool(devices)], wanted, {"matchAttribute": PART}, needs=needs
        )

    return deciding.case(
        f"perf-lists-{requests}x{2 * requests}",
        "upstream",
        "ms",
        f"{requests} requests that must match in lists of {values}, {2 * requests} devices of "
        f"which {requests} can't",
        make,
        goal=10,
    )


def network_slice(index: int, part: int, of: int, **more: object) -> Tree:
    name = f"card-{index:04}"
    return {
        "apiVersion": clusters.V1,
        "kind": "ResourceSlice",
        "metadata": {"name": f"{name}-{part}"},
        "spec": {
            "driver": DRIVER,
            "allNodes": True,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": of},
            **more,
        },
    }


def network_claim(index: int, device: str) -> Tree:
    result = {
        "request": "gpu",
        "driver": DRIVER,
        "pool": f"card-{index:04}",
        "device": device,
    }
    claim = clusters.claim(f"held-{index:04}", [clusters.request()])
    return {**claim, "status": {"allocation": {"devices": {"results": [result]}}}}


CASES = (
    *(steady(kind, state) for kind in CLAIMS for state in ("empty", "half", "full")),
    prioritized(),
    backtracking(),
    partitionable(),
    consumable(),
    lists(),
)
