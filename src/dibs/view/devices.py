"""Who has which device: one row a device, or one a share; with claim, Pod and container.

It joins what slices publish with what claims hold, in a stable order: node, driver, pool, then
the order in which devices are tried. Devices that are held but no longer published are shown as
gone. Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from dibs.allocate import capacity, counters, groups, overlaps
from dibs.allocate.counters import Drawing
from dibs.allocate.groups import Modes
from dibs.allocate.overlaps import Overlap
from dibs.model.core import Container, Pod
from dibs.model.meta import NodeSelector
from dibs.model.objects import (
    Device,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceSliceSpec,
)
from dibs.schedule import claims as pod_claims
from dibs.schedule import groups as pod_groups
from dibs.schedule import ids
from dibs.schedule.snapshot import Key, Snapshot, key_of
from dibs.supply import node_selectors
from dibs.supply.identity import CounterId, DeviceId, PoolId
from dibs.supply.ledger import Holder, Holding, Ledger
from dibs.supply.pools import Candidate, Listing, Pool, Supply
from dibs.values.quantity import Quantity
from dibs.view import binding, rules, words
from dibs.view.table import Row, Table
from dibs.view.tree import Tone

# The names under which drivers publish what a person would call the device, best first.
PRODUCT = ("productName", "product", "model", "modelName", "deviceType", "name", "ifName")
MEMORY = ("memory", "hbm", "vram")
ANYWHERE = "(any)"

ZERO = Quantity.of(0)
UNSHARED = "it is published as not shareable by now, so nobody else gets a share"
BESIDE = "its slice has counter sets too: its driver must publish them in a slice of their own"


@dataclass(frozen=True, slots=True)
class Use:
    """One row: a device, and one grip on it if there is any.

    `state` is free, held, shared, left (what a shared device has left), watched (admin access),
    tainted, unusable (its pool is out of order) or blocked (a partition whose card is used up by
    others). `note` says what the state's word can't.
    """

    node: str
    id: DeviceId
    state: str
    note: str = ""
    device: Device | None = None  # None when it is no longer published
    claim: str = ""
    request: str = ""
    share: str = ""
    consumed: Mapping[str, Quantity] | None = None
    pods: tuple[str, ...] = ()
    containers: tuple[str, ...] = ()
    left: Mapping[str, Quantity] | None = None  # of a shared device's capacities
    overlaps: tuple[Overlap, ...] = ()
    # Which nodes can use a device that is on none: `zone=b`; "" when all can.
    selector: str = ""


def uses(
    snapshot: Snapshot,
    *,
    node: str = "",
    fits: Callable[[Candidate], bool] | None = None,
) -> tuple[Use, ...]:
    """Every use of every device, of one node or of a class if asked so."""
    supply = Supply.of(snapshot.slices)
    ledger = Ledger.of(snapshot.claims.values())
    seen = pools_by_id(snapshot, supply)
    found: list[Use] = []
    published: set[DeviceId] = set()
    beside = beside_counters(supply)
    for id_, candidates in offered(supply):
        whole = Shelf.of(seen.get(id_), ledger)
        for candidate in candidates:
            shelf = Shelf(BESIDE) if candidate.id in beside and not whole.fault else whole
            published.add(candidate.id)
            if reaches(selection(candidate).node_selector, node, snapshot) and (
                fits is None or fits(candidate)
            ):
                found += uses_of(candidate, shelf, ledger, snapshot)
    if fits is None:
        for device, holding in ledger.holdings.items():
            if device not in published:
                for holder in (*holding.holders, *holding.watchers):
                    if not reaches(selector_of(holder, snapshot), node, snapshot):
                        continue
                    found.append(gone(device, holder, snapshot))
    if node:
        # Those with a selector that doesn't match are left out above.
        found = [use for use in found if use.node in (node, ANYWHERE)]
    return tuple(sorted(found, key=place))


def reaches(selector: NodeSelector | None, node: str, snapshot: Snapshot) -> bool:
    """Whether a node may use what has this selector; always if no node is asked about."""
    if selector is None or node not in snapshot.nodes:
        return True
    if node_selectors.faults_of(selector):
        return False
    return node_selectors.matches(selector, snapshot.nodes[node])


def place(use: Use) -> tuple[bool, str, str, str]:
    # Sorting is stable: devices of one pool keep the order in which they are tried.
    return use.node == ANYWHERE, use.selector or use.node, use.id.driver, use.id.pool


def offered(supply: Supply) -> Iterator[tuple[PoolId, tuple[Candidate, ...]]]:
    """The devices of the newest generation of every pool, whichever nodes they are for."""
    for pool, listings in supply.by_pool.items():
        current = newest(listings)
        yield pool, tuple(each for listing in current for each in listing.candidates)


def newest(listings: Iterable[Listing]) -> list[Listing]:
    """The slices of the highest generation, by name."""
    by_name = sorted(listings, key=lambda listing: listing.slice.metadata.name)
    generation = max(listing.generation for listing in by_name)
    return [listing for listing in by_name if listing.generation == generation]


def beside_counters(supply: Supply) -> frozenset[DeviceId]:
    """The devices that nobody is given because their slice has counter sets (KEP-4815).

    Before Kubernetes 1.36 a slice could have both, and old dumps do.
    """
    return frozenset(
        candidate.id
        for listings in supply.by_pool.values()
        for listing in newest(listings)
        if listing.slice.spec.shared_counters
        for candidate in listing.candidates
    )


def pools_by_id(snapshot: Snapshot, supply: Supply) -> dict[PoolId, Pool]:
    """Each pool as the first node sees it that finds fault with it, or as the first node does."""
    seen: dict[PoolId, Pool] = {}
    for node in snapshot.nodes.values():
        for pool in supply.pools(node):
            if pool.id not in seen or (pool.fault and not seen[pool.id].fault):
                seen[pool.id] = pool
    return seen


@dataclass(frozen=True, slots=True)
class Shelf:
    """A pool as far as its devices' states depend on it; nothing when no node sees it."""

    fault: str = ""
    pool: Pool | None = None
    left: Mapping[CounterId, Quantity] = field(default_factory=dict)
    drawings: tuple[Drawing, ...] = ()
    modes: Modes = field(default_factory=dict)

    @classmethod
    def of(cls, pool: Pool | None, ledger: Ledger) -> Shelf:
        if pool is None:
            return cls()
        if pool.fault:
            return cls(pool.fault.text)
        if not pool.counters:
            return cls()
        drawings = tuple(counters.drawings(pool, ledger))
        left, modes = counters.left_of(pool, ledger), groups.held(pool, ledger)
        return cls("", pool, left, drawings, modes)


