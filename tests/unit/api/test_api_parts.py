"""The small parts of the API room: selectors, accepted forms, options, ages, stored bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dibs.api import cells, charges, claim_status, columns, kinds, paging, selecting, storage
from dibs.api.calls import Caller
from dibs.api.failures import Failure
from dibs.api.kinds import Resource
from dibs.api.server import negotiation, queries
from dibs.store.records import Entry, Key


def resource(plural: str, group: str = "", version: str = "v1") -> Resource:
    found = kinds.find(group, version, plural)
    assert found
    return found


@contextmanager
def refused_or_not() -> Iterator[None]:
    """Whatever else is raised is a bug."""
    refusal: Failure | None = None
    try:
        yield
    except Failure as failure:
        refusal = failure
    assert refusal is None or refusal.code == 400


PODS, CLAIMS = resource("pods"), resource("resourceclaims", "resource.k8s.io")


# --- kinds ----------------------------------------------------------------------------------------


def test_versions_are_in_order_of_preference() -> None:
    assert kinds.versions_of("resource.k8s.io") == ("v1", "v1beta2", "v1beta1", "v1alpha3")
    assert kinds.versions_of("scheduling.k8s.io") == ("v1", "v1beta1", "v1alpha3")


def test_no_two_resources_share_a_place() -> None:
    places = [(each.group, each.plural) for each in kinds.RESOURCES]
    assert len(set(places)) == len(places)


# --- selectors ------------------------------------------------------------------------------------

LABELLED: dict[str, Any] = {
    "metadata": {"name": "p", "labels": {"app": "web", "tier": "5", "e": ""}}
}


@pytest.mark.parametrize(
    ("text", "takes"),
    [
        ("", True),
        ("app=web", True),
        ("app==web,tier=5", True),
        ("app!=web", False),
        ("none!=web", True),
        ("app", True),
        ("!app", False),
        ("!none", True),
        ("app in (web, db)", True),
        ("app notin (web)", False),
        ("none notin (web)", True),
        ("none in (web)", False),
        ("tier>4", True),
        ("tier<5", False),
        ("app>4", False),
        ("e=", True),
        ("e in ()", True),
        ("example.com/x!=y", True),
        (" app = web , tier ", True),
    ],
)
def test_label_selectors(text: str, takes: bool) -> None:
    assert selecting.read(PODS, text, "").takes(LABELLED) is takes


@pytest.mark.parametrize(
    "text", ["a=b=c", "a in b", "a in (b", "=b", "a,,b", "a,", "a>b", "a b", "-a=b", "a=b c", "!"]
)
def test_label_selectors_that_are_none(text: str) -> None:
    with pytest.raises(Failure) as caught:
        selecting.read(PODS, text, "")
    assert caught.value.code == 400


@pytest.mark.parametrize(
    ("text", "takes"),
    [
        ("metadata.name=p", True),
        ("metadata.name!=p", False),
        ("spec.nodeName=", True),
        ("status.phase==Running", False),
        ("spec.hostNetwork=false", True),
        ("metadata.name=p,spec.nodeName!=n", True),
    ],
)
def test_field_selectors(text: str, takes: bool) -> None:
    assert selecting.read(PODS, "", text).takes(LABELLED) is takes


def test_field_selectors_are_unescaped() -> None:
    event = {"metadata": {}, "reason": r"a=b,c\d"}
    chosen = selecting.read(resource("events"), "", r"reason=a\=b\,c\\d")
    assert chosen.takes(event)


@settings(max_examples=15)
@given(st.text(alphabet="ab=!,()<> in\\.", max_size=20))
def test_selectors_are_read_or_refused(text: str) -> None:
    for labels, fields in ((text, ""), ("", text)):
        with refused_or_not():
            selecting.read(PODS, labels, fields).takes(LABELLED)


# --- forms ----------------------------------------------------------------------------------------

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("header", "form"),
    [
        ("", "object"),
        ("*/*", "object"),
        (f"{TABLE},application/json", "table"),
        ("application/json;as=Table;v=v2;g=meta.k8s.io,application/json", "object"),
        ("application/vnd.kubernetes.protobuf,application/json", "object"),
        (f"application/json;q=0.5,{TABLE};q=0.9", "table"),
        ("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", "discovery"),
        ("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", "partial"),
        ("application/json; q=x", "object"),
        ("text/html,*/*;q=0.8", "object"),
    ],
)
def test_forms(header: str, form: str) -> None:
    assert negotiation.accepted(header).form == form


@pytest.mark.parametrize("header", ["text/html", "application/vnd.kubernetes.protobuf", "x;q=0"])
def test_forms_that_we_do_not_have(header: str) -> None:
    with pytest.raises(Failure) as caught:
        negotiation.accepted(header)
    assert caught.value.code == 406


# --- options --------------------------------------------------------------------------------------


def test_the_program_is_the_manager() -> None:
    agent = "kubectl/v1.37.1 (linux/amd64) kubernetes/abc"
    assert queries.writing({}, agent).manager == "kubectl"
    assert queries.writing({"fieldManager": "me"}, agent).manager == "me"
    assert queries.writing({}, "").manager == "unknown"


def test_a_body_of_delete_options_wins() -> None:
    options = queries.deleting(
        {"gracePeriodSeconds": "5", "propagationPolicy": "Orphan"},
        {"gracePeriodSeconds": 0, "preconditions": {"uid": "u"}, "dryRun": ["All"]},
    )
    assert (options.grace_s, options.propagation, options.uid) == (0, "Orphan", "u")
    assert options.dry_run


@settings(max_examples=15)
@given(st.dictionaries(st.sampled_from(["limit", "watch", "timeoutSeconds", "dryRun", "force"]),
                       st.text(max_size=8)))  # fmt: skip
def test_options_are_read_or_refused(query: dict[str, str]) -> None:
    for read in (
        queries.listing,
        queries.watching,
        lambda each: queries.writing(each, "x"),
        lambda each: queries.deleting(each, None),
    ):
        with refused_or_not():
            read(query)


# --- ages -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-5, "<invalid>"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (185, "3m5s"),
        (600, "10m"),
        (3 * 3600, "3h"),
        (3 * 3600 + 60, "3h1m"),
        (8 * 3600, "8h"),
        (48 * 3600, "2d"),
        (49 * 3600, "2d1h"),
        (8 * 86400, "8d"),
        (729 * 86400, "729d"),
        (731 * 86400, "2y1d"),
        (3000 * 86400, "8y"),
    ],
)
def test_ages_are_told_as_kubectl_does(seconds: int, shown: str) -> None:
    assert cells.duration(seconds) == shown


def test_no_column_minds_what_is_missing() -> None:
    for each in kinds.RESOURCES:
        for column in columns.of(each):
            for tree in ({}, {"metadata": {"name": "x"}, "spec": {}, "status": {}}):
                assert column.read(tree, cells.Moment(0)) is not None


# --- stored bytes ---------------------------------------------------------------------------------


def entry(tree: dict[str, Any], revision: int) -> Entry:
    return Entry(Key("x", "", "c"), storage.to_bytes(tree), revision, revision)


def test_what_is_served_is_what_was_stored_with_its_revision() -> None:
    tree = {
        "status": {},
        "kind": "ResourceClaim",
        "metadata": {"resourceVersion": "3", "name": "c", "namespace": "n"},
        "apiVersion": "resource.k8s.io/v1",
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "x"}}]}},
    }
    stored = entry(tree, 7)
    expected = {**tree, "metadata": {"resourceVersion": "7", "name": "c", "namespace": "n"}}
    assert json.loads(storage.served(CLAIMS, "v1", stored)) == expected
    assert storage.tree_of(stored) == expected
    beta2 = json.loads(storage.served(CLAIMS, "v1beta2", stored))
    assert beta2 == {**expected, "apiVersion": "resource.k8s.io/v1beta2"}
    beta1 = json.loads(storage.served(CLAIMS, "v1beta1", stored))
    assert beta1["spec"] == {"devices": {"requests": [{"name": "r", "deviceClassName": "x"}]}}


def test_what_an_earlier_version_stored_is_served_as_of_now() -> None:
    tree = {
        "apiVersion": "resource.k8s.io/v1beta1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": [{"name": "r", "deviceClassName": "x"}]}},
    }
    stored = Entry(Key(CLAIMS.qualified, "n", "c"), storage.to_bytes(tree), 3, 3)
    request = {"name": "r", "exactly": {"deviceClassName": "x"}}
    for served in (json.loads(storage.served(CLAIMS, "v1", stored)), storage.tree_of(stored)):
        assert served["apiVersion"] == "resource.k8s.io/v1"
        assert served["spec"]["devices"]["requests"] == [request]


def test_decoded_entries_are_bounded() -> None:
    reader = storage.Reader(size=2)
    tree = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "c"}}
    for revision in range(1, 6):
        reader.tree(entry({**tree, "data": {"n": str(revision)}}, revision))
    assert len(reader._trees) == 2
    # What was written later is never answered with what was there before.
    assert reader.tree(entry({**tree, "data": {"n": "6"}}, 6))["data"] == {"n": "6"}


def test_a_token_leads_back_to_its_place() -> None:
    token = paging.token_of(12, ("default", "a-b.c"))
    assert paging.read_token(token) == paging.Token(12, "default", "a-b.c")


@settings(max_examples=15)
@given(st.text(max_size=30))
def test_tokens_are_read_or_refused(text: str) -> None:
    with refused_or_not():
        paging.read_token(text)


# --- quotas and statuses --------------------------------------------------------------------------


def test_alternatives_are_charged_their_most() -> None:
    claim = {
        "spec": {
            "devices": {
                "requests": [
                    {"exactly": {"deviceClassName": "a", "count": 2}},
                    {"exactly": {"deviceClassName": "b", "allocationMode": "All"}},
                    {"firstAvailable": [{"deviceClassName": "a", "count": 3},
                                        {"deviceClassName": "a"}, {"deviceClassName": "c"}]},
                ]
            }
        }
    }  # fmt: skip
    found = charges.of(charges.CLAIMS, claim, {"a": "example.com/gpu"}.get)
    assert {name: int(str(amount)) for name, amount in found.items()} == {
        "count/resourceclaims.resource.k8s.io": 1,
        "a.deviceclass.resource.k8s.io/devices": 5,
        "b.deviceclass.resource.k8s.io/devices": 32,
        "c.deviceclass.resource.k8s.io/devices": 1,
        "requests.example.com/gpu": 5,
        "requests.deviceclass.resource.kubernetes.io/a": 5,
        "requests.deviceclass.resource.kubernetes.io/b": 32,
        "requests.deviceclass.resource.kubernetes.io/c": 1,
    }
    # What the scheduler made for a Pod's extended resources is charged to the Pod.
    made = {**claim, "metadata": {"annotations": {charges.OF_EXTENDED: "true"}}}
    of_pod = charges.of(charges.CLAIMS, made, {"a": "example.com/gpu"}.get)
    assert not [name for name in of_pod if name.startswith("requests.")]


def test_a_pod_is_charged_what_it_takes_at_its_peak() -> None:
    def container(cpu: str, **more: str) -> dict[str, Any]:
        return {"resources": {"requests": {"cpu": cpu}, "limits": {"cpu": "2"}}, **more}

    pod = {
        "spec": {
            "containers": [container("500m"), container("250m")],
            "initContainers": [container("100m", restartPolicy="Always"), container("1")],
        }
    }
    found = charges.of("pods", pod, lambda _: None)
    shown = {name: str(found[name]) for name in ("pods", "cpu", "requests.cpu", "limits.cpu")}
    assert shown == {"pods": "1", "cpu": "1100m", "requests.cpu": "1100m", "limits.cpu": "6"}
    done = {**pod, "status": {"phase": "Succeeded"}}
    assert set(charges.of("pods", done, lambda _: None)) == {"count/pods"}


def allocated(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"nodeSelector": {"nodeSelectorTerms": list(terms)}}


ON_N1 = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}


@pytest.mark.parametrize(
    ("allocation", "node"),
    [
        (None, ""),
        ({}, ""),
        (allocated(ON_N1), "n1"),
        (allocated(ON_N1, ON_N1), ""),
        (allocated({**ON_N1, "matchExpressions": [{"key": "a"}]}), ""),
        (allocated({"matchFields": [{**ON_N1["matchFields"][0], "values": ["a", "b"]}]}), ""),
        (allocated({"matchFields": [{**ON_N1["matchFields"][0], "operator": "NotIn"}]}), ""),
    ],
)
def test_the_node_of_an_allocation(allocation: dict[str, Any] | None, node: str) -> None:
    assert claim_status.node_of(allocation) == node


def test_a_caller_knows_no_groups_by_default() -> None:
    assert Caller().groups == ("system:unauthenticated",)
