"""What one device draws from its node (KEP-5517)."""

from __future__ import annotations

import pytest

from dibs.allocate import allocator, spare
from dibs.allocate.outcome import Allocated, Refused
from dibs.allocate.spare import Allowance, Spare
from dibs.model.objects import (
    Device,
    DeviceCapacity,
    NodeAllocatableMapping,
    NodeAllocatableOverhead,
    NodeAllocatableResource,
)
from dibs.supply.ledger import Ledger
from dibs.supply.pools import Supply
from dibs.testing import builders
from dibs.values.quantity import Quantity


def amount(text: str) -> Quantity:
    return Quantity.parse(text)


def cores(mapping: NodeAllocatableMapping | None, *overhead: str) -> Device:
    over = None
    if overhead:
        over = NodeAllocatableOverhead(
            per_pod=amount(overhead[0]), per_container=amount(overhead[1])
        )
    return Device(
        name="d",
        capacity={"cores": DeviceCapacity(value=amount("16"))},
        node_allocatable_resources={"cpu": NodeAllocatableResource(mapping=mapping, overhead=over)},
    )


BY_DEVICE = NodeAllocatableMapping(device_multiplier=amount("3"))
BY_CORES = NodeAllocatableMapping(capacity_key="cores", capacity_multiplier=amount("500m"))
BY_NOTHING = NodeAllocatableMapping(capacity_key="memory", capacity_multiplier=amount("1"))


@pytest.mark.parametrize(
    ("device", "share", "containers", "cpu"),
    [
        (cores(BY_DEVICE), None, 2, "3"),
        (cores(BY_DEVICE), {"cores": "5"}, 2, "3"),
        # A device that is not shared is had with all its capacity.
        (cores(BY_CORES), None, 0, "8"),
        (cores(BY_CORES), {"cores": "5"}, 0, "2500m"),
        (cores(BY_CORES), {}, 0, "0"),
        (cores(BY_NOTHING), None, 1, "0"),
        (cores(None, "1", "250m"), None, 0, "1"),
        (cores(BY_DEVICE, "1", "250m"), None, 3, "4750m"),
    ],
)
def test_draws(device: Device, share: dict[str, str] | None, containers: int, cpu: str) -> None:
    shared = None if share is None else {name: amount(text) for name, text in share.items()}
    assert spare.draws(device, shared, containers) == {"cpu": amount(cpu)}


@pytest.mark.parametrize("is_admin", [True, False])
def test_admin_access_draws_nothing(is_admin: bool) -> None:
    request = builders.request("r", admin=is_admin)
    outcome = allocator.allocate(
        builders.node("a"),
        [builders.claim("c", request)],
        Supply.of([builders.resource_slice(cores(BY_DEVICE), node="a")]),
        Ledger.of([]),
        {builders.CLASS: builders.device_class()},
        spare=Spare({"cpu": Allowance(amount("2"), amount("2"))}, [1]),
    )
    assert isinstance(outcome, Allocated if is_admin else Refused)
