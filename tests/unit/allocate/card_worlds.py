"""Seeded worlds of cards cut into partitions, as awkward as needed to tell alike cards apart.

Cards lack a device, have a slice less, list their devices in another order, have roots of their
own; some partitions are shared, some held; requests are equal or not, have alternatives,
constraints, admin access. The same seed gives the same world.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import msgspec

from dibs.model.objects import CounterSet, Device, DeviceRequest, ResourceClaim, ResourceSlice
from dibs.testing import builders as b

# Ways to cut a card: profile, slices, first memory slice.
MIG = [("1g", 1, at) for at in range(4)] + [("2g", 2, 0), ("2g", 2, 2), ("3g", 3, 0), ("3g", 3, 1)]
HALVES = [("1g", 1, 0), ("1g", 1, 1), ("2g", 2, 0)]
MIXED = [("1g", 1, 0), ("2g", 2, 0), ("2g", 2, 1), ("1g", 1, 2)]
ROOT = "gpu.example.com/root"


@dataclass(frozen=True, slots=True)
class CardWorld:
    slices: tuple[ResourceSlice, ...]
    held: tuple[ResourceClaim, ...]
    claims: tuple[ResourceClaim, ...]


def world(seed: int) -> CardWorld:
    chance = random.Random(seed)
    sets, devices = _cards(chance)
    slices = (
        b.resource_slice(name="c", node="node-a", of=2, counters=sets),
        b.resource_slice(*devices, name="d", node="node-a", of=2),
    )
    held = tuple(
        b.allocated(b.claim(f"h{n}"), b.pick(chance.choice(devices).name, pool="node-a"))
        for n in range(chance.choice([0, 0, 1, 2]) if devices else 0)
    )
    claims = tuple(_claim(chance, f"c{n}") for n in range(chance.choice([1, 1, 2])))
    return CardWorld(slices, held, claims)


def _cards(chance: random.Random) -> tuple[list[CounterSet], list[Device]]:
    cuts = chance.choice([MIG, HALVES, MIXED])
    sets, devices = [], []
    for card in range(chance.randint(1, 4)):
        memory = {f"m{at}": "1" for at in range(4)}
        sets.append(b.counter_set(f"card-{card}", s=chance.choice("4443"), **memory))
        for number, cut in enumerate(cuts):
            if chance.random() > 0.1:
                devices.append(_partition(chance, f"{card}-{number}", card, cut))
    for number in range(chance.choice([0, 0, 0, 2, 3])):
        devices.append(b.device(f"plain-{number}", profile="1g", root=chance.choice(["r0", "r1"])))
    if chance.random() < 0.3:
        chance.shuffle(devices)
    return sets, devices


def _partition(chance: random.Random, name: str, card: int, cut: tuple[str, int, int]) -> Device:
    profile, size, first = cut
    attributes = {"profile": profile}
    if chance.random() < 0.3:
        attributes["root"] = chance.choice("xy")
    elif chance.random() < 0.7:
        attributes["root"] = f"r{card % 2}"
    memory = {f"m{at}": "1" for at in range(first, first + size)}
    draws = [b.draw(f"card-{card}", s=str(size), **memory)]
    is_shared = chance.random() < 0.05
    return b.device(name, attributes=attributes, shareable=is_shared, draws=draws)


def _claim(chance: random.Random, name: str) -> ResourceClaim:
    requests = [_request(chance, f"r{number}") for number in range(chance.randint(1, 4))]
    constraints = []
    if chance.random() < 0.3:
        constraints.append(chance.choice([b.match, b.distinct])(ROOT))
    if chance.random() < 0.4:
        same = range(chance.randint(2, 5))
        requests = [msgspec.structs.replace(requests[0], name=f"r{number}") for number in same]
    return b.claim(name, *requests, constraints=constraints)


def _request(chance: random.Random, name: str) -> DeviceRequest:
    where = []
    if chance.random() < 0.7:
        profile = chance.choice(["1g", "2g", "3g"])
        where = [f'device.attributes["gpu.example.com"].profile == "{profile}"']
    if chance.random() < 0.12:
        first = b.alternative("a", *where, count=chance.randint(1, 3))
        return DeviceRequest(name=name, first_available=(first, b.alternative("b")))
    admin = True if chance.random() < 0.05 else None
    return b.request(name, *where, count=chance.choice([1, 1, 1, 2, 3]), admin=admin)