def uses_of(
    candidate: Candidate, shelf: Shelf, ledger: Ledger, snapshot: Snapshot
) -> Iterator[Use]:
    """The rows of one device: its holders, or why nobody has it."""
    holding = ledger.held(candidate.id)
    for row in grips_of(candidate, holding, shelf, ledger, snapshot):
        yield replace(row, selector=selector_text(candidate))


def grips_of(
    candidate: Candidate, holding: Holding, shelf: Shelf, ledger: Ledger, snapshot: Snapshot
) -> Iterator[Use]:
    node = node_of(candidate)
    for holder in holding.whole:
        note = taint_note(candidate, snapshot)
        if len(holding.whole) > 1:
            note = "; ".join(filter(None, [f"held by {len(holding.whole)} claims at once", note]))
        yield use(node, candidate, "held", note, holder, snapshot)
    for holder in holding.shares:
        since = "" if candidate.is_shareable else UNSHARED
        note = "; ".join(filter(None, [since, taint_note(candidate, snapshot)]))
        yield use(node, candidate, "shared", note, holder, snapshot)
    for holder in holding.watchers:
        yield use(node, candidate, "watched", "admin access", holder, snapshot)
    rest = remaining(candidate, holding.consumed)
    if holding.shares and candidate.is_shareable and rest:
        left = capacity.room(candidate.device.capacity, holding.consumed)
        yield Use(node, candidate.id, "left", rest, candidate.device, left=left)
    if holding.is_free:
        state, note = idle_state(candidate, shelf, ledger, snapshot)
        inside: tuple[Overlap, ...] = ()
        if state == "blocked" and shelf.pool:
            inside = overlaps.found(candidate.draws, shelf.pool, shelf.drawings)
        yield Use(node, candidate.id, state, note, candidate.device, overlaps=inside)


