"""Who has which device: one row a device or share, with claim, Pod and container."""

from __future__ import annotations

import msgspec

import worlds
from dibs.model.core import Container, ContainerResourceClaim, ResourceRequirements
from dibs.schedule.snapshot import Snapshot
from dibs.supply.identity import DeviceId
from dibs.testing import builders
from dibs.view import devices
from dibs.view.devices import Use


def states(found: tuple[Use, ...]) -> dict[str, str]:
    return {f"{use.node}/{use.id.device}": use.state for use in found}


def test_free_held_and_tainted() -> None:
    found = devices.uses(
        worlds.snapshot(
            {
                "nodes": {"a": {}},
                "devices": {"a": ["gpu-0", "gpu-1", "gpu-2"]},
                "tainted": {"a/gpu-2": "example.com/ecc:NoSchedule"},
                "claims": {"x": {"held": ["a/gpu-0"], "for": ["one"]}},
            }
        )
    )
    assert states(found) == {"a/gpu-0": "held", "a/gpu-1": "free", "a/gpu-2": "tainted"}
    assert (found[0].claim, found[0].pods) == ("default/x", ("one",))
    assert "example.com/ecc:NoSchedule" in found[2].note


def test_containers_that_use_the_request() -> None:
    given = {
        "nodes": {"a": {}},
        "devices": {"a": ["gpu-0"]},
        "claims": {"x": {"held": ["a/gpu-0"], "for": ["one"]}},
    }
    pod = worlds.pod("one", {"claims": ["x"], "node": "a"})
    using = [
        container("all", ContainerResourceClaim(name="x")),
        container("this", ContainerResourceClaim(name="x", request="gpu")),
        container("other", ContainerResourceClaim(name="x", request="nic")),
        container("none"),
    ]
    spec = msgspec.structs.replace(pod.spec, containers=tuple(using))
    pod = msgspec.structs.replace(pod, spec=spec)
    found = devices.uses(worlds.snapshot({**given, "objects": [pod]}))
    assert found[0].containers == ("all", "this")


def container(name: str, *claims: ContainerResourceClaim) -> Container:
    return Container(name=name, resources=ResourceRequirements(claims=claims))


def test_a_claim_without_pod_is_remarked_on() -> None:
    found = devices.uses(
        worlds.snapshot(
            {
                "nodes": {"a": {}},
                "devices": {"a": ["gpu-0"]},
                "claims": {"x": {"held": ["a/gpu-0"]}},
            }
        )
    )
    assert found[0].note == "no Pod uses it"


def test_a_held_device_that_is_no_longer_published_is_gone() -> None:
    found = devices.uses(
        worlds.snapshot(
            {
                "nodes": {"a": {}},
                "devices": {"a": ["gpu-0"]},
                "claims": {"x": {"held": ["a/gpu-7"]}},
            }
        )
    )
    assert states(found) == {"a/gpu-0": "free", "a/gpu-7": "gone"}


def test_a_device_held_twice_says_so() -> None:
    claims = {"x": {"held": ["a/gpu-0"]}, "y": {"held": ["a/gpu-0"]}}
    found = devices.uses(
        worlds.snapshot({"nodes": {"a": {}}, "devices": {"a": ["gpu-0"]}, "claims": claims})
    )
    assert [use.claim for use in found] == ["default/x", "default/y"]
    assert all("held by 2 claims at once" in use.note for use in found)


def test_an_incomplete_pool_is_unusable() -> None:
    found = devices.uses(
        worlds.snapshot({"nodes": {"a": {}}, "devices": {"a": ["gpu-0"]}, "of": 3})
    )
    assert states(found) == {"a/gpu-0": "unusable"}
    assert "1 of 3 slices" in found[0].note


def test_only_the_newest_generation_counts() -> None:
    old = builders.resource_slice(builders.device("gpu-0"), node="a", name="old", generation=1)
    new = builders.resource_slice(builders.device("gpu-1"), node="a", name="new", generation=2)
    found = devices.uses(Snapshot.of([builders.node("a"), old, new]))
    assert states(found) == {"a/gpu-1": "free"}


def test_devices_beside_counter_sets_are_given_to_nobody() -> None:
    card = builders.counter_set("card", memory="40Gi")
    drawing = builders.device("gpu-0", draws=[builders.draw("card", memory="40Gi")])
    both = builders.resource_slice(drawing, name="both", node="a", of=2, counters=[card])
    other = builders.resource_slice(builders.device("gpu-1"), name="other", node="a", of=2)
    found = devices.uses(Snapshot.of([builders.node("a"), both, other]))
    assert states(found) == {"a/gpu-0": "unusable", "a/gpu-1": "free"}
    assert "its slice has counter sets too" in found[0].note


