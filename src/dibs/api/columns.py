"""The columns of each kind's table: what people look for, and how it is read out of an object.

Names come first, ages last but for what is wide (priority 1), which `-o wide` shows. Claims say who
holds which device where; slices what they publish for whom.
Source: printers of Kubernetes 1.37, for the kinds that are not about devices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dibs.api import claim_status, stamps
from dibs.api.calls import Tree
from dibs.api.kinds import Resource

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


@dataclass(frozen=True, slots=True)
class Column:
    """`read` gets the object and the time; `is_wide` columns are shown on request."""

    name: str
    read: Read
    doc: str
    type: str = "string"
    is_wide: bool = False


def of(resource: Resource) -> tuple[Column, ...]:
    return _COLUMNS.get(resource.qualified, (_NAME, _AGE))


# --- reading --------------------------------------------------------------------------------------


def _at(tree: Any, path: str, default: Any = "") -> Any:
    for step in path.split("."):
        if not isinstance(tree, dict):
            return default
        tree = tree.get(step)
    return default if tree is None else tree


def _field(path: str, otherwise: str = NONE) -> Read:
    return lambda tree, _: str(_at(tree, path) or otherwise)


def _count(*ways: str) -> Read:
    return lambda tree, _: sum(len(_at(tree, path, ())) for path in ways)


def _age(tree: Tree, moment: Moment) -> Cell:
    return since(_at(tree, "metadata.creationTimestamp"), moment.now)


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


def _claim_state(claim: Tree, _: Moment) -> Cell:
    states = []
    if _at(claim, "metadata.deletionTimestamp"):
        states.append("deleted")
    if not _at(claim, "status.allocation"):
        states.append("pending" if not states else "")
    else:
        states.append("allocated")
    if _at(claim, "status.reservedFor"):
        states.append("reserved")
    return ",".join(state for state in states if state)


def _holders(claim: Tree, _: Moment) -> Cell:
    return _some(
        f"{each.get('resource', '').removesuffix('s')}/{each.get('name', '')}"
        for each in _at(claim, "status.reservedFor", ())
    )


def _claim_node(claim: Tree, _: Moment) -> Cell:
    allocation = _at(claim, "status.allocation", {})
    if not allocation:
        return NONE
    if not allocation.get("nodeSelector"):
        return "<any>"
    return claim_status.node_of(allocation) or "<several>"


def _results(claim: Tree) -> list[Tree]:
    found: list[Tree] = _at(claim, "status.allocation.devices.results", [])
    return found


def _claim_devices(claim: Tree, _: Moment) -> Cell:
    return _some((each.get("device", "") for each in _results(claim)), 4)


def _claim_pools(claim: Tree, _: Moment) -> Cell:
    return _some(f"{each.get('driver', '')}/{each.get('pool', '')}" for each in _results(claim))


def _wanted(path: str) -> Read:
    """What is asked for: `2xgpu.example.com`, alternatives with a bar between."""

    def read(tree: Tree, _: Moment) -> Cell:
        return _some(map(_request, _at(tree, path, ())))

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


def _slice_node(piece: Tree, _: Moment) -> Cell:
    spec = piece.get("spec") or {}
    if spec.get("nodeName"):
        return str(spec["nodeName"])
    if spec.get("allNodes"):
        return "<all>"
    if spec.get("perDeviceNodeSelection"):
        return "<per device>"
    return "<selected>" if spec.get("nodeSelector") else NONE


def _held(piece: Tree, moment: Moment) -> Cell:
    """How many of the devices somebody holds."""
    holders = moment.holders()
    return sum(1 for each in _devices(piece) if each in holders)


def _held_by(piece: Tree, moment: Moment) -> Cell:
    holders = moment.holders()
    return _some(claim for each in _devices(piece) for claim in holders.get(each, ()))


def _devices(piece: Tree) -> Iterator[tuple[str, str, str]]:
    spec = piece.get("spec") or {}
    pool = _at(spec, "pool.name")
    for device in spec.get("devices") or ():
        yield spec.get("driver", ""), pool, device.get("name", "")


def _tainted(piece: Tree, _: Moment) -> Cell:
    return sum(1 for device in _at(piece, "spec.devices", ()) if device.get("taints"))


def _taint(rule: Tree, _: Moment) -> Cell:
    taint = _at(rule, "spec.taint", {})
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key', '')}{value}:{taint.get('effect', '')}"


def _condition(type_: str) -> Read:
    def read(tree: Tree, _: Moment) -> Cell:
        for each in _at(tree, "status.conditions", ()):
            if each.get("type") == type_:
                return str(each.get("status", ""))
        return NONE

    return read


def _selector(rule: Tree, _: Moment) -> Cell:
    chosen = _at(rule, "spec.deviceSelector", {})
    parts = [chosen.get(name) or "*" for name in ("driver", "pool", "device")]
    return "/".join(parts)


def _policy(group: Tree, _: Moment) -> Cell:
    policy = _at(group, "spec.schedulingPolicy", {})
    if gang := policy.get("gang"):
        return f"gang of {gang.get('minCount', 0)}"
    return "basic" if "basic" in policy else NONE


# --- core -----------------------------------------------------------------------------------------


def _pod_statuses(pod: Tree) -> list[Tree]:
    found: list[Tree] = _at(pod, "status.containerStatuses", [])
    return found


def _pod_ready(pod: Tree, _: Moment) -> Cell:
    ready = sum(1 for each in _pod_statuses(pod) if each.get("ready"))
    return f"{ready}/{len(_at(pod, 'spec.containers', ()))}"


def _pod_status(pod: Tree, _: Moment) -> Cell:
    """The phase, or what keeps a container from running."""
    said = _at(pod, "status.reason") or _at(pod, "status.phase") or "Unknown"
    for each in _pod_statuses(pod):
        state = each.get("state") or {}
        if reason := (state.get("waiting") or {}).get("reason"):
            said = reason
        elif ended := state.get("terminated"):
            said = ended.get("reason") or f"ExitCode:{ended.get('exitCode', 0)}"
    for each in _at(pod, "status.conditions", ()):
        if each.get("type") == "PodScheduled" and each.get("reason") == "SchedulingGated":
            said = "SchedulingGated"
    if _at(pod, "metadata.deletionTimestamp") and said not in ("Succeeded", "Failed", "Completed"):
        return "Terminating"
    return str(said)


def _pod_restarts(pod: Tree, _: Moment) -> Cell:
    return str(sum(int(each.get("restartCount") or 0) for each in _pod_statuses(pod)))


def _pod_claims(pod: Tree, _: Moment) -> Cell:
    made = {
        each.get("name"): each.get("resourceClaimName")
        for each in _at(pod, "status.resourceClaimStatuses", ())
    }
    return _some(
        each.get("resourceClaimName") or made.get(each.get("name")) or f"({each.get('name')})"
        for each in _at(pod, "spec.resourceClaims", ())
    )


def _node_status(node: Tree, _moment: Moment) -> Cell:
    ready = _condition("Ready")(node, _moment)
    said = {"True": "Ready", "False": "NotReady"}.get(str(ready), "Unknown")
    return f"{said},SchedulingDisabled" if _at(node, "spec.unschedulable") else said


_ROLE = "node-role.kubernetes.io/"


def _node_roles(node: Tree, _: Moment) -> Cell:
    labels = _at(node, "metadata.labels", {})
    return _some(sorted(key.removeprefix(_ROLE) for key in labels if key.startswith(_ROLE)))


def _node_address(node: Tree, _: Moment) -> Cell:
    for each in _at(node, "status.addresses", ()):
        if each.get("type") == "InternalIP":
            return str(each.get("address"))
    return NONE


def _last_seen(event: Tree, moment: Moment) -> Cell:
    stamp = (
        _at(event, "series.lastObservedTime")
        or _at(event, "lastTimestamp")
        or _at(event, "eventTime")
        or _at(event, "firstTimestamp")
    )
    return since(stamp, moment.now)


def _about(event: Tree, _: Moment) -> Cell:
    about = _at(event, "involvedObject", {})
    return f"{about.get('kind', '').lower()}/{about.get('name', '')}"


def _source(event: Tree, _: Moment) -> Cell:
    name = _at(event, "source.component") or _at(event, "reportingComponent")
    host = _at(event, "source.host")
    return f"{name}, {host}" if host else str(name)


def _times(event: Tree, _: Moment) -> Cell:
    return int(_at(event, "series.count") or _at(event, "count") or 1)


def _quota_used(quota: Tree, _: Moment) -> Cell:
    used = _at(quota, "status.used", {})
    hard = _at(quota, "spec.hard", {})
    return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in sorted(hard))


def _flag(path: str) -> Read:
    return lambda tree, _: bool(_at(tree, path))


_NAME = Column("Name", _field("metadata.name"), "The name of the object.", "string")
_AGE = Column("Age", _age, "The time since the object was created.")

_COLUMNS: dict[str, tuple[Column, ...]] = {
    "resourceclaims.resource.k8s.io": (
        _NAME,
        Column("State", _claim_state, "Whether devices are allocated, and reserved by somebody."),
        Column("Holder", _holders, "Who may use the devices."),
        Column("Node", _claim_node, "Where the allocated devices are."),
        Column("Devices", _claim_devices, "The devices that were allocated."),
        _AGE,
        Column("Wants", _wanted("spec.devices.requests"), "What is asked for.", is_wide=True),
        Column("Pools", _claim_pools, "The driver and the pool of each device.", is_wide=True),
    ),
    "resourceclaimtemplates.resource.k8s.io": (
        _NAME,
        Column("Wants", _wanted("spec.spec.devices.requests"), "What each claim will ask for."),
        _AGE,
    ),
    "resourceslices.resource.k8s.io": (
        _NAME,
        Column("Node", _slice_node, "The node from which the devices can be used."),
        Column("Driver", _field("spec.driver"), "The driver that publishes them."),
        Column("Pool", _field("spec.pool.name"), "The pool they belong to."),
        Column("Devices", _count("spec.devices"), "How many devices are published.", "integer"),
        Column("Held", _held, "How many of them claims hold.", "integer"),
        _AGE,
        Column("Claims", _held_by, "The claims that hold them.", is_wide=True),
        Column("Tainted", _tainted, "How many of them have taints.", "integer", is_wide=True),
        Column("Generation", lambda tree, _: int(_at(tree, "spec.pool.generation", 0)),
               "The generation of the pool.", "integer", is_wide=True),
    ),
    "deviceclasses.resource.k8s.io": (
        _NAME,
        Column("Extended-Resource", _field("spec.extendedResourceName"),
               "The resource name under which Pods can ask for it without a claim."),
        _AGE,
    ),
    "devicetaintrules.resource.k8s.io": (
        _NAME,
        Column("Devices", _selector, "Driver, pool and device that the taint is for."),
        Column("Taint", _taint, "The taint that these devices get."),
        Column("Evicting", _condition("EvictionInProgress"), "Whether Pods are being evicted."),
        _AGE,
    ),
    "resourcepoolstatusrequests.resource.k8s.io": (
        _NAME,
        Column("Driver", _field("spec.driver"), "The driver that is asked about."),
        Column("Pool", _field("spec.poolName", "<all>"), "The pool that is asked about."),
        Column("Complete", _condition("Complete"), "Whether the answer is there."),
        Column("Pools", lambda tree, _: int(_at(tree, "status.poolCount", 0)),
               "How many pools there are.", "integer"),
        _AGE,
    ),
    "podgroups.scheduling.k8s.io": (
        _NAME, Column("Policy", _policy, "How the group is scheduled."), _AGE,
    ),
    "priorityclasses.scheduling.k8s.io": (
        _NAME,
        Column("Value", lambda tree, _: int(_at(tree, "value", 0)), "The priority.", "integer"),
        Column("Global-Default", _flag("globalDefault"), "Whether Pods get it unasked.", "boolean"),
        _AGE,
        Column("PreemptionPolicy", _field("preemptionPolicy"), "Whether it may preempt."),
    ),
    "pods": (
        _NAME,
        Column("Ready", _pod_ready, "Containers that are ready, of all."),
        Column("Status", _pod_status, "The phase of the Pod, or why it isn't running."),
        Column("Restarts", _pod_restarts, "How often containers were started again."),
        _AGE,
        Column("IP", _field("status.podIP"), "The address of the Pod.", is_wide=True),
        Column("Node", _field("spec.nodeName"), "The node of the Pod.", is_wide=True),
        Column("Nominated Node", _field("status.nominatedNodeName"),
               "The node on which room is being made.", is_wide=True),
        Column("Claims", _pod_claims, "The claims it uses.", is_wide=True),
    ),
    "nodes": (
        _NAME,
        Column("Status", _node_status, "Whether the node is ready."),
        Column("Roles", _node_roles, "The roles of the node."),
        _AGE,
        Column("Version", _field("status.nodeInfo.kubeletVersion", ""), "The agent's version."),
        Column("Internal-IP", _node_address, "The address of the node.", is_wide=True),
        Column("OS-Image", _field("status.nodeInfo.osImage", UNKNOWN), "The system.", is_wide=True),
        Column("Kernel-Version", _field("status.nodeInfo.kernelVersion", UNKNOWN),
               "The kernel.", is_wide=True),
        Column("Container-Runtime", _field("status.nodeInfo.containerRuntimeVersion", UNKNOWN),
               "What runs containers.", is_wide=True),
    ),
    "namespaces": (
        _NAME, Column("Status", _field("status.phase"), "Active, or on its way out."), _AGE,
    ),
    "configmaps": (
        _NAME,
        Column("Data", _count("data", "binaryData"), "How many entries there are.", "string"),
        _AGE,
    ),
    "secrets": (
        _NAME,
        Column("Type", _field("type"), "What the secret is for."),
        Column("Data", _count("data"), "How many entries there are.", "integer"),
        _AGE,
    ),
    "resourcequotas": (
        _NAME, Column("Used", _quota_used, "What is used, of how much."), _AGE,
    ),
    "leases.coordination.k8s.io": (
        _NAME, Column("Holder", _field("spec.holderIdentity", ""), "Who holds it."), _AGE,
    ),
    "events": (
        Column("Last Seen", _last_seen, "When it happened last."),
        Column("Type", _field("type", ""), "Normal or Warning."),
        Column("Reason", _field("reason", ""), "What happened, in a word."),
        Column("Object", _about, "What it happened to."),
        Column("Message", _field("message", ""), "What happened."),
        Column("Source", _source, "Who tells.", is_wide=True),
        Column("Count", _times, "How often it happened.", "integer", is_wide=True),
        Column("Name", _field("metadata.name"), "The name of the event.", is_wide=True),
    ),
}  # fmt: skip
_COLUMNS["events.events.k8s.io"] = _COLUMNS["events"]
