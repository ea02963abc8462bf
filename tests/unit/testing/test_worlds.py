"""The same seed is the same world, and worlds stay small enough for the oracle."""

from __future__ import annotations

from dibs.testing import worlds
from dibs.testing.question import tree

SEEDS = range(60)


def test_a_seed_is_a_world() -> None:
    for seed in SEEDS:
        assert worlds.world(seed, worlds.EVERY_TRAIT) == worlds.world(seed, worlds.EVERY_TRAIT)
    assert len({str(worlds.world(seed)) for seed in SEEDS}) == len(SEEDS)


def test_worlds_are_small() -> None:
    for seed in SEEDS:
        world = worlds.world(seed, worlds.EVERY_TRAIT)
        assert 1 <= len(world.nodes) <= 3
        assert 1 <= len(world.claims) <= 3
        assert all(1 <= len(claim.spec.devices.requests) <= 3 for claim in world.claims)
        # Older generations and a name that stands twice repeat devices.
        names = {
            (slice_.spec.driver, slice_.spec.pool.name, device.name)
            for slice_ in world.slices
            for device in slice_.spec.devices
        }
        assert len(names) <= 6


def test_traits_bring_what_they_name() -> None:
    plain = [worlds.world(seed) for seed in SEEDS]
    devices = [d for world in plain for s in world.slices for d in s.spec.devices]
    assert not any(d.allow_multiple_allocations or d.binding_conditions for d in devices)
    assert not any(d.consumes_counters for d in devices)
    full = [worlds.world(seed, worlds.EVERY_TRAIT) for seed in SEEDS]
    devices = [d for world in full for s in world.slices for d in s.spec.devices]
    assert any(d.allow_multiple_allocations for d in devices)
    assert any(d.binding_conditions for d in devices)
    assert any(d.consumes_counters for d in devices)
    assert any(a.ints for d in devices for a in d.attributes.values())


def test_questions_are_the_protocols() -> None:
    (question, *_) = worlds.world(1).questions()
    asked = tree(question)
    assert set(asked) == {"id", "features", "node", "slices", "classes", "claims", "allocated"}
    features = asked["features"]
    assert isinstance(features, dict)
    assert features["listTypeAttributes"] is True