def test_shares_and_what_is_left() -> None:
    shared = builders.device("gpu-0", memory="40Gi", shareable=True)
    claims = [
        builders.allocated(
            builders.claim(name),
            builders.pick("gpu-0", pool="a", share=f"share-{name}", consumed={"memory": "10Gi"}),
        )
        for name in ("x", "y")
    ]
    found = devices.uses(
        Snapshot.of([builders.node("a"), builders.resource_slice(shared, node="a"), *claims])
    )
    assert [use.state for use in found] == ["shared", "shared", "left"]
    assert [use.claim for use in found] == ["default/x", "default/y", ""]
    assert found[2].note == "memory 20Gi of 40Gi"
    assert [row["left"] for row in devices.records(found)] == [{}, {}, {"memory": "20Gi"}]


def test_a_device_that_is_shared_no_longer_has_nothing_left() -> None:
    unshared = builders.device("gpu-0", memory="40Gi")
    pick = builders.pick("gpu-0", pool="a", share="share-x", consumed={"memory": "10Gi"})
    held = builders.allocated(builders.claim("x"), pick)
    found = devices.uses(
        Snapshot.of([builders.node("a"), builders.resource_slice(unshared, node="a"), held])
    )
    assert [use.state for use in found] == ["shared"]
    assert "not shareable by now" in found[0].note


def test_a_partition_whose_card_is_used_up_is_blocked() -> None:
    card = builders.counter_set("card", memory="40Gi")
    counters = builders.resource_slice(name="counters", node="a", of=2, counters=[card])
    whole = builders.device("gpu-0", draws=[builders.draw("card", memory="40Gi")])
    half = builders.device("half", draws=[builders.draw("card", memory="20Gi")])
    published = builders.resource_slice(whole, half, name="devices", node="a", of=2)
    held = builders.allocated(builders.claim("x"), builders.pick("half", pool="a"))
    found = devices.uses(Snapshot.of([builders.node("a"), counters, published, held]))
    assert states(found) == {"a/gpu-0": "blocked", "a/half": "held"}
    assert found[0].note == "overlaps half, held by default/x"
    assert devices.records(found)[0]["overlaps"] == [
        {"device": "half", "claim": "default/x", "counters": ["card/memory"]}
    ]


def test_admin_access_takes_nothing() -> None:
    watching = builders.allocated(builders.claim("x"), builders.pick("gpu-0", pool="a", admin=True))
    found = devices.uses(
        Snapshot.of(
            [
                builders.node("a"),
                builders.resource_slice(builders.device("gpu-0"), node="a"),
                watching,
            ]
        )
    )
    assert [(use.state, use.claim) for use in found] == [("watched", "default/x"), ("free", "")]


def test_filters() -> None:
    snapshot = worlds.snapshot(
        {"nodes": {"a": {}, "b": {}}, "devices": {"a": ["gpu-0"], "b": ["gpu-0", "gpu-1"]}}
    )
    assert states(devices.uses(snapshot, node="b")) == {"b/gpu-0": "free", "b/gpu-1": "free"}
    only = devices.uses(snapshot, fits=lambda candidate: candidate.id.device == "gpu-1")
    assert [use.id for use in only] == [DeviceId("gpu.example.com", "b", "gpu-1")]


def test_rows_for_eyes_and_for_programs_agree() -> None:
    found = devices.uses(
        worlds.snapshot(
            {
                "nodes": {"a": {}},
                "devices": {"a": ["gpu-0", "gpu-1"]},
                "claims": {"x": {"held": ["a/gpu-0"], "for": ["one"]}},
            }
        )
    )
    table = devices.table(found)
    assert table.columns == ("node", "driver", "device", "what", "state", "claim", "pod")
    assert table.rows[0].cells == (
        "a", "gpu.example.com", "gpu-0", "A100 40Gi", "held", "default/x", "one",
    )  # fmt: skip
    records = devices.records(found)
    assert records[0]["product"] == "A100"
    assert records[0]["memory"] == "40Gi"
    assert records[1]["claim"] == ""
    assert devices.summary(found) == "2 devices, 1 free"


def test_a_pool_for_some_nodes_says_which_and_is_listed_for_those() -> None:
    nodes = (builders.node("n1", zone="a"), builders.node("n2", zone="b"))
    published = builders.resource_slice(
        builders.device("gpu-0"), node_selector=builders.nodes_with("zone", "b")
    )
    snapshot = Snapshot.of((*nodes, published))
    (row,) = devices.table(devices.uses(snapshot)).rows
    assert row.cells[0] == "zone=b"
    assert [use.id.device for use in devices.uses(snapshot, node="n2")] == ["gpu-0"]
    assert devices.uses(snapshot, node="n1") == ()
    assert devices.records(devices.uses(snapshot))[0]["node"] == ""
