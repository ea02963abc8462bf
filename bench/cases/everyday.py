"""The common claim: one device of a cluster, when there is room, and when there is hardly any."""

from __future__ import annotations

from bench import clusters, hardware
from bench.case import Case
from bench.cases import deciding
from bench.world import World

ONE = clusters.claim("one", [clusters.request()])
WARM = (
    "dibs: what it keeps of slices and claims between decisions is there already, and its upkeep "
    "is told under snapshots. Upstream: compiled selectors are there already, the set of taken "
    "devices too, which kube-scheduler copies for each Pod; one thread of its 16"
)


def half_full(nodes: int, devices: int, goal: float | None = None) -> Case:
    return deciding.case(
        f"gpu-{nodes}x{devices}-half",
        "everyday",
        "µs",
        f"one device of {nodes:,} nodes of {devices}, every second one held: the decision over "
        "all nodes and the result",
        lambda: clusters.cluster(nodes, devices, clusters.half(nodes, devices), ONE),
        goal=goal,
        flatters=WARM,
        is_slow=nodes * devices > 4_000,
    )


def nearly_full(nodes: int, devices: int, goal: float | None = None) -> Case:
    return deciding.case(
        f"gpu-{nodes}x{devices}-last",
        "everyday",
        "µs",
        f"the same when all nodes but the last of {nodes:,} are full",
        lambda: clusters.cluster(nodes, devices, clusters.all_but_last(nodes, devices), ONE),
        goal=goal,
        flatters=WARM,
        is_slow=nodes * devices > 4_000,
    )


def mig(profile: str, count: int, goal: float) -> Case:
    def make() -> World:
        wanted = hardware.wants_profile("gpu", profile, count)
        return hardware.one_node(hardware.mig(8), [wanted])

    return deciding.case(
        f"mig-{count}x{profile}",
        "everyday",
        "µs",
        f"{count} × {profile} of 8 cards with 18 partitions each, on one node",
        make,
        goal=goal,
        flatters=WARM,
    )


CASES = (
    half_full(500, 8, goal=100),
    half_full(5_000, 8, goal=150),
    half_full(500, 100, goal=150),
    nearly_full(500, 8, goal=100),
    nearly_full(5_000, 8, goal=150),
    nearly_full(500, 100, goal=150),
    mig("3g", 4, goal=100),
    mig("3g", 16, goal=200),
)
