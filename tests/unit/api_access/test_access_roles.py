"""Who may do what: by role, and for nodes object by object."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dibs.api import kinds
from dibs.api.access import nodes, protection, roles
from dibs.api.calls import Asked, Caller

RESOURCE = "resource.k8s.io"
IN = "system:authenticated"
ADMIN = Caller("root", ("dibs:admin", IN))
VIEWER = Caller("eve", ("dibs:viewer", IN))
USER = Caller("ada", ("dibs:user:team-a", IN))
ROBOT = Caller("system:serviceaccount:team-a:r", ("system:serviceaccounts:team-a", IN))
NODE = Caller("system:node:node-a", ("system:nodes", IN))
NOBODY = Caller()
STRANGER = Caller("joe", (IN,))


def asked(verb: str, what: str, namespace: str = "", name: str = "x") -> Asked:
    resource, _, subresource = what.partition("/")
    group = next((each.group for each in kinds.RESOURCES if each.plural == resource), "")
    return Asked(verb, group, resource, subresource, namespace, name)


def narrowed(verb: str, what: str, field: str, value: str) -> Asked:
    return replace(asked(verb, what, name=""), fields=((field, value),))


ALLOWED = [
    (ADMIN, asked("delete", "nodes")),
    (ADMIN, asked("create", "pods/binding", "any")),
    (VIEWER, asked("list", "pods")),
    (VIEWER, asked("watch", "resourceclaims", "team-b")),
    (USER, asked("create", "resourceclaims", "team-a")),
    (USER, asked("delete", "pods", "team-a")),
    (USER, asked("list", "resourceslices")),
    (USER, asked("get", "nodes")),
    (USER, asked("get", "namespaces", "", "team-a")),
    (USER, asked("get", "resourcequotas", "team-a")),
    (USER, asked("create", "serviceaccounts/token", "team-a")),
    (ROBOT, asked("create", "pods", "team-a")),
    (NODE, asked("patch", "pods/status", "team-a")),
    (NODE, asked("create", "resourceslices")),
    (NODE, asked("get", "resourceclaims", "team-b")),
    (NODE, narrowed("list", "pods", "spec.nodeName", "node-a")),
    (NODE, narrowed("watch", "resourceslices", "spec.nodeName", "node-a")),
    (NODE, narrowed("watch", "nodes", "metadata.name", "node-a")),
    (NODE, asked("watch", "nodes", "", "node-a")),
    (NODE, narrowed("deletecollection", "resourceslices", "spec.nodeName", "node-a")),
    (STRANGER, asked("create", "selfsubjectaccessreviews")),
    (STRANGER, Asked("get", path="/apis/resource.k8s.io/v1")),
    (NOBODY, Asked("get", path="/livez")),
]
FORBIDDEN = [
    (VIEWER, asked("get", "secrets", "team-a")),
    (VIEWER, asked("delete", "pods", "team-a")),
    (VIEWER, asked("create", "serviceaccounts/token", "team-a")),
    (USER, asked("list", "pods")),
    (USER, asked("list", "pods", "team-b")),
    (USER, asked("get", "secrets", "team-b")),
    (USER, asked("patch", "namespaces", "", "team-a")),
    (USER, asked("create", "resourceslices")),
    (USER, asked("create", "deviceclasses")),
    (USER, asked("update", "resourcequotas", "team-a")),
    (USER, asked("create", "pods/binding", "team-a")),
    (USER, asked("update", "pods/status", "team-a")),
    (USER, asked("update", "resourceclaims/status", "team-a")),
    (USER, asked("update", "resourceclaims/binding")),
    (ROBOT, asked("list", "pods", "team-b")),
    (NODE, asked("create", "pods", "team-a")),
    (NODE, asked("update", "pods", "team-a")),
    (NODE, asked("get", "secrets", "team-a")),
    (NODE, asked("get", "configmaps", "team-a")),
    (NODE, asked("list", "pods")),
    (NODE, asked("watch", "pods", "team-a", "x")),
    (NODE, asked("list", "nodes", "", "")),
    (NODE, narrowed("list", "pods", "spec.nodeName", "node-b")),
    (NODE, narrowed("deletecollection", "resourceslices", "spec.nodeName", "node-b")),
    (NODE, asked("deletecollection", "resourceslices", "", "")),
    (NODE, narrowed("list", "pods", "metadata.name", "node-a")),
    (NODE, narrowed("list", "resourceslices", "spec.driver", "node-a")),
    (NODE, asked("create", "pods/binding", "team-a")),
    (NODE, asked("update", "resourceclaims/binding")),
    (NODE, asked("arbitrary-node:update", "resourceclaims/driver", "team-a")),
    (Caller("node-a", ("system:nodes", IN)), asked("create", "resourceslices")),
    (STRANGER, asked("list", "pods", "default")),
    (STRANGER, asked("create", "subjectaccessreviews")),
    (NOBODY, Asked("get", path="/api")),
    (NOBODY, Asked("get", path="/livezzz")),
    (NOBODY, asked("create", "selfsubjectaccessreviews")),
]


@pytest.mark.parametrize(("caller", "wanted"), ALLOWED)
def test_allowed(caller: Caller, wanted: Asked) -> None:
    assert roles.refusal(caller, wanted) is None


@pytest.mark.parametrize(("caller", "wanted"), FORBIDDEN)
def test_forbidden(caller: Caller, wanted: Asked) -> None:
    assert roles.refusal(caller, wanted) is not None


def test_nobody_but_an_admin_may_write_what_is_of_no_namespace() -> None:
    for resource in kinds.RESOURCES:
        if resource.namespaced or not resource.is_kept:
            continue
        for caller in (VIEWER, USER, ROBOT, STRANGER, NOBODY):
            for verb in ("create", "update", "patch", "delete", "deletecollection"):
                wanted = Asked(verb, resource.group, resource.plural, name="x")
                assert roles.refusal(caller, wanted) is not None, (caller.name, wanted)


def test_a_namespace_that_only_begins_alike_is_another() -> None:
    assert roles.refusal(USER, asked("create", "pods", "team-ab")) is not None
    both = Caller("ada", ("dibs:user:", IN))
    assert roles.refusal(both, asked("list", "pods")) is not None


def test_a_refusal_says_what_and_where() -> None:
    told = roles.refusal(USER, asked("list", "pods", "team-b"))
    assert told == "no role of theirs allows list pods in namespace team-b"
    told = roles.refusal(USER, asked("create", "deviceclasses"))
    assert told == "no role of theirs allows create deviceclasses"


# --- nodes, object by object ---------------------------------------------------------------------


def slice_on(node: str | None) -> dict[str, Any]:
    return {"metadata": {"name": "s"}, "spec": {"nodeName": node} if node else {"allNodes": True}}


def pod_on(node: str) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"nodeName": node}}


def node_named(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **spec.pop("metadata", {})}, "spec": spec}


def labelled(label: str) -> dict[str, Any]:
    return node_named("node-a", metadata={"labels": {label: "trusted"}})


SLICES = asked("update", "resourceslices")
PODS = asked("patch", "pods/status", "team-a")
NODES = asked("update", "nodes")
CLAIMS = asked("update", "resourceclaims/status", "team-a")
LEASES = asked("update", "leases", "kube-node-lease", "node-a")
GPU = {"driver": "gpu.example.com", "pool": "node-a", "device": "gpu-0"}
HELD = {"status": {"allocation": {"devices": {"results": [GPU]}}, "devices": []}}
TAINT = {"key": "k", "effect": "NoSchedule"}

OWN = [
    (SLICES, None, slice_on("node-a")),
    (SLICES, slice_on("node-a"), slice_on("node-a")),
    (SLICES, slice_on("node-a"), None),
    (PODS, pod_on("node-a"), pod_on("node-a")),
    (NODES, node_named("node-a"), node_named("node-a", podCIDR="x")),
    (NODES, None, node_named("node-a", taints=[TAINT])),
    (NODES, node_named("node-a"), labelled("gpu.example.com/model")),
    (NODES, None, labelled("kubernetes.io/hostname")),
    (NODES, None, labelled("topology.kubernetes.io/zone")),
    (NODES, labelled("node.kubernetes.io/a"), labelled("x.kubelet.kubernetes.io/b")),
    (NODES, labelled("node-role.kubernetes.io/x"), labelled("node-role.kubernetes.io/x")),
    (PODS, pod_on("node-a"), {**pod_on("node-a"), "status": {"phase": "Running"}}),
    (CLAIMS, HELD, {"status": {**HELD["status"], "devices": [GPU]}}),
    (LEASES, None, node_named("node-a")),
]
NOT_OWN: list[tuple[Asked, Any, Any]] = [
    (SLICES, None, slice_on("node-b")),
    (SLICES, None, slice_on(None)),
    (SLICES, slice_on("node-b"), slice_on("node-a")),
    (SLICES, slice_on("node-b"), None),
    (PODS, pod_on("node-b"), pod_on("node-b")),
    (PODS, {"metadata": {}, "spec": {}}, pod_on("node-a")),
    (NODES, node_named("node-b"), node_named("node-b")),
    (NODES, None, node_named("node-b")),
    (NODES, node_named("node-a", taints=[TAINT]), node_named("node-a")),
    (
        NODES,
        node_named("node-a"),
        labelled("node-restriction.kubernetes.io/zone"),
    ),
    (NODES, None, labelled("node-restriction.kubernetes.io/zone")),
    (NODES, None, labelled("node-role.kubernetes.io/control-plane")),
    (NODES, labelled("x.k8s.io/y"), labelled("other")),
    (NODES, node_named("node-a"), node_named("node-a", metadata={"ownerReferences": [{}]})),
    (PODS, pod_on("node-a"), {**pod_on("node-a"), "status": {"resourceClaimStatuses": [{}]}}),
    (PODS, pod_on("node-a"), {**pod_on("node-a"), "status": {"extendedResourceClaimStatus": {}}}),
    (CLAIMS, HELD, {"status": {}}),
    (CLAIMS, {"status": {}}, HELD),
    (LEASES, None, node_named("node-b")),
    (asked("update", "leases", "team-a", "node-a"), None, node_named("node-a")),
]


@pytest.mark.parametrize(("wanted", "before", "after"), OWN)
def test_a_node_writes_its_own(wanted: Asked, before: Any, after: Any) -> None:
    assert nodes.objection(NODE, wanted, before, after) is None


@pytest.mark.parametrize(("wanted", "before", "after"), NOT_OWN)
def test_a_node_writes_nothing_else(wanted: Asked, before: Any, after: Any) -> None:
    assert "node 'node-a'" in (nodes.objection(NODE, wanted, before, after) or "")
    assert nodes.objection(ADMIN, wanted, before, after) is None


@pytest.mark.parametrize(
    ("what", "own", "other"),
    [
        ("pods", pod_on("node-a"), pod_on("node-b")),
        ("pods", pod_on("node-a"), {"metadata": {}, "spec": {}}),
        ("resourceslices", slice_on("node-a"), slice_on(None)),
        ("nodes", node_named("node-a"), node_named("node-b")),
    ],
)
def test_a_node_reads_its_own(what: str, own: Any, other: Any) -> None:
    wanted = asked("get", what, "team-a")
    assert nodes.concealed(NODE, wanted, lambda: own) is None
    assert nodes.concealed(NODE, wanted, lambda: other) is not None
    for caller in (ADMIN, VIEWER, replace(NODE, groups=(*NODE.groups, "dibs:viewer"))):
        assert nodes.concealed(caller, wanted, lambda: other) is None


def protected(*finalizers: str, pod: str = "") -> dict[str, Any]:
    reserved = [{"resource": "pods", "name": pod, "uid": "1"}] if pod else []
    return {"metadata": {"finalizers": list(finalizers)}, "status": {"reservedFor": reserved}}


def test_a_claim_in_use_keeps_its_finalizer() -> None:
    wanted = asked("patch", "resourceclaims", "team-a")
    held, free = protected(protection.FINALIZER, pod="train"), protected(protection.FINALIZER)
    bare = protected("example.com/x", pod="train")
    told = protection.objection(USER, wanted, held, bare)
    assert told is not None
    assert "train" in told
    assert protection.objection(ADMIN, wanted, held, bare) is None
    assert protection.objection(USER, wanted, free, protected()) is None
    assert protection.objection(USER, wanted, held, held) is None
    assert protection.objection(USER, wanted, held, None) is None


@pytest.mark.parametrize("caller", [VIEWER, USER, ROBOT, NODE, STRANGER, NOBODY])
def test_the_rules_that_are_listed_are_those_that_hold(caller: Caller) -> None:
    listed = {
        (rule.groups[0], resource, verb)
        for rule in roles.rules(caller, "team-a")
        for resource in rule.resources
        for verb in rule.verbs
    }
    assert (("", "pods", "create") in listed) == (caller in (USER, ROBOT))
    assert (("", "pods/status", "patch") in listed) == (caller is NODE)
    assert ((RESOURCE, "resourceclaims", "get") in listed) == (caller not in (STRANGER, NOBODY))
    assert ((RESOURCE, "resourceslices", "create") in listed) == (caller is NODE)
    assert any(rule.paths for rule in roles.rules(caller, "team-a"))


def test_an_admin_may_do_everything() -> None:
    assert roles.rules(ADMIN, "x")[0].verbs == ("*",)