def idle_state(
    candidate: Candidate, shelf: Shelf, ledger: Ledger, snapshot: Snapshot
) -> tuple[str, str]:
    if shelf.fault:
        return "unusable", shelf.fault
    if candidate.blocking:
        return "tainted", taint_note(candidate, snapshot)
    if shelf.pool and (owner := groups.clash(candidate, shelf.modes)):
        return "blocked", groups.text_of(owner, candidate, shelf.pool, ledger)
    if shelf.pool and (short := counters.shortage(candidate.draws, shelf.left)):
        inside = overlaps.found(candidate.draws, shelf.pool, shelf.drawings)
        if inside:
            return "blocked", overlaps.text_of(inside)
        return "blocked", counters.text_of(*short, shelf.left, shelf.drawings)
    return "free", ""


def taint_note(candidate: Candidate, snapshot: Snapshot) -> str:
    return ", ".join(
        f"taint {rules.text_of(taint, candidate.id, snapshot.rules)}"
        for taint in candidate.blocking
    )


def remaining(candidate: Candidate, consumed: Mapping[str, Quantity]) -> str:
    """What a shared device has left to give; "" when it has no capacities to count."""
    parts = []
    for name, whole in candidate.device.capacity.items():
        if whole.value is None or name not in consumed:
            continue
        rest = whole.value.minus(consumed[name])
        told = f"{name} {max(rest, ZERO)} of {whole.value}"
        if rest < ZERO:
            told += f" (overcommitted by {rest.negated()})"
        parts.append(told)
    return ", ".join(parts)


def gone(device: DeviceId, holder: Holder, snapshot: Snapshot) -> Use:
    selector = selector_of(holder, snapshot)
    only = node_selectors.pinned_node(selector)
    pods, containers = consumers(holder, snapshot)
    return Use(
        only or ANYWHERE,
        device,
        "gone",
        "held, but no longer published",
        None,
        holder.claim,
        holder.request,
        pods=pods,
        containers=containers,
        selector=node_selectors.text_of(selector) if selector and not only else "",
    )


def selector_of(holder: Holder, snapshot: Snapshot) -> NodeSelector | None:
    """The nodes that the holder's allocation is for."""
    claim = snapshot.claims.get(key(holder.claim))
    allocation = claim.status.allocation if claim else None
    return allocation.node_selector if allocation else None


def use(
    node: str, candidate: Candidate, state: str, note: str, holder: Holder, snapshot: Snapshot
) -> Use:
    pods, containers = consumers(holder, snapshot)
    told = [note, awaited(candidate.id, holder, snapshot)]
    if not pods and state in ("held", "shared"):
        told.append("no Pod uses it")
    note = "; ".join(filter(None, told))
    return Use(
        node,
        candidate.id,
        state,
        note,
        candidate.device,
        holder.claim,
        holder.request,
        holder.share or "",
        holder.consumed or None,
        pods,
        containers,
    )


def awaited(device: DeviceId, holder: Holder, snapshot: Snapshot) -> str:
    """Which binding conditions the Pod of this holder still waits for."""
    claim = snapshot.claims.get(key(holder.claim))
    allocation = claim.status.allocation if claim is not None else None
    for result in allocation.devices.results if allocation is not None else ():
        if DeviceId(result.driver, result.pool, result.device) == device:
            if claim is not None and result.request == holder.request:
                return binding.text_of(binding.wait(claim, result))
    return ""


