"""The nodes of a world, and the slices that its drivers publish.

At most six devices are reachable or not, split over pools of three shapes: one a node, one for
several nodes, and one whose devices choose their nodes themselves.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from dibs.model.core import Node, NodeStatus
from dibs.model.meta import LabelSelectorRequirement, NodeSelector, NodeSelectorTerm
from dibs.model.objects import (
    CapacityRequestPolicy,
    CapacityRequestPolicyRange,
    Counter,
    CounterDraw,
    CounterSet,
    CounterSource,
    Device,
    DeviceCapacity,
    ResourceSlice,
)
from dibs.testing import builders as build
from dibs.testing.worlds.traits import (
    BINDING,
    CAPACITY,
    COUNTERS,
    FRACTIONS,
    GROUPS,
    LISTS,
    METERS,
    SKIPS,
    Traits,
)
from dibs.values.quantity import Quantity

DRIVERS = ("gpu.example.com", "nic.example.com")
ROOT = "resource.kubernetes.io/pcieRoot"
LINKS = "example.com/links"
MOST_DEVICES = 6
# The compatibility groups of partitions.
MODES = ((), ("mig",), ("mig",), ("vgpu",), ("mig", "vgpu"))
# What a counter of bandwidth may be drawn by: a capacity of the device, or one that only the
# request and the counter know.
METERED = ("bandwidth", "gpu.example.com/bandwidth", "cores")


def nodes(chance: random.Random, traits: Traits) -> tuple[Node, ...]:
    return tuple(
        _declaring(
            chance,
            traits,
            build.node(f"node-{index}", zone=chance.choice("ab"), gen=str(chance.randint(1, 3))),
        )
        for index in range(chance.choice((1, 1, 1, 1, 2, 3)))
    )


def _declaring(chance: random.Random, traits: Traits, node: Node) -> Node:
    if SKIPS not in traits or chance.random() < 0.3:
        return node
    return msgspec.structs.replace(
        node, status=NodeStatus(declared_features=("DRAOptionalNodeOperations",))
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the slices of one pool are for: exactly one of these is set."""

    node: str = ""
    all_nodes: bool = False
    node_selector: NodeSelector | None = None
    per_device: bool = False


