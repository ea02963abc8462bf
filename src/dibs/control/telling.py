"""What Pods are told: events, and the condition that says whether they have a node.

The same words twice are not written twice. What they say is worked out in `view`.
Source: core/v1 Event, PodCondition PodScheduled; kube-scheduler's reasons.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from dibs.api import stamps
from dibs.model import kinds
from dibs.model.core import Pod
from dibs.model.kinds import Known

COMPONENT = "dibs"
# core/v1: an event's message has at most so many bytes, a condition's any number.
LONGEST_EVENT = 1024
SCHEDULED = "PodScheduled"

Reason = Literal["Unschedulable", "SchedulerError", "SchedulingGated"]


def event(
    about: Known,
    now: float,
    reason: str,
    text: str,
    type: Literal["Normal", "Warning"] = "Normal",
) -> dict[str, Any]:
    """A core/v1 Event about an object, to be kept in its namespace."""
    kind, metadata = kinds.of(about), about.metadata
    namespace = metadata.namespace or "default"
    when = stamps.seconds(now)
    reference = {
        "apiVersion": kind.api_version(kind.versions[0]),
        "kind": kind.name,
        "name": metadata.name,
        "uid": metadata.uid,
    }
    if kind.namespaced:
        reference["namespace"] = namespace
    return {
        "metadata": {"name": f"{metadata.name}.{int(now * 1e6):x}", "namespace": namespace},
        "involvedObject": reference,
        "reason": reason,
        "message": cut(text),
        "type": type,
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "firstTimestamp": when,
        "lastTimestamp": when,
        "count": 1,
    }


def cut(text: str) -> str:
    """Not longer than an event's message may be."""
    raw = text.encode()
    if len(raw) <= LONGEST_EVENT:
        return text
    return raw[: LONGEST_EVENT - 3].decode(errors="ignore") + "…"


def unscheduled(pod: Pod, now: float, reason: Reason, text: str) -> Mapping[str, Any] | None:
    """The patch of a Pod's status that says why it has no node; None if it says so already."""
    known = conditions(pod)
    old = next((each for each in known if each.get("type") == SCHEDULED), {})
    if (old.get("status"), old.get("reason"), old.get("message")) == ("False", reason, text):
        return None
    changed = old.get("status") != "False"
    when = stamps.seconds(now) if changed else old.get("lastTransitionTime", stamps.seconds(now))
    told = {
        "type": SCHEDULED,
        "status": "False",
        "reason": reason,
        "message": text,
        "lastTransitionTime": when,
    }
    others = [each for each in known if each.get("type") != SCHEDULED]
    # A merge patch replaces the list: the revision says that nobody wrote another condition.
    metadata = {"uid": pod.metadata.uid, "resourceVersion": pod.metadata.resource_version}
    return {"metadata": metadata, "status": {"conditions": [*others, told]}}


def conditions(pod: Pod) -> list[Mapping[str, Any]]:
    found = pod.status.rest.get("conditions")
    if not isinstance(found, list | tuple):
        return []
    return [each for each in found if isinstance(each, Mapping)]
