"""Hardware that makes questions hard: one node with cards cut by MIG, roots, shares, lists.

Trees, as in `clusters`; the geometry is that of 7-slice cards as nvidia-smi prints it
(`nvidia-smi mig -lgipp`): a profile, where it may start, and how many memory slices it takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bench import clusters
from bench.clusters import DRIVER, V1
from bench.world import Tree, World

NODE = "node-0000"
ROOT = "resource.kubernetes.io/pcieRoot"
# Profile: compute slices, memory slices, places.
PROFILES: dict[str, tuple[int, int, Sequence[int]]] = {
    "1g": (1, 1, range(7)),
    "1g-double": (1, 2, (0, 2, 4, 6)),
    "2g": (2, 2, (0, 2, 4)),
    "3g": (3, 4, (0, 4)),
    "4g": (4, 4, (0,)),
    "7g": (7, 8, (0,)),
}
SLICES_OF_MEMORY = 8


def one_node(
    slices: Iterable[Tree],
    requests: Iterable[Tree],
    *constraints: Tree,
    needs: frozenset[str] = frozenset(),
) -> World:
    """A node with these slices, and one claim."""
    return World(
        nodes=[clusters.node(0)],
        slices=list(slices),
        classes=[clusters.device_class()],
        claims=[clusters.claim("wanted", requests, *constraints)],
        needs=needs,
    )


def pool(devices: Sequence[Tree], *, part: int = 0, of: int = 1, **more: object) -> Tree:
    """One slice of the node's pool; `more` are other fields of its spec."""
    return {
        "apiVersion": V1,
        "kind": "ResourceSlice",
        "metadata": {"name": f"{NODE}-{part}"},
        "spec": {
            "driver": DRIVER,
            "nodeName": NODE,
            "pool": {"name": NODE, "generation": 1, "resourceSliceCount": of},
            **({"devices": list(devices)} if devices else {}),
            **more,
        },
    }


def plain(name: str, **attributes: Tree) -> Tree:
    """A device with these attributes, and what the class looks for."""
    return {"name": name, "attributes": {"type": {"string": "gpu"}, **attributes}}


def equal(count: int) -> list[Tree]:
    return [pool([plain(f"gpu-{index:02}") for index in range(count)])]


def rooted(count_by_root: Sequence[int], kind: str = "gpu") -> list[Tree]:
    """So many devices on each PCIe root."""
    return [
        plain(
            f"{kind}-{root}-{number}",
            kind={"string": kind},
            **{ROOT: {"string": f"pci0000:{root:02x}"}},
        )
        for root, count in enumerate(count_by_root)
        for number in range(count)
    ]


def shares(count: int, memory: str) -> list[Tree]:
    """Devices that many may use, each up to its memory."""
    devices = [
        {**plain(f"gpu-{index}"), "allowMultipleAllocations": True} for index in range(count)
    ]
    return [pool([{**each, "capacity": {"memory": {"value": memory}}} for each in devices])]


def mig(cards: int) -> list[Tree]:
    """All partitions of so many cards, each drawing on the counters of its card (KEP-4815)."""
    total = cards + 1
    counters = [_counters(card) for card in range(cards)]
    partitions = [pool(_partitions(card), part=card + 1, of=total) for card in range(cards)]
    return [pool((), of=total, sharedCounters=counters), *partitions]


def wants_profile(name: str, profile: str, count: int) -> Tree:
    return clusters.request(name, count, f"device.attributes['{DRIVER}'].profile == '{profile}'")


def wants_kind(name: str, kind: str, count: int) -> Tree:
    return clusters.request(name, count, f"device.attributes['{DRIVER}'].kind == '{kind}'")


def _counters(card: int) -> Tree:
    slices = {f"memory-slice-{place}": {"value": "1"} for place in range(SLICES_OF_MEMORY)}
    return {"name": f"gpu-{card}", "counters": {"multiprocessors": {"value": "7"}, **slices}}


def _partitions(card: int) -> list[Tree]:
    return [
        {
            **plain(
                f"gpu-{card}-{profile}-{place}",
                profile={"string": profile},
                parent={"int": card},
            ),
            "consumesCounters": [
                {
                    "counterSet": f"gpu-{card}",
                    "counters": {
                        "multiprocessors": {"value": str(compute)},
                        **{
                            f"memory-slice-{index}": {"value": "1"}
                            for index in range(place, place + memory)
                        },
                    },
                }
            ],
        }
        for profile, (compute, memory, places) in PROFILES.items()
        for place in places
    ]
