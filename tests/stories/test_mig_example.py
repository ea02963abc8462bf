"""The MIG example against the hardware: which profile starts where, and what can be had at once.

Places as `nvidia-smi mig -lgipp` prints them for a card of seven compute and eight memory slices;
some published mocks have others. Two devices of one card exclude each other exactly when a memory
slice is common to both, or there are too few multiprocessors for both.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from dibs.client import dump
from dibs.model.objects import Device, ResourceSlice

CLUSTER = Path(__file__).parents[2] / "examples" / "mig" / "cluster.yaml"
# Profile: where it starts, and how many memory slices it takes.
PLACES = {
    "1g.10gb": ((0, 1, 2, 3, 4, 5, 6), 1),
    "1g.20gb": ((0, 2, 4, 6), 2),
    "2g.20gb": ((0, 2, 4), 2),
    "3g.40gb": ((0, 4), 4),
    "4g.40gb": ((0,), 4),
    "7g.80gb": ((0,), 8),
}


@pytest.fixture(scope="module")
def slices() -> list[ResourceSlice]:
    with CLUSTER.open("rb") as unread:
        loaded = dump.load([str(CLUSTER)], stdin=unread)
    return [each for each in loaded.objects if isinstance(each, ResourceSlice)]


def drawn(device: Device, name: str) -> int:
    amount = device.consumes_counters[0].counters.get(name)
    return amount.value.as_int() if amount and amount.value else 0


def memory_slices(device: Device) -> frozenset[int]:
    return frozenset(n for n in range(8) if drawn(device, f"memory-slice-{n}"))


def test_each_card_has_every_profile_at_every_place(slices: list[ResourceSlice]) -> None:
    cards = [each.spec.devices for each in slices if each.spec.devices]
    assert len(cards) == 3
    wanted = {
        (profile, frozenset(range(start, start + size)))
        for profile, (starts, size) in PLACES.items()
        for start in starts
    }
    for devices in cards:
        found = {
            (each.attributes["profile"].string, memory_slices(each))
            for each in devices
            if "profile" in each.attributes
        }
        assert found == wanted
        assert len(devices) == len(wanted) + 1  # and the whole card


def test_two_devices_of_a_card_exclude_each_other_only_if_they_overlap(
    slices: list[ResourceSlice],
) -> None:
    [sets] = [each.spec.shared_counters for each in slices if each.spec.shared_counters]
    totals = {
        (each.name, name): counter.value.as_int()
        for each in sets
        for name, counter in each.counters.items()
        if counter.value
    }
    for published in slices:
        for one, other in itertools.combinations(published.spec.devices, 2):
            card = one.consumes_counters[0].counter_set
            names = {*one.consumes_counters[0].counters, *other.consumes_counters[0].counters}
            fits = all(drawn(one, n) + drawn(other, n) <= totals[card, n] for n in names)
            assert fits == memory_slices(one).isdisjoint(memory_slices(other)), (one, other)
