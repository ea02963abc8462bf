"""The columns of each kind's table: what people look for.

Names come first, ages last but for what is wide (priority 1), which `-o wide` shows. Claims say who
holds which device where; slices what they publish for whom. How each is read is in `cells`.
"""

from __future__ import annotations

from dataclasses import dataclass

from dibs.api import cells
from dibs.api.cells import Read
from dibs.api.kinds import Resource


@dataclass(frozen=True, slots=True)
class Column:
    """`read` gets the object and the moment; `is_wide` columns are shown on request."""

    name: str
    read: Read
    doc: str
    type: str = "string"
    is_wide: bool = False


def of(resource: Resource) -> tuple[Column, ...]:
    return _COLUMNS.get(resource.qualified, (_NAME, _AGE))


_NAME = Column("Name", cells.field("metadata.name"), "The name of the object.", "string")
_AGE = Column("Age", cells.age, "The time since the object was created.")

_COLUMNS: dict[str, tuple[Column, ...]] = {
    "resourceclaims.resource.k8s.io": (
        _NAME,
        Column("State", cells.claim_state, "Whether devices are allocated, and reserved."),
        Column("Holder", cells.holders, "Who may use the devices."),
        Column("Node", cells.claim_node, "Where the allocated devices are."),
        Column("Devices", cells.claim_devices, "The devices that were allocated."),
        _AGE,
        Column("Wants", cells.wanted("spec.devices.requests"), "What is asked for.", is_wide=True),
        Column("Pools", cells.claim_pools, "The driver and the pool of each device.", is_wide=True),
    ),
    "resourceclaimtemplates.resource.k8s.io": (
        _NAME,
        Column("Wants", cells.wanted("spec.spec.devices.requests"), "What each claim asks for."),
        _AGE,
    ),
    "resourceslices.resource.k8s.io": (
        _NAME,
        Column("Node", cells.slice_node, "The node from which the devices can be used."),
        Column("Driver", cells.field("spec.driver"), "The driver that publishes them."),
        Column("Pool", cells.field("spec.pool.name"), "The pool they belong to."),
        Column("Devices", cells.count("spec.devices"), "How many devices there are.", "integer"),
        Column("Held", cells.held, "How many of them claims hold.", "integer"),
        _AGE,
        Column("Claims", cells.held_by, "The claims that hold them.", is_wide=True),
        Column("Tainted", cells.tainted, "How many of them have taints.", "integer", is_wide=True),
        Column("Generation", lambda tree, _: int(cells.at(tree, "spec.pool.generation", 0)),
               "The generation of the pool.", "integer", is_wide=True),
    ),
    "deviceclasses.resource.k8s.io": (
        _NAME,
        Column("Extended-Resource", cells.field("spec.extendedResourceName"),
               "The resource name under which Pods can ask for it without a claim."),
        _AGE,
    ),
    "devicetaintrules.resource.k8s.io": (
        _NAME,
        Column("Devices", cells.selector, "Driver, pool and device that the taint is for."),
        Column("Taint", cells.taint, "The taint that these devices get."),
        Column("Evicting", cells.condition("EvictionInProgress"), "Whether Pods are evicted."),
        _AGE,
    ),
    "resourcepoolstatusrequests.resource.k8s.io": (
        _NAME,
        Column("Driver", cells.field("spec.driver"), "The driver that is asked about."),
        Column("Pool", cells.field("spec.poolName", "<all>"), "The pool that is asked about."),
        Column("Complete", cells.condition("Complete"), "Whether the answer is there."),
        Column("Pools", lambda tree, _: int(cells.at(tree, "status.poolCount", 0)),
               "How many pools there are.", "integer"),
        _AGE,
    ),
    "podgroups.scheduling.k8s.io": (
        _NAME, Column("Policy", cells.policy, "How the group is scheduled."), _AGE,
    ),
    "priorityclasses.scheduling.k8s.io": (
        _NAME,
        Column("Value", lambda tree, _: int(cells.at(tree, "value", 0)), "Its worth.", "integer"),
        Column("Global-Default", cells.flag("globalDefault"), "Whether Pods get it.", "boolean"),
        _AGE,
        Column("PreemptionPolicy", cells.field("preemptionPolicy"), "Whether it may preempt."),
    ),
    "pods": (
        _NAME,
        Column("Ready", cells.pod_ready, "Containers that are ready, of all."),
        Column("Status", cells.pod_status, "The phase of the Pod, or why it isn't running."),
        Column("Restarts", cells.pod_restarts, "How often containers were started again."),
        _AGE,
        Column("IP", cells.field("status.podIP"), "The address of the Pod.", is_wide=True),
        Column("Node", cells.field("spec.nodeName"), "The node of the Pod.", is_wide=True),
        Column("Nominated Node", cells.field("status.nominatedNodeName"),
               "The node on which room is being made.", is_wide=True),
        Column("Claims", cells.pod_claims, "The claims it uses.", is_wide=True),
    ),
    "nodes": (
        _NAME,
        Column("Status", cells.node_status, "Whether the node is ready."),
        Column("Roles", cells.node_roles, "The roles of the node."),
        _AGE,
        Column("Version", cells.field("status.nodeInfo.kubeletVersion", ""), "The version."),
        Column("Internal-IP", cells.node_address, "The address of the node.", is_wide=True),
        Column("OS-Image", cells.field("status.nodeInfo.osImage", cells.UNKNOWN),
               "The system.", is_wide=True),
        Column("Kernel-Version", cells.field("status.nodeInfo.kernelVersion", cells.UNKNOWN),
               "The kernel.", is_wide=True),
        Column("Container-Runtime",
               cells.field("status.nodeInfo.containerRuntimeVersion", cells.UNKNOWN),
               "What runs containers.", is_wide=True),
    ),
    "namespaces": (
        _NAME, Column("Status", cells.field("status.phase"), "Active, or on its way out."), _AGE,
    ),
    "configmaps": (
        _NAME,
        Column("Data", cells.count("data", "binaryData"), "How many entries there are.", "string"),
        _AGE,
    ),
    "secrets": (
        _NAME,
        Column("Type", cells.field("type"), "What the secret is for."),
        Column("Data", cells.count("data"), "How many entries there are.", "integer"),
        _AGE,
    ),
    "resourcequotas": (
        _NAME, Column("Used", cells.quota_used, "What is used, of how much."), _AGE,
    ),
    "leases.coordination.k8s.io": (
        _NAME, Column("Holder", cells.field("spec.holderIdentity", ""), "Who holds it."), _AGE,
    ),
    "events": (
        Column("Last Seen", cells.last_seen, "When it happened last."),
        Column("Type", cells.field("type", ""), "Normal or Warning."),
        Column("Reason", cells.field("reason", ""), "What happened, in a word."),
        Column("Object", cells.about, "What it happened to."),
        Column("Message", cells.field("message", ""), "What happened."),
        Column("Source", cells.source, "Who tells.", is_wide=True),
        Column("Count", cells.times, "How often it happened.", "integer", is_wide=True),
        Column("Name", cells.field("metadata.name"), "The name of the event.", is_wide=True),
    ),
}  # fmt: skip
_COLUMNS["events.events.k8s.io"] = _COLUMNS["events"]
