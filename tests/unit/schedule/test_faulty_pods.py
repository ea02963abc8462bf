"""A Pod that nobody can decide on concerns nobody else, however it came into the cluster."""

from __future__ import annotations

from typing import Any

import pytest

import worlds
from dibs.schedule import pods
from dibs.schedule.plan import Broken, Placed
from dibs.schedule.snapshot import Key, Snapshot
from dibs.values.mistake import Mistake
from dibs.view import devices, why

FAULTY: dict[str, dict[str, Any]] = {
    "part of a device": {"limits": {"deviceclass.resource.kubernetes.io/gpu": "500m"}},
    "no number": {
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["x"]}]}
                    ]
                }
            }
        }
    },
}


def world(faulty: dict[str, Any]) -> Snapshot:
    return worlds.snapshot(
        {
            "classes": {"gpu": []},
            "nodes": {"n1": {}},
            "devices": {"n1": ["gpu-0"]},
            "claims": {"x": {}, "unused": {}},
            "pods": {
                "odd": {"created": "2026-01-01T00:00:00Z", **faulty},
                "train": {"created": "2026-01-02T00:00:00Z", "claims": ["x"]},
            },
        }
    )


@pytest.mark.parametrize("name", FAULTY)
def test_others_are_answered(name: str) -> None:
    snapshot = world(FAULTY[name])
    assert isinstance(why.of_pod(snapshot, Key("default", "train")).decision, Placed)
    why.of_claim(snapshot, Key("default", "unused"))
    assert len(devices.uses(snapshot)) == 1
    with pytest.raises(Mistake, match="odd"):
        why.of_pod(snapshot, Key("default", "odd"))


@pytest.mark.parametrize("name", FAULTY)
def test_of_a_cluster_all_others_are_decided_on(name: str) -> None:
    snapshot = world(FAULTY[name])
    found = {each.subject.key.name: each for each, _ in pods.steps(snapshot, is_strict=False)}
    assert isinstance(found["odd"], Broken)
    assert "odd" in found["odd"].failed.message
    assert isinstance(found["train"], Placed)
    # What one has in one's own files is one's own mistake.
    with pytest.raises(Mistake, match="odd"):
        pods.plan(snapshot)
