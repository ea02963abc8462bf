"""What a new object gets from others: a Pod its priority and account, a quota what is used already.

Nobody owns what is filled in here, so whoever applies the object doesn't take it away. Whether a
quota lets a new object in is `quotas`'. Source: admission plugins Priority and ServiceAccount.
"""

from __future__ import annotations

from dibs.api import failures, pods, quotas
from dibs.api.calls import Call, Tree
from dibs.api.plane import Plane
from dibs.store.records import Key


def filled(plane: Plane, call: Call, tree: Tree) -> Tree:
    """Return the new object with what other objects say of it. Raises Failure (403)."""
    match call.resource.qualified:
        case "pods":
            return _with_account(_with_priority(plane, call, tree))
        case "resourcequotas":
            return quotas.first_status(plane, call.namespace, tree)
    return tree


def _with_account(pod: Tree) -> Tree:
    account = pod["spec"].get("serviceAccountName") or "default"
    return {
        **pod,
        "spec": {**pod["spec"], "serviceAccountName": account, "serviceAccount": account},
    }


def _with_priority(plane: Plane, call: Call, pod: Tree) -> Tree:
    spec = pod["spec"]
    name = spec.get("priorityClassName") or _default_class(plane)
    if not name:
        _agrees(call, pod, 0)
        return {**pod, "spec": {"preemptionPolicy": "PreemptLowerPriority", **spec, "priority": 0}}
    if name in pods.SYSTEM_PRIORITIES:
        value, policy = pods.SYSTEM_PRIORITIES[name], "PreemptLowerPriority"
    else:
        entry = plane.store.get(Key("priorityclasses.scheduling.k8s.io", "", name))
        if entry is None:
            why = f"no PriorityClass with name {name} was found"
            raise failures.forbidden(call.resource, pod["metadata"].get("name", ""), why)
        found = plane.reader.tree(entry)
        value = found.get("value", 0)
        policy = found.get("preemptionPolicy") or "PreemptLowerPriority"
    _agrees(call, pod, value)
    filled = {**spec, "priorityClassName": name, "priority": value, "preemptionPolicy": policy}
    return {**pod, "spec": filled}


def _agrees(call: Call, pod: Tree, priority: int) -> None:
    """A number that isn't that of the class would be passed over in silence. Raises Failure."""
    said = pod["spec"].get("priority")
    if said not in (None, priority):
        why = (
            f"the integer value of priority ({said}) must not be provided in pod spec; "
            f"priority admission controller computed {priority} from the given PriorityClass name"
        )
        raise failures.forbidden(call.resource, pod["metadata"].get("name", ""), why)


def _default_class(plane: Plane) -> str:
    page = plane.store.page("priorityclasses.scheduling.k8s.io")
    defaults = (plane.reader.tree(entry) for entry in page.entries)
    chosen = [each for each in defaults if each.get("globalDefault")]
    # Of several the one with the least priority counts, as upstream has it.
    chosen.sort(key=lambda each: each.get("value", 0))
    return str(chosen[0]["metadata"]["name"]) if chosen else ""
