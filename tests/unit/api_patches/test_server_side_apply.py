"""Server-side apply: what merges, who owns what, who minds, and what goes when nobody wants it."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.api.patches import attempt, entries, serverside
from dibs.api.patches.refused import Refused

Tree = dict[str, Any]

T0 = "2026-01-01T00:00:00Z"
T1 = "2026-01-01T00:00:01Z"
T2 = "2026-01-01T00:00:02Z"


def config(data: Tree | None = None, **metadata: Any) -> Tree:
    tree: Tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", **metadata}}
    return tree if data is None else {**tree, "data": data}


def pod(*containers: Tree, **metadata: Any) -> Tree:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", **metadata},
        "spec": {"containers": list(containers)},
    }


def owners(tree: Tree) -> dict[str, Any]:
    """Manager (with /subresource) to fields."""
    return {
        f"{each['manager']}{'/' if 'subresource' in each else ''}{each.get('subresource', '')}":
            each["fieldsV1"]
        for each in tree["metadata"].get("managedFields", ())
    }  # fmt: skip


def times(tree: Tree) -> dict[str, str | None]:
    return {each["manager"]: each.get("time") for each in tree["metadata"]["managedFields"]}


def refusal(live: Tree | None, applied: Tree, manager: str, **more: Any) -> Refused:
    with pytest.raises(Refused) as refused:
        serverside.apply(live, applied, manager=manager, now=T1, **more)
    return refused.value


# --- merging and owning --------------------------------------------------------------------------


def test_applying_creates_and_owns_what_it_says() -> None:
    tree = serverside.apply(None, config({"a": "1"}), manager="ann", now=T0)
    assert tree["data"] == {"a": "1"}
    assert tree["metadata"]["managedFields"] == [
        {
            "apiVersion": "v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {"f:a": {}}},
            "manager": "ann",
            "operation": "Apply",
            "time": T0,
        }
    ]


def test_two_managers_share_an_object() -> None:
    tree = serverside.apply(None, config({"a": "1"}), manager="ann", now=T0)
    tree = serverside.apply(tree, config({"b": "2"}), manager="bob", now=T1)
    assert tree["data"] == {"a": "1", "b": "2"}
    assert owners(tree) == {
        "ann": {"f:data": {"f:a": {}}},
        "bob": {"f:data": {"f:b": {}}},
    }


def test_what_is_applied_no_more_goes() -> None:
    tree = serverside.apply(None, config({"a": "1", "b": "2"}), manager="ann", now=T0)
    tree = serverside.apply(tree, config({"a": "1"}), manager="ann", now=T1)
    assert tree["data"] == {"a": "1"}
    tree = serverside.apply(tree, config(), manager="ann", now=T1)
    assert "data" not in tree
    assert "managedFields" not in tree["metadata"]


def test_what_somebody_else_applies_too_stays() -> None:
    tree = serverside.apply(None, config({"a": "1", "b": "2"}), manager="ann", now=T0)
    tree = serverside.apply(tree, config({"b": "2"}), manager="bob", now=T1)
    tree = serverside.apply(tree, config({"a": "1"}), manager="ann", now=T2)
    assert tree["data"] == {"a": "1", "b": "2"}
    assert owners(tree)["ann"] == {"f:data": {"f:a": {}}}


def test_items_of_a_list_are_owned_by_their_key() -> None:
    tree = serverside.apply(None, pod({"name": "a", "image": "x"}), manager="ann", now=T0)
    tree = serverside.apply(tree, pod({"name": "b", "image": "y"}), manager="bob", now=T1)
    assert [each["name"] for each in tree["spec"]["containers"]] == ["a", "b"]
    assert owners(tree)["bob"] == {
        "f:spec": {"f:containers": {'k:{"name":"b"}': {".": {}, "f:image": {}, "f:name": {}}}}
    }
    empty = {**pod(), "spec": {}}
    tree = serverside.apply(tree, empty, manager="ann", now=T2)
    assert [each["name"] for each in tree["spec"]["containers"]] == ["b"]


def test_a_missing_key_has_its_default() -> None:
    plain = pod({"name": "a", "ports": [{"containerPort": 80}]})
    tree = serverside.apply(None, plain, manager="ann", now=T0)
    named = pod({"name": "a", "ports": [{"containerPort": 80, "protocol": "TCP", "name": "w"}]})
    tree = serverside.apply(tree, named, manager="bob", now=T1)
    [port] = tree["spec"]["containers"][0]["ports"]
    assert port == {"containerPort": 80, "protocol": "TCP", "name": "w"}


def test_a_set_is_owned_value_by_value() -> None:
    tree = serverside.apply(None, config(finalizers=["a/x"]), manager="ann", now=T0)
    tree = serverside.apply(tree, config(finalizers=["b/x"]), manager="bob", now=T1)
    assert tree["metadata"]["finalizers"] == ["a/x", "b/x"]
    tree = serverside.apply(tree, config(), manager="ann", now=T2)
    assert tree["metadata"]["finalizers"] == ["b/x"]


def _claim(version: str, request: Tree, **more: Any) -> Tree:
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "default"},
        "spec": {"devices": {"requests": [request], **more}},
    }


def test_an_atomic_list_is_owned_as_a_whole() -> None:
    one = _claim("v1", {"name": "a", "exactly": {"deviceClassName": "x"}})
    tree = serverside.apply(None, one, manager="ann", now=T0)
    assert owners(tree)["ann"] == {"f:spec": {"f:devices": {"f:requests": {}}}}
    other = _claim("v1", {"name": "b", "exactly": {"deviceClassName": "x"}})
    conflict = refusal(tree, other, "bob")
    assert conflict.message == (
        'Apply failed with 1 conflict: conflict with "ann": .spec.devices.requests'
    )


# --- conflicts -----------------------------------------------------------------------------------


def test_a_conflict_names_who_and_which_field() -> None:
    tree = serverside.track(None, config({"a": "1"}), manager="kubectl-create", now=T0)
    conflict = refusal(tree, config({"a": "2"}), "bob")
    assert (conflict.code, conflict.reason) == (409, "Conflict")
    assert conflict.message == (
        'Apply failed with 1 conflict: conflict with "kubectl-create" using v1: .data.a'
    )
    [cause] = conflict.causes
    assert (cause.reason, cause.message, cause.field) == (
        "FieldManagerConflict",
        'conflict with "kubectl-create" using v1',
        ".data.a",
    )


def test_conflicts_are_listed_by_manager() -> None:
    tree = serverside.apply(None, config({"a": "1", "b": "1"}), manager="ann", now=T0)
    tree = serverside.apply(tree, pod_like(tree, {"c": "1"}), manager="cid", now=T0)
    conflict = refusal(tree, config({"a": "2", "b": "2", "c": "2"}), "bob")
    assert conflict.message == (
        'Apply failed with 3 conflicts: conflicts with "ann":\n- .data.a\n- .data.b\n'
        'conflicts with "cid":\n- .data.c'
    )
    assert len(conflict.causes) == 3


def pod_like(tree: Tree, data: Tree) -> Tree:
    return {"apiVersion": tree["apiVersion"], "kind": tree["kind"],
            "metadata": {"name": "c"}, "data": data}  # fmt: skip


def test_force_takes_the_fields() -> None:
    tree = serverside.apply(None, config({"a": "1", "b": "1"}), manager="ann", now=T0)
    tree = serverside.apply(tree, config({"a": "2"}), manager="bob", now=T1, force=True)
    assert tree["data"] == {"a": "2", "b": "1"}
    assert owners(tree) == {"ann": {"f:data": {"f:b": {}}}, "bob": {"f:data": {"f:a": {}}}}


def test_the_same_value_is_no_conflict() -> None:
    tree = serverside.apply(None, config({"a": "1"}), manager="ann", now=T0)
    tree = serverside.apply(tree, config({"a": "1"}), manager="bob", now=T1)
    assert owners(tree) == {"ann": {"f:data": {"f:a": {}}}, "bob": {"f:data": {"f:a": {}}}}


def test_an_amount_written_otherwise_is_no_conflict() -> None:
    def quota(cpu: Any) -> Tree:
        return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"},
                "spec": {"hard": {"cpu": cpu}}}  # fmt: skip

    tree = serverside.apply(None, quota("1000m"), manager="ann", now=T0)
    serverside.apply(tree, quota("1"), manager="bob", now=T1)
    serverside.apply(tree, quota(1), manager="bob", now=T1)
    assert refusal(tree, quota("2"), "bob").code == 409


def test_what_defaults_filled_in_is_no_conflict() -> None:
    """The list is owned as a whole; what was applied has no count, what is live has."""

    def completed(tree: Tree) -> Tree:
        tree = copy.deepcopy(tree)
        for request in tree["spec"]["devices"]["requests"]:
            request["exactly"].setdefault("count", 1)
        return tree

    wanted = _claim("v1", {"name": "a", "exactly": {"deviceClassName": "x"}})
    live = completed(serverside.apply(None, wanted, manager="ann", now=T0, complete=completed))
    assert refusal(live, wanted, "bob").code == 409
    tree = serverside.apply(live, wanted, manager="bob", now=T1, complete=completed)
    assert set(owners(tree)) == {"ann", "bob"}
    again = serverside.apply(live, wanted, manager="ann", now=T2, complete=completed)
    assert times(again) == {"ann": T0}


def test_a_conflict_changes_nothing() -> None:
    tree = serverside.apply(None, config({"a": "1"}), manager="ann", now=T0)
    before = copy.deepcopy(tree)
    refusal(tree, config({"a": "2", "b": "3"}), "bob")
    assert tree == before


# --- other writes --------------------------------------------------------------------------------


def test_an_update_owns_what_it_changed() -> None:
    tree = serverside.apply(None, config({"a": "1", "b": "1"}), manager="ann", now=T0)
    new = copy.deepcopy(tree)
    new["data"] = {"a": "2", "c": "3"}
    tree = serverside.track(tree, new, manager="bob", now=T1)
    assert owners(tree) == {"bob": {"f:data": {"f:a": {}, "f:c": {}}}}
    assert times(tree) == {"bob": T1}


def test_an_update_that_changes_nothing_keeps_the_time() -> None:
    tree = serverside.track(None, config({"a": "1"}), manager="bob", now=T0)
    again = serverside.track(tree, copy.deepcopy(tree), manager="bob", now=T1)
    assert again == tree
    assert times(again) == {"bob": T0}


def test_applying_the_same_again_keeps_the_time() -> None:
    tree = serverside.apply(None, config({"a": "1"}), manager="ann", now=T0)
    assert serverside.apply(tree, config({"a": "1"}), manager="ann", now=T1) == tree


def test_what_differs_only_in_its_times_is_settled() -> None:
    old = serverside.apply(None, config({"a": "1"}), manager="ann", now=T0)
    new = copy.deepcopy(old)
    new["metadata"]["managedFields"][0]["time"] = T2
    assert serverside.settled(old, new) == old
    new["data"]["a"] = "2"
    assert serverside.settled(old, new) == new


def test_an_update_of_one_manager_adds_up() -> None:
    tree = serverside.track(None, config({"a": "1"}), manager="bob", now=T0)
    tree = serverside.track(tree, {**tree, "data": {"a": "1", "b": "1"}}, manager="bob", now=T1)
    assert owners(tree) == {"bob": {"f:data": {".": {}, "f:a": {}, "f:b": {}}}}


def test_a_status_is_owned_through_its_door() -> None:
    live = _claim("v1", {"name": "a", "exactly": {"deviceClassName": "x"}})
    tree = serverside.track(None, live, manager="ann", now=T0, ignored=("status",))
    status = {"reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}]}
    new = {**tree, "status": status}
    tree = serverside.track(
        tree, new, manager="sched", now=T1, subresource="status", ignored=("spec", "metadata")
    )
    assert owners(tree)["sched/status"]["f:status"]["f:reservedFor"] == {
        ".": {},
        'k:{"uid":"u"}': {".": {}, "f:name": {}, "f:resource": {}, "f:uid": {}},
    }
    conflict = refusal(
        tree, {**live, "status": {"reservedFor": [{**status["reservedFor"][0], "name": "q"}]}},
        "bob", subresource="status", ignored=("spec", "metadata"),
    )  # fmt: skip
    assert conflict.causes[0].message == (
        'conflict with "sched" with subresource "status" using resource.k8s.io/v1'
    )
    assert conflict.causes[0].field == '.status.reservedFor[uid="u"].name'


def test_the_oldest_updates_are_merged() -> None:
    tree = serverside.track(None, config({"k": "v"}), manager="m00", now=T0)
    for number in range(1, 15):
        data = {**tree["data"], f"k{number:02}": "v"}
        now = f"2026-01-01T00:00:{number:02}Z"
        tree = serverside.track(tree, {**tree, "data": data}, manager=f"m{number:02}", now=now)
    found = owners(tree)
    assert len(found) == entries.MAX_UPDATERS
    assert {"f:k", "f:k01", "f:k05"} <= set(found["ancient-changes"]["f:data"])
    assert "m14" in found


# --- from before ---------------------------------------------------------------------------------


def test_an_object_nobody_has_applied_to_is_owned_from_before() -> None:
    live = config({"a": "1"}, uid="u", resourceVersion="5")
    assert (
        "managedFields"
        not in serverside.track(live, config({"a": "2"}), manager="x", now=T0)["metadata"]
    )
    conflict = refusal(live, config({"a": "2"}), "bob")
    assert conflict.message == (
        'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.a'
    )
    tree = serverside.apply(live, config({"b": "2"}), manager="bob", now=T1)
    assert owners(tree)["before-first-apply"] == {"f:data": {".": {}, "f:a": {}}}


def _client_side(data: Tree, applied: Tree) -> Tree:
    """An object as `kubectl apply` leaves it."""
    text = json.dumps(applied)
    live = config(data, annotations={attempt.LAST_APPLIED: text})
    return serverside.track(None, live, manager="kubectl-client-side-apply", now=T0)


def test_kubectl_moves_from_client_side_apply_without_conflicts() -> None:
    live = _client_side({"a": "1", "b": "1"}, config({"a": "1", "b": "1"}))
    tree = serverside.apply(live, config({"a": "2", "b": "1"}), manager="kubectl", now=T1)
    assert tree["data"] == {"a": "2", "b": "1"}
    # The annotation goes on telling the truth.
    text = tree["metadata"]["annotations"][attempt.LAST_APPLIED]
    assert json.loads(text) == config({"a": "2", "b": "1"})
    # Another name of the manager opts out.
    assert refusal(live, config({"a": "2"}), "bob").code == 409


def test_what_others_changed_since_is_still_a_conflict() -> None:
    live = _client_side({"a": "changed", "b": "1"}, config({"a": "1", "b": "1"}))
    conflict = refusal(live, config({"a": "2", "b": "2"}), "kubectl")
    assert [cause.field for cause in conflict.causes] == [".data.a"]


@pytest.mark.parametrize("text", ["", "{", "5", '{"apiVersion": "v2"}', "[" * 100_000])
def test_a_broken_annotation_explains_nothing(text: str) -> None:
    live = config({"a": "1"}, annotations={attempt.LAST_APPLIED: text})
    live = serverside.track(None, live, manager="x", now=T0)
    assert refusal(live, config({"a": "2"}), "kubectl").code == 409


# --- versions ------------------------------------------------------------------------------------

BETA = _claim("v1beta1", {"name": "a", "deviceClassName": "x", "count": 1})
V1 = _claim("v1", {"name": "a", "exactly": {"deviceClassName": "x", "count": 1}})


def test_owners_of_another_version_mind_too() -> None:
    tree = serverside.apply(None, BETA, manager="ann", now=T0)
    live = {
        **V1,
        "metadata": {**V1["metadata"], "managedFields": tree["metadata"]["managedFields"]},
    }
    same = serverside.apply(live, V1, manager="bob", now=T1)
    assert {each["apiVersion"] for each in same["metadata"]["managedFields"]} == {
        "resource.k8s.io/v1beta1",
        "resource.k8s.io/v1",
    }
    other = _claim("v1", {"name": "a", "exactly": {"deviceClassName": "y", "count": 1}})
    assert refusal(live, other, "bob").message == (
        'Apply failed with 1 conflict: conflict with "ann": .spec.devices.requests'
    )


def test_a_manager_may_go_to_another_version() -> None:
    beta = {**BETA, "spec": {"devices": {**BETA["spec"]["devices"],
                                         "constraints": [{"matchAttribute": "a/b"}]}}}  # fmt: skip
    tree = serverside.apply(None, beta, manager="ann", now=T0)
    metadata = {**V1["metadata"], "managedFields": tree["metadata"]["managedFields"]}
    live = {**V1, "metadata": metadata}
    live["spec"] = {"devices": {**V1["spec"]["devices"],
                                "constraints": [{"matchAttribute": "a/b"}]}}  # fmt: skip
    tree = serverside.apply(live, V1, manager="ann", now=T1)
    assert tree["spec"] == V1["spec"]
    [entry] = tree["metadata"]["managedFields"]
    assert entry["apiVersion"] == "resource.k8s.io/v1"


def test_owners_of_a_version_that_is_gone_are_forgotten() -> None:
    live = config({"a": "1"}, managedFields=[
        {"manager": "old", "operation": "Update", "apiVersion": "v0", "fieldsType": "FieldsV1",
         "fieldsV1": {"f:data": {"f:a": {}}}}])  # fmt: skip
    tree = serverside.apply(live, config({"a": "2"}), manager="ann", now=T1)
    assert set(owners(tree)) == {"ann"}


# --- input that is wrong -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("applied", "told"),
    [
        ({}, "must say its apiVersion and kind"),
        ({"apiVersion": "v1", "kind": "Deployment"}, "invalid object type: v1, Kind=Deployment"),
        (config({"a": "1"}, managedFields=[]), "metadata.managedFields must be nil"),
        ({**config(), "dtaa": {}}, ".dtaa: field not declared in schema"),
        (pod({"name": "a", "imagge": "x"}),
         '.spec.containers[name="a"].imagge: field not declared in schema'),
        (pod({"name": "a"}, {"name": "a"}), 'duplicate entries for key [name="a"]'),
        (pod({"image": "a"}), "omits all of"),
        (config(finalizers=["a/x", "a/x"]), 'duplicate entries for key [="a/x"]'),
        (config(finalizers=[{"a": 1}]), "no scalar"),
        (config({"a": 1}), ".data.a: expected string, got 1"),
        (config(labels=["a"]), ".metadata.labels: expected map, got ['a']"),
        ({**config(), "metadata": "x"}, ".metadata: expected map"),
        ({**pod(), "spec": {"containers": {}}}, ".spec.containers: expected list"),
        ({**pod(), "spec": {"containers": [], "hostNetwork": "yes"}}, "expected boolean"),
        ({**pod(), "spec": {"containers": [], "priority": "5"}}, "expected numeric"),
        ({**config({"a": 1}), "x": 1}, "errors:\n  .data.a: expected string, got 1\n  .x: field"),
    ],
)  # fmt: skip
def test_what_is_not_of_its_kind_is_refused(applied: Tree, told: str) -> None:
    found = refusal(None, applied, "ann")
    assert found.code == 400
    assert told in found.message


_BROKEN = [
    [{"manager": "x"}],
    [{"manager": "x", "operation": "Eat", "apiVersion": "v1", "fieldsType": "FieldsV1"}],
    [{"manager": "x", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV2"}],
    [{"manager": "x", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
      "fieldsV1": {"nonsense": {}}}],
    [5],
    [{"manager": 5, "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1"}],
]  # fmt: skip


@pytest.mark.parametrize("managed", _BROKEN, ids=range(len(_BROKEN)))
def test_owners_that_cannot_be_read(managed: list[Any]) -> None:
    good = serverside.apply(None, config({"a": "1"}), manager="ann", now=T0)
    broken = {**good, "metadata": {**good["metadata"], "managedFields": managed}}
    # A client that writes nonsense doesn't take the owners away.
    kept = serverside.track(good, broken, manager="bob", now=T1)
    assert kept["metadata"]["managedFields"] == good["metadata"]["managedFields"]
    assert refusal(broken, config({"a": "1"}), "ann").code == 400


@pytest.mark.parametrize("reset", [[], [{}]])
def test_a_client_may_forget_all_owners(reset: list[Any]) -> None:
    tree = serverside.apply(None, config({"a": "1"}), manager="ann", now=T0)
    new = {**tree, "metadata": {**tree["metadata"], "managedFields": reset}}
    assert "managedFields" not in serverside.track(tree, new, manager="x", now=T1)["metadata"]


def test_a_client_that_knows_no_owners_leaves_them() -> None:
    tree = serverside.apply(None, config({"a": "1"}), manager="ann", now=T0)
    new = config({"a": "1"})
    assert serverside.track(tree, new, manager="x", now=T1)["metadata"] == tree["metadata"]


# --- laws ----------------------------------------------------------------------------------------

# Never nothing: what nobody owns belongs to whoever was before.
_DATA = st.dictionaries(st.sampled_from("abc"), st.sampled_from("12"), min_size=1)
_CONTAINERS = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from("abc")},
        optional={
            "image": st.sampled_from("xy"),
            "args": st.lists(st.sampled_from("12"), max_size=2),
            "env": st.lists(st.fixed_dictionaries({"name": st.just("E")}), max_size=1),
        },
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda each: each["name"],
)
_WANTED = _DATA.map(config) | _CONTAINERS.map(lambda each: pod(*each))


def _pair() -> st.SearchStrategy[tuple[Tree, Tree]]:
    return st.tuples(_WANTED, _WANTED).filter(lambda pair: pair[0]["kind"] == pair[1]["kind"])


@pytest.mark.slow
@given(_WANTED)
def test_applying_twice_is_applying_once(wanted: Tree) -> None:
    once = serverside.apply(None, wanted, manager="ann", now=T0)
    assert serverside.apply(once, wanted, manager="ann", now=T1) == once


@pytest.mark.slow
@given(_pair())
def test_who_comes_and_goes_leaves_no_trace(pair: tuple[Tree, Tree]) -> None:
    mine, yours = pair
    before = serverside.apply(None, mine, manager="ann", now=T0)
    both = serverside.apply(before, yours, manager="bob", now=T1, force=True)
    left = serverside.apply(both, mine, manager="ann", now=T2, force=True)
    nothing = {name: yours[name] for name in ("apiVersion", "kind", "metadata")}
    after = serverside.apply(left, nothing, manager="bob", now=T2)
    assert owners(after) == owners(before)
    assert _told(after) == _told(before)


def _told(tree: Tree) -> Any:
    """Without owners, order of items, and what is empty."""
    match tree:
        case dict():
            values = {name: _told(part) for name, part in tree.items() if name != "managedFields"}
            return {name: part for name, part in values.items() if part not in ({}, [], None)}
        case list():
            return sorted((_told(item) for item in tree), key=json.dumps)
        case _:
            return tree


@pytest.mark.slow
@given(_pair())
def test_arguments_are_not_changed(pair: tuple[Tree, Tree]) -> None:
    live = serverside.apply(None, pair[0], manager="ann", now=T0)
    before = copy.deepcopy((live, pair[1]))
    serverside.apply(live, pair[1], manager="bob", now=T1, force=True)
    new = {**pair[1], "metadata": {**pair[1]["metadata"], "labels": {"a": "b"}}}
    serverside.track(live, new, manager="cid", now=T1)
    assert (live, pair[1]) == before
