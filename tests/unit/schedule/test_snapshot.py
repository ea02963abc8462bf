"""What a set of objects means together: namespaces, order, taint rules, nodes that are implied."""

from __future__ import annotations

import msgspec

from dibs.model.core import Node
from dibs.model.meta import ObjectMeta, OwnerReference
from dibs.model.objects import DeviceTaint, DeviceTaintRule, DeviceTaintRuleSpec, ResourceClaim
from dibs.model.objects import DeviceTaintSelector as Selector
from dibs.schedule.snapshot import Key, Snapshot
from dibs.testing import builders


def rule(selector: Selector | None, key: str = "example.com/ill") -> DeviceTaintRule:
    taint = DeviceTaint(key=key, effect="NoExecute")
    return DeviceTaintRule(
        metadata=ObjectMeta(name=f"rule-{key}"),
        spec=DeviceTaintRuleSpec(device_selector=selector, taint=taint),
    )


def tainted(*rules: DeviceTaintRule) -> set[str]:
    own = builders.device("gpu-1", taints=[builders.taint("own")])
    slices = [
        builders.resource_slice(builders.device("gpu-0"), own, node="a"),
        builders.resource_slice(builders.device("gpu-0"), node="b"),
        builders.resource_slice(builders.device("nic-0"), node="a", driver="nic.example.com"),
    ]
    snapshot = Snapshot.of([*slices, *rules])
    return {
        f"{each.spec.pool.name}/{device.name}:{taint.key}"
        for each in snapshot.slices
        for device in each.spec.devices
        for taint in device.taints
    }


def test_rules_taint_what_all_their_fields_match() -> None:
    assert tainted(rule(Selector(pool="a", device="gpu-0"))) == {
        "a/gpu-0:example.com/ill",
        "a/gpu-1:own",
    }
    assert tainted(rule(Selector(driver="nic.example.com"))) == {
        "a/nic-0:example.com/ill",
        "a/gpu-1:own",
    }


def test_an_empty_selector_is_everything_and_none_is_nothing() -> None:
    assert len(tainted(rule(Selector()))) == 5
    assert tainted(rule(None)) == {"a/gpu-1:own"}


def test_a_rule_adds_to_a_devices_own_taints() -> None:
    found = tainted(rule(Selector(device="gpu-1"), key="first"), rule(Selector(device="gpu-1")))
    assert found == {"a/gpu-1:own", "a/gpu-1:first", "a/gpu-1:example.com/ill"}


def test_untouched_slices_are_the_same_values() -> None:
    published = builders.resource_slice(builders.device("gpu-0"), node="a")
    snapshot = Snapshot.of([published, rule(Selector(pool="b"))])
    assert snapshot.slices[0] is published


def test_without_a_namespace_an_object_is_in_default() -> None:
    claim = builders.claim("x")
    bare = msgspec.structs.replace(
        claim, metadata=msgspec.structs.replace(claim.metadata, namespace="")
    )
    snapshot = Snapshot.of([bare])
    assert list(snapshot.claims) == [Key("default", "x")]
    assert snapshot.claims[Key("default", "x")].metadata.namespace == "default"


def test_pods_are_in_order_of_age_then_name() -> None:
    ages = {"new": None, "b": "2026-01-02T00:00:00Z", "a": "2026-01-02T00:00:00Z"}
    made = [builders.pod(name, created=age) for name, age in ages.items()]
    old = builders.pod("z", created="2026-01-01T00:00:00Z", namespace="other")
    assert [key.name for key in Snapshot.of([*made, old]).pods] == ["z", "a", "b", "new"]


def test_nodes_are_implied_only_when_the_input_has_none() -> None:
    published = builders.resource_slice(builders.device("gpu-0"), node="b")
    local = builders.resource_slice(
        builders.device("gpu-0", on="c"), name="wide", pool="wide", per_device=True
    )
    implied = Snapshot.of([published, local])
    assert list(implied.nodes) == ["b", "c"]
    assert implied.nodes_are_implied
    named = Snapshot.of([published, local, builders.node("a")])
    assert list(named.nodes) == ["a"]
    assert not named.nodes_are_implied


def test_the_old_snapshot_stays_when_a_claim_changes() -> None:
    before = Snapshot.of([builders.claim("x")])
    held = builders.allocated(builders.claim("x"), builders.pick("gpu-0"))
    after = before.with_claims([held])
    assert after.claims[Key("default", "x")] is held
    assert before.claims[Key("default", "x")].status.allocation is None


def test_a_pods_claims_are_oldest_first_whichever_came_first() -> None:
    owner = OwnerReference(kind="Pod", name="p", uid="u", controller=True)

    def owned(name: str, created: str) -> ResourceClaim:
        claim = builders.claim(name)
        metadata = msgspec.structs.replace(
            claim.metadata, owner_references=(owner,), creation_timestamp=created
        )
        return msgspec.structs.replace(claim, metadata=metadata)

    young, old = owned("a", "2026-01-02T00:00:00Z"), owned("b", "2026-01-01T00:00:00Z")
    snapshot = Snapshot.of([young]).with_object(old)
    pod = Key("default", "p")
    assert [key.name for key in snapshot.generated[pod]] == ["b", "a"]
    assert list(snapshot.without_object(ResourceClaim, Key("default", "b")).generated) == [pod]
    assert not Snapshot.of([young]).without_object(ResourceClaim, Key("default", "a")).generated


def test_a_rule_touches_only_the_slices_that_it_selects() -> None:
    slices = [builders.resource_slice(builders.device("gpu-0"), node=name) for name in "ab"]
    before = Snapshot.of(slices)
    after = before.with_object(rule(Selector(pool="a")))
    assert [one is other for one, other in zip(before.slices, after.slices, strict=True)] == [
        False,
        True,
    ]
    name = after.rules[0].metadata.name
    assert after.without_object(DeviceTaintRule, Key("", name)) == before
    changed = builders.resource_slice(builders.device("gpu-1"), node="a")
    assert after.with_object(changed).slices[0].spec.devices[0].taints
    assert after.with_object(changed).published[changed.metadata.name] is changed


def test_where_a_cluster_is_watched_slices_imply_no_nodes() -> None:
    published = builders.resource_slice(builders.device("gpu-0"), node="a")
    watched = Snapshot.of([published], implies_nodes=False)
    assert not watched.nodes
    assert not watched.nodes_are_implied
    assert not watched.with_object(builders.node("b")).without_object(Node, Key("", "b")).nodes