def consumers(holder: Holder, snapshot: Snapshot) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The Pods a claim is reserved for, and which of their containers use the request."""
    claim = snapshot.claims.get(key(holder.claim))
    if claim is None:
        return (), ()
    pods: list[str] = []
    containers: list[str] = []
    for reference in claim.status.reserved_for:
        if reference.resource != "pods":
            users = tuple(members(reference, claim, snapshot))
            pods += [member.metadata.name for member in users]
            for member in users:
                containers += containers_of(member, claim, holder.request, snapshot)
            if not users:
                pods.append(f"{reference.resource}/{reference.name}")
            continue
        pods.append(reference.name)
        pod = snapshot.pods.get(Key(claim.metadata.namespace, reference.name))
        if pod is not None and ids.pod_uid(pod) == reference.uid:
            containers += containers_of(pod, claim, holder.request, snapshot)
    return tuple(pods), tuple(containers)


def members(
    reference: ResourceClaimConsumerReference, claim: ResourceClaim, snapshot: Snapshot
) -> Iterator[Pod]:
    """The Pods on nodes that use a claim as members of a group (KEP-5729)."""
    key = key_of(claim.metadata)
    for pod in snapshot.pods.values():
        is_near = key_of(pod.metadata).namespace == key.namespace
        if is_near and pod.spec.node_name and pod_groups.is_consumer(reference, pod):
            uses = pod_claims.known_uses(pod, snapshot)
            if any(key_of(each.claim.metadata) == key for each in uses):
                yield pod


def containers_of(
    pod: Pod, claim: ResourceClaim, request: str, snapshot: Snapshot
) -> Iterator[str]:
    """The containers that see this request of the claim: by entry, or by extended resource."""
    entries = {
        each.entry
        for each in pod_claims.known_uses(pod, snapshot)
        if each.claim.metadata.name == claim.metadata.name
    }
    base = request.partition("/")[0]
    for container in all_containers(pod):
        for each in container.resources.claims:
            if each.name in entries and each.request in ("", base):
                yield container.name
                break
    extended = pod.status.extended_resource_claim_status
    if extended is not None and extended.resource_claim_name == claim.metadata.name:
        for mapping in extended.request_mappings:
            if mapping.request_name == base:
                yield mapping.container_name


def all_containers(pod: Pod) -> tuple[Container, ...]:
    return (*pod.spec.init_containers, *pod.spec.containers, *pod.spec.ephemeral_containers)


def node_of(candidate: Candidate) -> str:
    """The node a device is on; a device that several nodes can reach is on none of them."""
    return selection(candidate).node_name or ANYWHERE


def selection(candidate: Candidate) -> ResourceSliceSpec | Device:
    """Who says which nodes can use a device: itself, or its slice."""
    spec = candidate.slice.spec
    return candidate.device if spec.per_device_node_selection else spec


def selector_text(candidate: Candidate) -> str:
    selector = selection(candidate).node_selector
    return node_selectors.text_of(selector) if selector is not None else ""


def key(claim: str) -> Key:
    namespace, _, name = claim.partition("/")
    return Key(namespace, name)


# --- as rows ------------------------------------------------------------------------------------

COLUMNS = ("node", "driver", "pool", "device", "what", "state", "claim", "pod", "container", "note")
TONES: Mapping[str, Tone] = {
    "free": "good",
    "left": "good",
    "held": "plain",
    "shared": "plain",
    "watched": "faint",
    "blocked": "faint",
    "tainted": "bad",
    "unusable": "bad",
    "gone": "bad",
}


def table(found: Iterable[Use], wide: bool = False) -> Table:
    """For eyes. `wide` adds the uuid, the request and the share."""
    columns = COLUMNS + (("request", "share", "uuid") if wide else ())
    rows = []
    for each in found:
        cells: tuple[str, ...] = (
            each.selector or each.node,
            each.id.driver,
            # Most drivers name the pool after the node: say it once.
            "" if each.id.pool == each.node else each.id.pool,
            each.id.device,
            what(each),
            each.state,
            each.claim,
            ", ".join(each.pods),
            ", ".join(each.containers),
            each.note,
        )
        if wide:
            uuid = text_attribute(each.device, ("uuid", "UUID")) if each.device else ""
            cells += (each.request, each.share, uuid)
        rows.append(Row(cells, TONES[each.state]))
    return Table(columns, tuple(rows)).without_empty(keep=("node", "device", "state", "claim"))


def records(found: Iterable[Use]) -> list[dict[str, object]]:
    """For programs; keys are always all there, in this order."""
    return [
        {
            "node": "" if each.node == ANYWHERE else each.node,
            "driver": each.id.driver,
            "pool": each.id.pool,
            "device": each.id.device,
            "product": text_attribute(each.device, PRODUCT),
            "profile": text_attribute(each.device, ("profile",)),
            "memory": memory_of(each.device),
            "uuid": text_attribute(each.device, ("uuid", "UUID")),
            "state": each.state,
            "note": each.note,
            "claim": each.claim,
            "request": each.request,
            "share": each.share,
            "consumed": {name: str(value) for name, value in (each.consumed or {}).items()},
            "left": {name: str(value) for name, value in (each.left or {}).items()},
            "overlaps": [overlap_record(inside) for inside in each.overlaps],
            "pods": list(each.pods),
            "containers": list(each.containers),
        }
        for each in found
    ]


def overlap_record(inside: Overlap) -> dict[str, object]:
    """A held device that keeps a partition from being had."""
    return {
        "device": inside.device.device,
        "claim": inside.claim,
        "counters": [f"{counter.set}/{counter.name}" for counter in inside.counters],
    }


def what(each: Use) -> str:
    """Product, profile and memory; of a share, what it consumes."""
    if each.device is None:
        return ""
    if each.consumed:
        taken = ", ".join(f"{name} {value}" for name, value in each.consumed.items())
        return f"{text_attribute(each.device, PRODUCT)} share of {taken}".strip()
    parts = (
        text_attribute(each.device, PRODUCT),
        text_attribute(each.device, ("profile",)),
        memory_of(each.device),
    )
    return " ".join(part for part in parts if part) or attributes(each.device)


def attributes(device: Device, limit: int = 2) -> str:
    """What a device without product, profile and memory says of itself: its first attributes."""
    shown = []
    for name, value in device.attributes.items():
        scalars = (value.string, value.int_, value.bool_, value.version)
        known = next((each for each in scalars if each is not None), None)
        if known is not None and not name.lower().endswith("uuid"):
            text = str(known).lower() if isinstance(known, bool) else str(known)
            shown.append(f"{name.rpartition('/')[2]}={text}")
    return ", ".join(shown[:limit])


def text_attribute(device: Device | None, wanted: tuple[str, ...]) -> str:
    """The first of these attributes that is a text, whichever domain it is written with."""
    if device is None:
        return ""
    bare = {name.rpartition("/")[2]: value.string for name, value in device.attributes.items()}
    return next((text for name in wanted if (text := bare.get(name))), "")


def memory_of(device: Device | None) -> str:
    if device is None:
        return ""
    bare = {name.rpartition("/")[2]: entry.value for name, entry in device.capacity.items()}
    return next((str(value) for name in MEMORY if (value := bare.get(name)) is not None), "")


def summary(found: Iterable[Use]) -> str:
    """How many devices there are, and how many of them are free."""
    states = {each.id: each.state for each in found}
    free = sum(1 for state in states.values() if state == "free")
    return f"{words.counted(len(states), 'device')}, {free} free"
