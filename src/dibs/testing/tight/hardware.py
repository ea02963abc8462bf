"""What one node of a tight question sees: kinds of devices, where they are published, who has some.

A kind is a way of being scarce: whole devices, partitions that draw from the counters of a card
(KEP-4815, some with modes, KEP-5963), and devices that are shared by capacity (KEP-5075), some of
which draw from a card by what is asked of them (KEP-5941). Every device publishes its `index` and
`model`, so that no selector of `demand` fails.
"""

from __future__ import annotations

import random
from collections import Counter as Counted
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from dibs.model.objects import (
    CapacityRequestPolicy,
    CapacityRequestPolicyRange,
    Counter,
    CounterDraw,
    CounterSet,
    CounterSource,
    Device,
    DeviceAttribute,
    DeviceCapacity,
    DeviceCounterConsumption,
    DeviceTaint,
    ResourceClaim,
    ResourceSlice,
)
from dibs.testing import builders as build
from dibs.testing.tight.sizes import Size
from dibs.testing.worlds.hardware import DRIVERS, LINKS, ROOT
from dibs.values.quantity import Quantity

GPU, NIC = DRIVERS
NODE = build.node("node-0", zone="a")
BROKEN, DRAINING = "example.com/broken", "example.com/draining"

# What a partition draws of a card of 8 memory and 7 compute slices.
PROFILES = {"1g": (1, 1), "1g+me": (2, 1), "2g": (2, 2), "3g": (4, 3), "4g": (4, 4), "7g": (8, 7)}
_MODES = ((), ("mig",), ("mig",), ("vgpu",), ("mig", "vgpu"))


@dataclass(frozen=True, slots=True)
class Stock:
    """`supply` says how much of each kind is free, roughly: devices, memory slices, or units.

    `models` and `capacities` are what there is to be asked for, and of how many devices.
    """

    slices: tuple[ResourceSlice, ...]
    held: tuple[ResourceClaim, ...]
    supply: dict[str, int] = field(default_factory=dict)
    models: Mapping[str, int] = field(default_factory=dict)
    capacities: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Batch:
    """Devices of one kind and one driver, and the cards that they are parts of."""

    kind: str
    driver: str
    devices: tuple[Device, ...]
    cards: tuple[CounterSet, ...] = ()


