"""Cost against size: nodes, devices a node, requests a claim; each point is a figure."""

from __future__ import annotations

from bench import clusters
from bench.case import Case
from bench.cases import deciding, everyday

NODES = (100, 200, 500, 1_000, 2_000, 5_000)
DEVICES = (8, 16, 32, 64, 128)
REQUESTS = (1, 2, 4, 8, 16, 32)


def of_nodes(nodes: int, devices: int = 8) -> Case:
    return deciding.case(
        f"nodes-{nodes}",
        "nodes",
        "µs",
        f"one device, {nodes:,} nodes of {devices}, all but the last full",
        lambda: clusters.cluster(
            nodes, devices, clusters.all_but_last(nodes, devices), everyday.ONE
        ),
        at=nodes,
        flatters=everyday.WARM,
        is_slow=nodes > 500,
    )


def of_devices(devices: int, nodes: int = 500) -> Case:
    return deciding.case(
        f"devices-{devices}",
        "devices",
        "µs",
        f"one device, {nodes} nodes of {devices}, all but the last full",
        lambda: clusters.cluster(
            nodes, devices, clusters.all_but_last(nodes, devices), everyday.ONE
        ),
        at=devices,
        flatters=everyday.WARM,
        is_slow=devices > 16,
    )


def of_requests(requests: int, nodes: int = 500, devices: int = 64) -> Case:
    wanted = [clusters.request(f"r{index:02}") for index in range(requests)]
    return deciding.case(
        f"claims-of-{requests}",
        "requests",
        "µs",
        f"a claim of {requests} × one device, {nodes} nodes of {devices}, every second one held",
        lambda: clusters.cluster(
            nodes,
            devices,
            clusters.half(nodes, devices),
            clusters.claim("wanted", wanted),
        ),
        at=requests,
        flatters=everyday.WARM,
        is_slow=requests > 1,
    )


CASES = (
    *map(of_nodes, NODES),
    *map(of_devices, DEVICES),
    *map(of_requests, REQUESTS),
)
