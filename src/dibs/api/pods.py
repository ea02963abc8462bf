"""What the API server fills into a new Pod, and what it keeps count of in its status.

Only what is written when a field was left out; nothing here refuses. Its priority and account are
`admit`'s, since nobody owns what admission adds. Source: defaults of core/v1.
"""

from __future__ import annotations

from typing import Any

from dibs.api.calls import Tree
from dibs.values.quantity import Quantity

# Classes that are there without being written. Source: scheduling.k8s.io.
SYSTEM_PRIORITIES = {
    "system-node-critical": 2_000_001_000,
    "system-cluster-critical": 2_000_000_000,
}
_GRACE_S = 30


def defaulted(pod: Tree) -> Tree:
    """Return the Pod with every field filled in that a client left out."""
    spec = {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": _GRACE_S,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "enableServiceLinks": True,
        **{key: value for key, value in (pod.get("spec") or {}).items() if value != ""},
    }
    # One field under two names; the older one is only read where the other isn't there.
    if account := spec.get("serviceAccountName") or spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for group in ("initContainers", "containers"):
        if spec.get(group):
            spec[group] = [_container(each) for each in spec[group]]
    return {**pod, "spec": spec}


# What no change may touch, so that leaving it out is leaving it as it is.
_ADMITTED = ("priority", "preemptionPolicy", "serviceAccountName", "serviceAccount")


def kept(pod: Tree, old: Tree) -> Tree:
    """Return the changed Pod with what it was given when it was new, where it is left out."""
    spec, before = pod["spec"], old.get("spec") or {}
    missing = {name: before[name] for name in _ADMITTED if name in before and name not in spec}
    return {**pod, "spec": {**spec, **missing}} if missing else pod


def _container(container: Any) -> Any:
    image = container.get("image", "")
    filled = {
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": _pull_policy(image),
        "resources": {},
        **{key: value for key, value in container.items() if value != ""},
    }
    resources = filled["resources"]
    if limits := resources.get("limits"):
        # What is limited and not asked for is asked for in full.
        filled["resources"] = {**resources, "requests": {**limits, **resources.get("requests", {})}}
    if ports := filled.get("ports"):
        filled["ports"] = [{"protocol": "TCP", **port} for port in ports]
    return filled


def _pull_policy(image: str) -> str:
    """A tag that moves is pulled again: `latest`, or none."""
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return "Always" if not digest and tag in ("", "latest") else "IfNotPresent"


def new_status(pod: Tree) -> Tree:
    return {"phase": "Pending", "qosClass": _quality(pod["spec"])}


def _quality(spec: Tree) -> str:
    """Guaranteed when cpu and memory are limited to what is asked for everywhere."""
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    amounts = [
        (
            _compute((each.get("resources") or {}).get("requests")),
            _compute((each.get("resources") or {}).get("limits")),
        )
        for each in containers
    ]
    if not any(requests or limits for requests, limits in amounts):
        return "BestEffort"
    if all(len(limits) == 2 and requests == limits for requests, limits in amounts):
        return "Guaranteed"
    return "Burstable"


def _compute(amounts: Any) -> dict[str, Quantity]:
    found = {
        name: Quantity.parse(str(amounts[name]))
        for name in ("cpu", "memory")
        if name in (amounts or {})
    }
    return {name: amount for name, amount in found.items() if amount != Quantity.of(0)}


def is_finished(pod: Tree) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def grace_s(pod: Tree, asked: int | None) -> int:
    """Return how long a Pod that is deleted may take; 0 is gone at once.

    Nobody runs what has no node, and nothing runs of what is finished.
    """
    spec = pod.get("spec") or {}
    if not spec.get("nodeName") or is_finished(pod):
        return 0
    period = spec.get("terminationGracePeriodSeconds", _GRACE_S) if asked is None else asked
    return max(0, int(period))
