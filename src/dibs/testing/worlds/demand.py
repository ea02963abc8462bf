"""What the Pod of a world asks for, and what other claims hold.

Selectors come with and without the guard that real ones often lack, so that some worlds end in
an error; a holder may hold a device that is no longer published.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

import msgspec

from dibs.model.objects import (
    DerivedAttribute,
    Device,
    DeviceClaimConfiguration,
    DeviceClass,
    DeviceClassConfiguration,
    DeviceConstraint,
    DeviceRequest,
    DeviceRequestAllocationResult,
    DeviceToleration,
    OpaqueDeviceConfiguration,
    ResourceClaim,
    ResourceSlice,
)
from dibs.supply import records
from dibs.testing import builders as build
from dibs.testing.worlds.hardware import DRIVERS, LINKS, ROOT
from dibs.testing.worlds.traits import (
    CAPACITY,
    DERIVED,
    FRACTIONS,
    LISTS,
    METERS,
    RECORDS,
    Traits,
)

GPU, NIC = DRIVERS
_OF_GPU = f'device.driver == "{GPU}"'
_OF_NIC = f'device.driver == "{NIC}"'
_ATTRIBUTES = f'device.attributes["{GPU}"]'
_CAPACITY = f'device.capacity["{GPU}"]'

# Guarded ones are false where a device says nothing; the last three then fail.
SELECTORS = (
    f'"model" in {_ATTRIBUTES} && {_ATTRIBUTES}.model == "a"',
    f"has({_ATTRIBUTES}.index) && {_ATTRIBUTES}.index >= 1",
    f"has({_ATTRIBUTES}.ecc) && {_ATTRIBUTES}.ecc",
    f'"memory" in {_CAPACITY} && {_CAPACITY}.memory.compareTo(quantity("80Gi")) >= 0',
    f'{_OF_GPU} || device.attributes["{NIC}"].index == 0',
    f'{_ATTRIBUTES}.model == "b"',
    f'{_ATTRIBUTES}.version.isGreaterThan(semver("1.2.0"))',
    f'{_CAPACITY}.memory.compareTo(quantity("40Gi")) > 0',
)


# The name of a derived attribute, and what it may be: guarded ones first; some fail on a device
# that says nothing, the last doesn't compile to a value that can be compared.
KIND = "derived/kind"
DERIVATIONS = (
    f'"model" in {_ATTRIBUTES} ? {_ATTRIBUTES}.model : "none"',
    f'"model" in {_ATTRIBUTES} ? {_ATTRIBUTES}.model : "none"',
    "device.driver",
    f"has({_ATTRIBUTES}.index) ? {_ATTRIBUTES}.index % 2 : -1",
    f"has({_ATTRIBUTES}.index) ? [{_ATTRIBUTES}.index] : []",
    'device.attributes["resource.kubernetes.io"].?pcieRoot.orValue("pci0000:00")',
    'semver("1.2.3")',
    f"{_ATTRIBUTES}.index % 3",
    f"{_ATTRIBUTES}.version",
    "1.5",
)


def classes(chance: random.Random) -> tuple[DeviceClass, ...]:
    """Four classes, always of the same names; some configure what they select."""
    found = (
        build.device_class("gpu", _OF_GPU),
        build.device_class("nic", _OF_NIC),
        build.device_class("any"),
        build.device_class("big", _OF_GPU, SELECTORS[3]),
    )
    return tuple(_configured(chance, each) for each in found)


def _configured(chance: random.Random, device_class: DeviceClass) -> DeviceClass:
    if chance.random() < 0.7:
        return device_class
    config = (DeviceClassConfiguration(_settings(device_class.metadata.name)),)
    return msgspec.structs.replace(
        device_class, spec=msgspec.structs.replace(device_class.spec, config=config)
    )


def _settings(what: str) -> OpaqueDeviceConfiguration:
    return OpaqueDeviceConfiguration(
        driver=GPU, parameters={"apiVersion": "example.com/v1", "kind": "Setting", "what": what}
    )


# --- claims ------------------------------------------------------------------------------------


def claims(chance: random.Random, traits: Traits) -> tuple[ResourceClaim, ...]:
    """One to three claims of one to three requests; small ones are likelier."""
    return tuple(
        _claim(chance, traits, f"claim-{index}")
        for index in range(chance.choice((1, 1, 1, 1, 1, 1, 2, 2, 3)))
    )


def _claim(chance: random.Random, traits: Traits, name: str) -> ResourceClaim:
    requests = [
        _request(chance, traits, f"r{index}") for index in range(chance.choice((1, 1, 1, 2, 2, 3)))
    ]
    names = [request.name for request in requests]
    count = chance.choice((0, 0, 0, 1, 1, 2))
    constraints = [_constraint(chance, traits, names) for _ in range(count)]
    requests = [_trimmed(request, constraints) for request in requests]
    claim = build.claim(name, *requests, constraints=constraints)
    if chance.random() < 0.7:
        return claim
    config = DeviceClaimConfiguration(_named(chance, names), _settings(name))
    devices = msgspec.structs.replace(claim.spec.devices, config=(config,))
    return msgspec.structs.replace(claim, spec=msgspec.structs.replace(claim.spec, devices=devices))


def _trimmed(request: DeviceRequest, constraints: Sequence[DeviceConstraint]) -> DeviceRequest:
    """Without the derived attributes that no constraint on the request compares (KEP-6080)."""

    def compared(
        derivations: Sequence[DerivedAttribute], *names: str
    ) -> tuple[DerivedAttribute, ...]:
        known = {
            each.match_attribute or each.distinct_attribute
            for each in constraints
            if not each.requests or not set(names).isdisjoint(each.requests)
        }
        return tuple(each for each in derivations if each.name in known)

    if request.exactly is not None:
        kept = compared(request.exactly.derived_attributes, request.name)
        exactly = msgspec.structs.replace(request.exactly, derived_attributes=kept)
        return msgspec.structs.replace(request, exactly=exactly)
    alternatives = tuple(
        msgspec.structs.replace(
            each,
            derived_attributes=compared(
                each.derived_attributes, request.name, f"{request.name}/{each.name}"
            ),
        )
        for each in request.first_available
    )
    return msgspec.structs.replace(request, first_available=alternatives)


def _request(chance: random.Random, traits: Traits, name: str) -> DeviceRequest:
    if chance.random() < 0.25:
        options = [
            build.alternative(
                option,
                *_selectors(chance),
                device_class=_class(chance),
                all_devices=chance.random() < 0.15,
                count=chance.choice((1, 1, 1, 2, 2, 3)),
                tolerations=_tolerations(chance),
                capacity=_amounts(chance, traits),
                derived=_derived(chance, traits),
            )
            for option in ("first", "second", "third")[: chance.randint(1, 3)]
        ]
        return build.first_available(name, *options)
    return build.request(
        name,
        *_selectors(chance),
        device_class=_class(chance),
        all_devices=chance.random() < 0.15,
        count=chance.choice((1, 1, 1, 2, 2, 3)),
        admin=True if chance.random() < 0.1 else None,
        tolerations=_tolerations(chance),
        capacity=_amounts(chance, traits),
        derived=_derived(chance, traits),
    )


def _derived(chance: random.Random, traits: Traits) -> dict[str, str] | None:
    if DERIVED not in traits or chance.random() < 0.15:
        return None
    # A derived attribute may shadow one that the driver publishes.
    return {
        name: DERIVATIONS[
            min(chance.randrange(len(DERIVATIONS)), chance.randrange(len(DERIVATIONS)))
        ]
        for name in (chance.choice((KIND, KIND, KIND, KIND, KIND, ROOT)),)
    }


def _class(chance: random.Random) -> str:
    return chance.choice(("gpu", "gpu", "gpu", "any", "any", "any", "any", "big", "nic"))


def _selectors(chance: random.Random) -> list[str]:
    return [chance.choice(SELECTORS)] if chance.random() < 0.25 else []


def _tolerations(chance: random.Random) -> list[DeviceToleration]:
    if chance.random() < 0.7:
        return []
    return [build.toleration(chance.choice(("", "example.com/broken", "example.com/other")))]


def _amounts(chance: random.Random, traits: Traits) -> dict[str, str] | None:
    if CAPACITY not in traits or chance.random() < 0.5:
        return None
    if FRACTIONS in traits and chance.random() < 0.3:
        return {"cores": chance.choice(("1", "700m", "1300m", "2", "3600m"))}
    if METERS in traits and chance.random() < 0.4:
        return {f"{GPU}/bandwidth": chance.choice(("5", "20", "50", "80"))}
    return {"memory": chance.choice(("1Gi", "10Gi", "30Gi", "50Gi"))}


def _constraint(chance: random.Random, traits: Traits, names: Sequence[str]) -> DeviceConstraint:
    attributes = [ROOT, ROOT, f"{GPU}/model", f"{GPU}/ecc"]
    if LISTS in traits:
        attributes += [LINKS] * 2
    if DERIVED in traits:
        attributes += [KIND] * 4
    attribute = chance.choice(attributes)
    kind = chance.choice((build.match, build.distinct))
    return kind(attribute, *_named(chance, names))


def _named(chance: random.Random, names: Sequence[str]) -> tuple[str, ...]:
    """All requests, or some of them by name."""
    if chance.random() < 0.5:
        return ()
    return tuple(chance.sample(names, chance.randint(1, len(names))))


# --- what is held ------------------------------------------------------------------------------


def held(
    chance: random.Random, traits: Traits, slices: Sequence[ResourceSlice]
) -> tuple[ResourceClaim, ...]:
    """Up to three other claims with a device each, of those published, or of one that is gone."""
    published = [(slice, device) for slice in slices for device in slice.spec.devices]
    if not published:
        return ()
    found = []
    for index in range(chance.choice((0, 0, 0, 1, 1, 2))):
        slice, device = chance.choice(published)
        pick = _pick(chance, traits, index, slice, device)
        claim = build.allocated(build.claim(f"held-{index}", namespace="other"), pick)
        found.append(_remembering(chance, claim, pick) if RECORDS in traits else claim)
    return tuple(found)


def _remembering(
    chance: random.Random, claim: ResourceClaim, pick: DeviceRequestAllocationResult
) -> ResourceClaim:
    """Every second claim knows what it drew, which may be other than what is published now."""
    if chance.random() < 0.5:
        return claim
    drawn = {"memory": chance.choice(("20Gi", "40Gi", "60Gi")), "slices": "1"}
    entry: dict[str, object] = {"driver": pick.driver, "pool": pick.pool, "device": pick.device}
    if pick.share_id is not None:
        entry["shareID"] = pick.share_id
    entry["counterSets"] = {"card": {"counters": drawn}} if chance.random() < 0.8 else {}
    annotations = {records.ANNOTATION: json.dumps([entry])}
    metadata = msgspec.structs.replace(claim.metadata, annotations=annotations)
    return msgspec.structs.replace(claim, metadata=metadata)


def _pick(
    chance: random.Random, traits: Traits, index: int, slice: ResourceSlice, device: Device
) -> DeviceRequestAllocationResult:
    is_share = CAPACITY in traits and bool(device.allow_multiple_allocations)
    is_gone = chance.random() < 0.1
    return build.pick(
        "gone" if is_gone else device.name,
        driver=slice.spec.driver,
        pool=slice.spec.pool.name,
        admin=chance.random() < 0.1,
        share=f"00000000-0000-4000-8000-{index:012}" if is_share else None,
        consumed={name: "10Gi" if name == "memory" else "1" for name in device.capacity}
        if is_share
        else None,
    )