def stock(chance: random.Random, size: Size) -> Stock:
    """One or two kinds of devices; network cards are only ever beside others."""
    count = chance.randint(*size.devices)
    first = chance.choice((_whole, _whole, _partitions, _partitions, _shared, _shared))
    second = chance.choice((None, None, _network, _network, _whole, _partitions, _shared))
    if second is None or second is first or count < 6:
        batches = [first(chance, count)]
    else:
        part = chance.randint(count // 3, count // 2)
        batches = [first(chance, count - part), second(chance, part)]
    slices: list[ResourceSlice] = []
    held: list[ResourceClaim] = []
    supply = {}
    for batch in batches:
        published = list(_published(chance, batch))
        holders, lost = _holders(chance, batch, published)
        slices += published
        held += holders
        supply[batch.kind] = _amount(batch) - lost
    chance.shuffle(slices)
    devices = [device for batch in batches for device in batch.devices]
    models = Counted(device.attributes["model"].string or "" for device in devices)
    capacities = Counted(name for device in devices for name in device.capacity)
    return Stock(tuple(slices), tuple(held), supply, models, capacities)


# --- kinds -------------------------------------------------------------------------------------


def _whole(chance: random.Random, count: int) -> _Batch:
    """Cards for one claim each. Few differ, so that there is much to choose from."""
    looks = _Looks(chance, count)
    found = (
        build.device(
            f"dev-{index}",
            memory=chance.choice(("80Gi", "80Gi", "40Gi")),
            attributes=looks.of(index, chance.choice(looks.models)),
            taints=_taints(chance),
        )
        for index in range(count)
    )
    return _Batch("whole", GPU, tuple(_bound(chance, each) for each in found))


def _bound(chance: random.Random, device: Device) -> Device:
    """Pools with devices that are attached first are tried last (KEP-5007)."""
    if chance.random() > 0.04:
        return device
    return msgspec.structs.replace(
        device,
        binding_conditions=("example.com/Ready",),
        binding_failure_conditions=("example.com/Failed",),
    )


def _network(chance: random.Random, count: int) -> _Batch:
    looks = _Looks(chance, count)
    found = (
        build.device(f"dev-{index}", attributes=looks.of(index, "cx7"), taints=_taints(chance))
        for index in range(count)
    )
    return _Batch("network", NIC, tuple(found))


def _partitions(chance: random.Random, count: int) -> _Batch:
    """Partitions of up to a third as many cards, more of them than the cards can give at once."""
    most = max(1, min(7, count // 3))
    cards = tuple(_card(chance, index) for index in range(chance.randint(1, most)))
    with_modes = chance.random() < 0.3
    # What all cards have in common: one more set to draw from, of the two that a device may.
    engines = build.counter_set("engines", copy=str(chance.randint(2, max(2, count // 2))))
    shared = (engines,) if chance.random() < 0.25 else ()
    profiles = chance.sample(sorted(PROFILES), chance.randint(2, 4))
    looks = _Looks(chance, len(cards))
    found = []
    for index in range(count):
        place = index % len(cards)
        profile = chance.choice(profiles)
        memory, slices = PROFILES[profile]
        draw = build.draw(cards[place].name, memory=str(memory), slices=str(slices))
        if with_modes:
            draw = msgspec.structs.replace(draw, compatibility_groups=chance.choice(_MODES))
        is_shareable = chance.random() < 0.06
        found.append(
            build.device(
                f"dev-{index}",
                attributes={**looks.of(place, profile), "index": index, "card": place},
                taints=_taints(chance),
                draws=[draw, *(build.draw(each.name, copy="1") for each in shared)],
                shareable=is_shareable,
                memory=f"{memory}0Gi",
            )
        )
    return _Batch("parts", GPU, tuple(found), (*cards, *shared))


def _card(chance: random.Random, index: int) -> CounterSet:
    memory, slices = chance.choice(((8, 7), (8, 7), (4, 4), (5, 4)))
    return build.counter_set(f"card-{index}", memory=str(memory), slices=str(slices))


def _shared(chance: random.Random, count: int) -> _Batch:
    """Devices with some 100 units of memory; few devices, as each serves many requests."""
    count = max(3, count // 2)
    looks = _Looks(chance, count)
    policy = _policy(chance)
    is_metered = chance.random() < 0.25
    cards: tuple[CounterSet, ...] = ()
    if is_metered:
        link = Counter(Quantity.of(chance.choice((110, 160))), _policy(chance))
        cards = (CounterSet(name="link", counters={"bandwidth": link}),)
    found = []
    for index in range(count):
        # Policies are for sharing only (KEP-5075).
        is_shareable = chance.random() < 0.93
        capacity: dict[str, str | DeviceCapacity] = {
            "memory": _capacity(chance.choice((110, 110, 60)), policy, is_shareable)
        }
        if chance.random() < 0.3:
            capacity["cores"] = _capacity(4, _fractions(chance), is_shareable)
        if is_metered:
            fixed = CapacityRequestPolicy(default=Quantity.of(10))
            # A whole device draws all it has, which the policy of the link must allow.
            capacity["bandwidth"] = _capacity(100 if is_shareable else 35, fixed, is_shareable)
        found.append(
            build.device(
                f"dev-{index}",
                capacity=capacity if is_metered or chance.random() < 0.97 else {},
                attributes=looks.of(index, chance.choice(looks.models)),
                taints=_taints(chance),
                draws=[_metered()] if is_metered else [],
                shareable=is_shareable,
            )
        )
    return _Batch("shared", GPU, tuple(found), cards)


def _capacity(
    amount: int, policy: CapacityRequestPolicy | None, is_shareable: bool
) -> DeviceCapacity:
    if policy is None or not is_shareable:
        return DeviceCapacity(Quantity.of(amount))
    return DeviceCapacity(Quantity.of(amount), policy)


def _metered() -> DeviceCounterConsumption:
    source = CounterDraw(value_from=CounterSource("bandwidth"))
    return DeviceCounterConsumption(counter_set="link", counters={"bandwidth": source})


def _policy(chance: random.Random) -> CapacityRequestPolicy | None:
    """How amounts are rounded, for capacities of 60 and more: a bottom of 10 and steps of 25."""
    shape = chance.random()
    if shape < 0.3:
        return None
    if shape < 0.5:
        return CapacityRequestPolicy(default=Quantity.of(chance.choice((0, 10, 30))))
    if shape < 0.75:
        values = tuple(Quantity.of(each) for each in (10, 25, 50, 60))
        return CapacityRequestPolicy(default=values[1], valid_values=values)
    limits = CapacityRequestPolicyRange(
        min=Quantity.of(10),
        max=Quantity.of(chance.choice((35, 60))),
        step=Quantity.of(25) if chance.random() < 0.6 else None,
    )
    return CapacityRequestPolicy(default=Quantity.of(10), valid_range=limits)


def _fractions(chance: random.Random) -> CapacityRequestPolicy:
    low, step = Quantity.parse("500m"), Quantity.parse("700m")
    limits = CapacityRequestPolicyRange(
        min=low, max=Quantity.of(4), step=step if chance.random() < 0.5 else None
    )
    return CapacityRequestPolicy(default=low, valid_range=limits)


class _Looks:
    """Attributes that constraints compare: how many values of each there are is drawn once."""

    def __init__(self, chance: random.Random, count: int) -> None:
        self.chance = chance
        self.models = "ab"[: chance.randint(1, 2)]
        self.roots = chance.randint(2, max(2, count // 2))
        self.links = chance.randint(2, max(2, count // 2))
        self.missing = chance.choice((0, 0, 0.1))

    def of(self, index: int, model: str) -> dict[str, build.Value]:
        chance = self.chance
        found: dict[str, build.Value] = {"index": index, "model": model}
        if chance.random() >= self.missing:
            found[ROOT] = f"pci{chance.randrange(self.roots)}"
        if chance.random() >= self.missing:
            found[LINKS] = self._links()
        if chance.random() < 0.3:
            found["firmware"] = DeviceAttribute(version=chance.choice(("1.2.0", "1.2.1")))
        return found

    def _links(self) -> build.Value:
        """A list mostly; a single value is a set, too (KEP-5491)."""
        chance = self.chance
        some = sorted({chance.randrange(self.links) for _ in range(chance.randint(1, 3))})
        if len(some) == 1 and chance.random() < 0.5:
            return some[0]
        return some if chance.random() < 0.95 else [str(each) for each in some]


def _taints(chance: random.Random) -> list[DeviceTaint]:
    if chance.random() < 0.9:
        return []
    effect = chance.choice(("NoSchedule", "NoSchedule", "NoExecute", "None"))
    return [build.taint(chance.choice((BROKEN, DRAINING)), effect=effect)]


# --- publishing --------------------------------------------------------------------------------


def _published(chance: random.Random, batch: _Batch) -> Iterator[ResourceSlice]:
    """One pool or two, in one slice or two each; now and then an older generation beside it.

    Many drivers name their pool after the node, and their devices alike.
    """
    devices = list(batch.devices)
    if not batch.cards and len(devices) > 4 and chance.random() < 0.2:
        half = len(devices) // 2
        yield from _pool(chance, batch, f"{batch.kind}-a", devices[:half])
        yield from _pool(chance, batch, f"{batch.kind}-b", devices[half:])
    elif batch.kind in ("parts", "network") and chance.random() < 0.5:
        yield from _pool(chance, batch, NODE.metadata.name, devices)
    else:
        yield from _pool(chance, batch, f"{batch.kind}-pool", devices)


def _pool(
    chance: random.Random, batch: _Batch, pool: str, devices: list[Device]
) -> Iterator[ResourceSlice]:
    place = chance.choice(("node", "node", "node", "node", "all", "selector", "device"))
    if place == "device":
        devices = [_placed(chance, each) for each in devices]
    parts = [devices]
    if len(devices) > 1 and chance.random() < 0.3:
        cut = chance.randint(1, len(devices) - 1)
        parts = [devices[:cut], devices[cut:]]
    count = len(parts) + bool(batch.cards)
    # A slice is missing in some: nothing of the pool can be had then.
    announced = count + (chance.random() < 0.02)
    generation = chance.randint(1, 3)
    names = [f"{batch.kind}-{pool}-{index}" for index in range(count)]
    chance.shuffle(names)
    for name, part in zip(names, parts, strict=False):
        yield build.resource_slice(
            *part,
            name=name,
            driver=batch.driver,
            pool=pool,
            generation=generation,
            of=announced,
            node=NODE.metadata.name if place == "node" else "",
            all_nodes=place == "all",
            node_selector=build.nodes_with("zone", "a") if place == "selector" else None,
            per_device=place == "device",
        )
    if batch.cards:
        yield build.resource_slice(
            name=names[-1],
            driver=batch.driver,
            pool=pool,
            generation=generation,
            of=announced,
            node=NODE.metadata.name,
            counters=batch.cards,
        )
    if generation > 1 and chance.random() < 0.1:
        stale = build.devices("stale", 2, index=0, model="a")
        node = NODE.metadata.name
        yield build.resource_slice(
            *stale, name=f"{batch.kind}-{pool}-stale", driver=batch.driver, pool=pool, node=node
        )


def _placed(chance: random.Random, device: Device) -> Device:
    """On this node, mostly, each in its own way."""
    shape = chance.random()
    if shape < 0.1:
        return msgspec.structs.replace(device, node_name="node-1")
    if shape < 0.5:
        return msgspec.structs.replace(device, node_name=NODE.metadata.name)
    if shape < 0.75:
        return msgspec.structs.replace(device, node_selector=build.nodes_with("zone", "a"))
    return msgspec.structs.replace(device, all_nodes=True)


# --- holding -----------------------------------------------------------------------------------


def _holders(
    chance: random.Random, batch: _Batch, slices: Sequence[ResourceSlice]
) -> tuple[list[ResourceClaim], int]:
    """Some of the devices, or shares of them, are with other claims; how much that is."""
    found, lost = [], 0
    current = {device.name for device in batch.devices}
    for slice in slices:
        for index, device in enumerate(slice.spec.devices):
            if device.name not in current or chance.random() > 0.12:
                continue
            is_share = bool(device.allow_multiple_allocations) and chance.random() < 0.85
            is_admin = chance.random() < 0.1
            pick = build.pick(
                device.name,
                driver=slice.spec.driver,
                pool=slice.spec.pool.name,
                admin=is_admin,
                share=f"00000000-0000-4000-8000-{index:012}" if is_share else None,
                consumed=_third(device) if is_share else None,
            )
            name = f"{batch.kind}-{slice.metadata.name}-{device.name}"
            found.append(build.allocated(build.claim(name, namespace="other"), pick))
            if not is_admin:
                lost += _worth(batch, device) // (3 if is_share else 1)
    return found, lost


def _third(device: Device) -> dict[str, str]:
    amounts = {name: each.value or Quantity.of(0) for name, each in device.capacity.items()}
    return {name: str(min(30, each.rounded_up() // 3)) for name, each in amounts.items()}


def _amount(batch: _Batch) -> int:
    if batch.kind == "parts":
        return sum(_memory(card) for card in batch.cards if "memory" in card.counters)
    return sum(_worth(batch, device) for device in batch.devices)


def _memory(card: CounterSet) -> int:
    value = card.counters["memory"].value
    return value.rounded_up() if value else 0


def _worth(batch: _Batch, device: Device) -> int:
    if batch.kind == "parts":
        amount = device.consumes_counters[0].counters["memory"].value
        return amount.rounded_up() if amount else 0
    if batch.kind == "shared":
        memory = device.capacity.get("memory")
        return memory.value.rounded_up() if memory and memory.value else 100
    return 1