def slices(
    chance: random.Random, traits: Traits, nodes: Sequence[Node]
) -> tuple[ResourceSlice, ...]:
    """All slices, in no order: whoever reads them must sort."""
    published: list[ResourceSlice] = []
    drivers = DRIVERS[: chance.choice((1, 1, 1, 2))]
    places = [(driver, place) for driver in drivers for place in _places(chance, nodes)]
    left = MOST_DEVICES
    for done, (driver, place) in enumerate(places):
        fair = -(-left // (len(places) - done))
        count = chance.randint(fair // 2, fair)
        left -= count
        if count:
            devices = [_device(chance, traits, n, place, nodes) for n in range(count)]
            published += _pool(chance, traits, driver, place, devices)
    chance.shuffle(published)
    return tuple(published)


def _places(chance: random.Random, nodes: Sequence[Node]) -> Iterator[_Place]:
    if chance.random() < 0.9:
        for node in nodes:
            if chance.random() < 0.95:
                yield _Place(node=node.metadata.name)
    shape = chance.random()
    if shape < 0.15:
        yield _Place(all_nodes=True)
    elif shape < 0.35:
        yield _Place(node_selector=_node_selector(chance))
    elif shape < 0.5:
        yield _Place(per_device=True)


def _node_selector(chance: random.Random) -> NodeSelector:
    def requirement() -> LabelSelectorRequirement:
        return LabelSelectorRequirement(
            *chance.choice(
                (
                    ("zone", "In", ("a",)),
                    ("zone", "NotIn", ("b",)),
                    ("zone", "In", ("b", "a")),
                    ("zone", "Exists", ()),
                    ("rack", "DoesNotExist", ()),
                    ("gen", "Gt", ("1",)),
                    ("gen", "Lt", ("3",)),
                )
            )
        )

    wanted = tuple(requirement() for _ in range(chance.randint(1, 2)))
    return NodeSelector((NodeSelectorTerm(match_expressions=wanted),))


# --- devices -----------------------------------------------------------------------------------


def _device(
    chance: random.Random, traits: Traits, number: int, place: _Place, nodes: Sequence[Node]
) -> Device:
    attributes: dict[str, build.Value] = {
        "model": chance.choice(("a", "a", "b")),
        "index": number,
        "ecc": chance.random() < 0.7,
        "version": build.version(chance.choice(("1.0.0", "1.10.0", "2.0.0-rc.1"))),
        ROOT: chance.choice(("pci0000:00", "pci0000:40")),
    }
    if LISTS in traits:
        numbers = [n for n in range(4) if chance.random() < 0.5] or [0]
        attributes[LINKS] = chance.choice((numbers, numbers, numbers[0]))
    # Drivers differ: now and then one says less than the others.
    for name in list(attributes):
        if chance.random() < 0.08:
            del attributes[name]
    is_shareable = CAPACITY in traits and chance.random() < 0.6
    conditions = ("example.com/ready",) if BINDING in traits and chance.random() < 0.25 else ()
    device = build.device(
        # Names are not in order of position, so that sorting by name would show.
        f"dev-{(number * 5 + 3) % 7}",
        attributes=attributes,
        capacity=_capacity(chance, traits, is_shareable),
        taints=[build.taint("example.com/broken", effect=_effect(chance))]
        if chance.random() < 0.15
        else (),
        shareable=is_shareable,
        binding_conditions=conditions,
    )
    if conditions:
        device = msgspec.structs.replace(
            device,
            binding_failure_conditions=("example.com/lost",),
            binds_to_node=True if chance.random() < 0.5 else None,
        )
    return _placed(chance, device, nodes) if place.per_device else device


def _effect(chance: random.Random) -> str:
    return chance.choice(("NoSchedule", "NoExecute", "None"))


def _placed(chance: random.Random, device: Device, nodes: Sequence[Node]) -> Device:
    shape = chance.random()
    if shape < 0.5:
        name = chance.choice([node.metadata.name for node in nodes])
        return msgspec.structs.replace(device, node_name=name)
    if shape < 0.75:
        return msgspec.structs.replace(device, all_nodes=True)
    return msgspec.structs.replace(device, node_selector=_node_selector(chance))


def _capacity(
    chance: random.Random, traits: Traits, is_shareable: bool
) -> dict[str, str | DeviceCapacity]:
    capacity: dict[str, str | DeviceCapacity] = {}
    if chance.random() < 0.9:
        amount = chance.choice(("40Gi", "80Gi"))
        policy = _policy(chance) if is_shareable else None
        capacity["memory"] = DeviceCapacity(value=Quantity.parse(amount), request_policy=policy)
    if chance.random() < 0.3:
        capacity["cores"] = str(chance.randint(1, 4))
    if FRACTIONS in traits and is_shareable and chance.random() < 0.4:
        capacity["cores"] = _cores(chance)
    return capacity


def _cores(chance: random.Random) -> DeviceCapacity:
    """Cores that are shared out in quarters, or in tenths above a half."""
    least, most, step = chance.choice(
        (
            ("250m", "3750m", "250m"),
            ("500m", None, "100m"),
            ("1", "4", "1"),
            ("1500m", "3", "1500m"),
        )
    )
    limits = CapacityRequestPolicyRange(
        min=Quantity.parse(least),
        max=None if most is None else Quantity.parse(most),
        step=Quantity.parse(step),
    )
    policy = CapacityRequestPolicy(default=Quantity.parse(least), valid_range=limits)
    return DeviceCapacity(value=Quantity.parse("4"), request_policy=policy)


def _policy(chance: random.Random) -> CapacityRequestPolicy | None:
    default = Quantity.parse(chance.choice(("0", "10Gi", "20Gi")))
    shape = chance.random()
    if shape < 0.25:
        return None
    if shape < 0.5:
        return CapacityRequestPolicy(default=default)
    if shape < 0.75:
        values = ("0", "10Gi", "20Gi", "40Gi")
        return CapacityRequestPolicy(
            default=default, valid_values=tuple(Quantity.parse(each) for each in values)
        )
    return CapacityRequestPolicy(
        default=Quantity.parse("20Gi"),
        valid_range=CapacityRequestPolicyRange(
            min=Quantity.parse("5Gi"),
            max=Quantity.parse("35Gi"),
            step=Quantity.parse("5Gi") if chance.random() < 0.5 else None,
        ),
    )


# --- pools -------------------------------------------------------------------------------------


def _pool(
    chance: random.Random, traits: Traits, driver: str, place: _Place, devices: list[Device]
) -> Iterator[ResourceSlice]:
    """The slices of one pool: one or two, an older one, too few, or a device named twice."""
    name = place.node or "shared"
    generation = chance.randint(1, 3)
    cut = chance.randint(1, len(devices)) if chance.random() < 0.4 else len(devices)
    parts = [part for part in (devices[:cut], devices[cut:]) if part]
    sets: list[CounterSet] = []
    if COUNTERS in traits and chance.random() < 0.7:
        sets = [_card(chance, traits)]
        # Most cards have one mode; where there are several, they get in each other's way.
        modes = MODES if GROUPS in traits and chance.random() < 0.5 else ((),)
        parts = [[_partition(chance, traits, each, modes) for each in part] for part in parts]
    trouble = chance.random()
    if trouble < 0.05 and len(parts) == 2:
        parts[1].append(parts[0][0])
    announced = len(parts) + bool(sets) + (0.05 <= trouble < 0.12)

    skipped = ("*",) if SKIPS in traits and chance.random() < 0.2 else ()

    def publish(
        label: str, published: Sequence[Device], generation: int, counters: Sequence[CounterSet]
    ) -> ResourceSlice:
        slice = build.resource_slice(
            *published,
            name=f"{label}-{name}-{driver}",
            driver=driver,
            pool=name,
            node=place.node,
            generation=generation,
            of=announced,
            node_selector=place.node_selector,
            all_nodes=place.all_nodes or (place.per_device and bool(counters)),
            per_device=place.per_device and not counters,
            counters=counters,
        )
        if not skipped or counters:
            return slice
        spec = msgspec.structs.replace(slice.spec, skip_node_operations=skipped)
        return msgspec.structs.replace(slice, spec=spec)

    for part, label in zip(parts, chance.sample("abc", len(parts)), strict=True):
        yield publish(label, part, generation, ())
    if sets:
        yield publish("cards", (), generation, sets)
    if trouble > 0.85:
        yield publish("older", devices[:1], generation - 1, ())


def _card(chance: random.Random, traits: Traits) -> CounterSet:
    card = build.counter_set("card", memory="80Gi", slices=str(chance.randint(2, 4)))
    if METERS not in traits:
        return card
    bandwidth = Counter(value=Quantity.parse("100"), request_policy=_bandwidth(chance))
    return msgspec.structs.replace(card, counters={**card.counters, "bandwidth": bandwidth})


def _bandwidth(chance: random.Random) -> CapacityRequestPolicy | None:
    default = Quantity.parse(chance.choice(("10", "40")))
    shape = chance.random()
    if shape < 0.3:
        return None
    if shape < 0.6:
        return CapacityRequestPolicy(default=default)
    limits = CapacityRequestPolicyRange(
        min=Quantity.parse("10"), max=Quantity.parse("70"), step=Quantity.parse("30")
    )
    return CapacityRequestPolicy(default=default, valid_range=limits)


def _partition(
    chance: random.Random, traits: Traits, device: Device, modes: Sequence[tuple[str, ...]]
) -> Device:
    if chance.random() < 0.2:
        return device
    share = build.draw("card", memory=chance.choice(("20Gi", "40Gi")), slices="1")
    if METERS in traits and chance.random() < 0.5:
        source = CounterSource(chance.choice(METERED))
        counters = {**share.counters, "bandwidth": CounterDraw(value_from=source)}
        share = msgspec.structs.replace(share, counters=counters)
    share = msgspec.structs.replace(share, compatibility_groups=chance.choice(modes))
    return msgspec.structs.replace(device, consumes_counters=(share,))
