"""How a cell of a table is read out of an object: states, holders, nodes, ages.

A function reads one cell and never minds what is missing. Which kind has which cells is `columns`'.
Source: printers of Kubernetes 1.37, for the kinds that are not about devices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dibs.api import claim_status, stamps
from dibs.api.calls import Tree

Cell = str | int | bool


@dataclass(frozen=True, slots=True)
class Moment:
    """What an object can't say itself: the time, and who holds which device.

    `holders()` maps driver, pool and device to claims (`default/train`); it is asked only by
    columns that need it.
    """

    now: float
    holders: Callable[[], Mapping[tuple[str, str, str], tuple[str, ...]]] = dict


Read = Callable[[Tree, Moment], Cell]

NONE = "<none>"
UNKNOWN = "<unknown>"


def at(tree: Any, path: str, default: Any = "") -> Any:
    for step in path.split("."):
        if not isinstance(tree, dict):
            return default
        tree = tree.get(step)
    return default if tree is None else tree


def field(path: str, otherwise: str = NONE) -> Read:
    return lambda tree, _: str(at(tree, path) or otherwise)


def count(*ways: str) -> Read:
    return lambda tree, _: sum(len(at(tree, path, ())) for path in ways)


def age(tree: Tree, moment: Moment) -> Cell:
    return since(at(tree, "metadata.creationTimestamp"), moment.now)


def since(stamp: str, now: float) -> str:
    """Return how long ago that was, in the largest units that tell: 45s, 3m20s, 5h, 12d, 2y30d."""
    if not stamp:
        return UNKNOWN
    try:
        return duration(int(now - stamps.read(stamp)))
    except ValueError:
        return "<invalid>"


def duration(seconds: int) -> str:
    """As `duration.HumanDuration` of apimachinery has it."""
    if seconds < -1:
        return "<invalid>"
    seconds = max(0, seconds)
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        return _two(days, "d", hours % 24, "h")
    if days < 730:
        return f"{days}d"
    years = days // 365
    return _two(years, "y", days % 365, "d") if days < 2920 else f"{years}y"


def _two(large: int, unit: str, small: int, part: str) -> str:
    return f"{large}{unit}{small}{part}" if small else f"{large}{unit}"


def _some(items: Iterable[str], most: int = 3) -> str:
    found = list(dict.fromkeys(items))
    if not found:
        return NONE
    shown = ",".join(found[:most])
    return shown if len(found) <= most else f"{shown},+{len(found) - most}"


# --- claims, slices and what is around them -------------------------------------------------------


def claim_state(claim: Tree, _: Moment) -> Cell:
    states = []
    if at(claim, "metadata.deletionTimestamp"):
        states.append("deleted")
    if not at(claim, "status.allocation"):
        states.append("pending" if not states else "")
    else:
        states.append("allocated")
    if at(claim, "status.reservedFor"):
        states.append("reserved")
    return ",".join(state for state in states if state)


def holders(claim: Tree, _: Moment) -> Cell:
    return _some(
        f"{each.get('resource', '').removesuffix('s')}/{each.get('name', '')}"
        for each in at(claim, "status.reservedFor", ())
    )


def claim_node(claim: Tree, _: Moment) -> Cell:
    allocation = at(claim, "status.allocation", {})
    if not allocation:
        return NONE
    if not allocation.get("nodeSelector"):
        return "<any>"
    return claim_status.node_of(allocation) or "<several>"


def _results(claim: Tree) -> list[Tree]:
    found: list[Tree] = at(claim, "status.allocation.devices.results", [])
    return found


def claim_devices(claim: Tree, _: Moment) -> Cell:
    return _some((each.get("device", "") for each in _results(claim)), 4)


def claim_pools(claim: Tree, _: Moment) -> Cell:
    return _some(f"{each.get('driver', '')}/{each.get('pool', '')}" for each in _results(claim))


def wanted(path: str) -> Read:
    """What is asked for: `2xgpu.example.com`, alternatives with a bar between."""

    def read(tree: Tree, _: Moment) -> Cell:
        return _some(map(_request, at(tree, path, ())))

    return read


def _request(request: Tree) -> str:
    asks = [request["exactly"]] if request.get("exactly") else request.get("firstAvailable", [])
    return "|".join(_ask(ask) for ask in asks)


def _ask(ask: Tree) -> str:
    name = ask.get("deviceClassName", "")
    if ask.get("allocationMode") == "All":
        return f"all {name}"
    count = ask.get("count") or 1
    return name if count == 1 else f"{count}x{name}"


def slice_node(piece: Tree, _: Moment) -> Cell:
    spec = piece.get("spec") or {}
    if spec.get("nodeName"):
        return str(spec["nodeName"])
    if spec.get("allNodes"):
        return "<all>"
    if spec.get("perDeviceNodeSelection"):
        return "<per device>"
    return "<selected>" if spec.get("nodeSelector") else NONE


def held(piece: Tree, moment: Moment) -> Cell:
    """How many of the devices somebody holds."""
    holders = moment.holders()
    return sum(1 for each in _devices(piece) if each in holders)


def held_by(piece: Tree, moment: Moment) -> Cell:
    holders = moment.holders()
    return _some(claim for each in _devices(piece) for claim in holders.get(each, ()))


def _devices(piece: Tree) -> Iterator[tuple[str, str, str]]:
    spec = piece.get("spec") or {}
    pool = at(spec, "pool.name")
    for device in spec.get("devices") or ():
        yield spec.get("driver", ""), pool, device.get("name", "")


def tainted(piece: Tree, _: Moment) -> Cell:
    return sum(1 for device in at(piece, "spec.devices", ()) if device.get("taints"))


def taint(rule: Tree, _: Moment) -> Cell:
    taint = at(rule, "spec.taint", {})
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key', '')}{value}:{taint.get('effect', '')}"


def condition(type_: str) -> Read:
    def read(tree: Tree, _: Moment) -> Cell:
        for each in at(tree, "status.conditions", ()):
            if each.get("type") == type_:
                return str(each.get("status", ""))
        return NONE

    return read


def selector(rule: Tree, _: Moment) -> Cell:
    chosen = at(rule, "spec.deviceSelector", {})
    parts = [chosen.get(name) or "*" for name in ("driver", "pool", "device")]
    return "/".join(parts)


def policy(group: Tree, _: Moment) -> Cell:
    policy = at(group, "spec.schedulingPolicy", {})
    if gang := policy.get("gang"):
        return f"gang of {gang.get('minCount', 0)}"
    return "basic" if "basic" in policy else NONE


# --- core -----------------------------------------------------------------------------------------


def _pod_statuses(pod: Tree) -> list[Tree]:
    found: list[Tree] = at(pod, "status.containerStatuses", [])
    return found


def pod_ready(pod: Tree, _: Moment) -> Cell:
    ready = sum(1 for each in _pod_statuses(pod) if each.get("ready"))
    return f"{ready}/{len(at(pod, 'spec.containers', ()))}"


def pod_status(pod: Tree, _: Moment) -> Cell:
    """The phase, or what keeps a container from running."""
    said = at(pod, "status.reason") or at(pod, "status.phase") or "Unknown"
    for each in _pod_statuses(pod):
        state = each.get("state") or {}
        if reason := (state.get("waiting") or {}).get("reason"):
            said = reason
        elif ended := state.get("terminated"):
            said = ended.get("reason") or f"ExitCode:{ended.get('exitCode', 0)}"
    for each in at(pod, "status.conditions", ()):
        if each.get("type") == "PodScheduled" and each.get("reason") == "SchedulingGated":
            said = "SchedulingGated"
    if at(pod, "metadata.deletionTimestamp") and said not in ("Succeeded", "Failed", "Completed"):
        return "Terminating"
    return str(said)


def pod_restarts(pod: Tree, _: Moment) -> Cell:
    return str(sum(int(each.get("restartCount") or 0) for each in _pod_statuses(pod)))


def pod_claims(pod: Tree, _: Moment) -> Cell:
    made = {
        each.get("name"): each.get("resourceClaimName")
        for each in at(pod, "status.resourceClaimStatuses", ())
    }
    return _some(
        each.get("resourceClaimName") or made.get(each.get("name")) or f"({each.get('name')})"
        for each in at(pod, "spec.resourceClaims", ())
    )


def node_status(node: Tree, _moment: Moment) -> Cell:
    ready = condition("Ready")(node, _moment)
    said = {"True": "Ready", "False": "NotReady"}.get(str(ready), "Unknown")
    return f"{said},SchedulingDisabled" if at(node, "spec.unschedulable") else said


_ROLE = "node-role.kubernetes.io/"


def node_roles(node: Tree, _: Moment) -> Cell:
    labels = at(node, "metadata.labels", {})
    return _some(sorted(key.removeprefix(_ROLE) for key in labels if key.startswith(_ROLE)))


def node_address(node: Tree, _: Moment) -> Cell:
    for each in at(node, "status.addresses", ()):
        if each.get("type") == "InternalIP":
            return str(each.get("address"))
    return NONE


def last_seen(event: Tree, moment: Moment) -> Cell:
    stamp = (
        at(event, "series.lastObservedTime")
        or at(event, "lastTimestamp")
        or at(event, "eventTime")
        or at(event, "firstTimestamp")
    )
    return since(stamp, moment.now)


def about(event: Tree, _: Moment) -> Cell:
    about = at(event, "involvedObject", {})
    return f"{about.get('kind', '').lower()}/{about.get('name', '')}"


def source(event: Tree, _: Moment) -> Cell:
    name = at(event, "source.component") or at(event, "reportingComponent")
    host = at(event, "source.host")
    return f"{name}, {host}" if host else str(name)


def times(event: Tree, _: Moment) -> Cell:
    return int(at(event, "series.count") or at(event, "count") or 1)


def quota_used(quota: Tree, _: Moment) -> Cell:
    used = at(quota, "status.used", {})
    hard = at(quota, "spec.hard", {})
    return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in sorted(hard))


def flag(path: str) -> Read:
    return lambda tree, _: bool(at(tree, path))
