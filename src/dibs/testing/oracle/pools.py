"""Which devices a node can reach, in which order, and which pools are not to be trusted.

Follows KEP-4381 ("resource pool", "generation", "resourceSliceCount") and KEP-4815 (counter
sets) by scanning all slices for every pool. Whether a device fits a request is `checks`' to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dibs.model.core import Node
from dibs.model.meta import LabelSelectorRequirement, NodeSelector, NodeSelectorTerm
from dibs.model.objects import Device, ResourceSlice
from dibs.supply.features import Features


class Fatal(Exception):
    """No node can be decided: the question itself is at fault."""


# Driver, pool and device: how a claim's status names a device.
Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A device as one slice publishes it."""

    slice: ResourceSlice
    device: Device

    @property
    def key(self) -> Key:
        spec = self.slice.spec
        return (spec.driver, spec.pool.name, self.device.name)


@dataclass(frozen=True, slots=True)
class Pool:
    """One pool as seen from one node; `fault` is empty when its devices may be used.

    `relevant` are the slices of this node by name; `published` are all slices of the generation.
    """

    driver: str
    name: str
    relevant: tuple[ResourceSlice, ...]
    published: tuple[ResourceSlice, ...]
    fault: str

    @property
    def candidates(self) -> list[Candidate]:
        return [Candidate(each, device) for each in self.relevant for device in each.spec.devices]


def resolve(node: Node, slices: Iterable[ResourceSlice], features: Features) -> list[Pool]:
    """Every pool that exists for the node, in candidate order. Raises Fatal."""
    everything = list(slices)
    relevant = [each for each in everything if is_relevant(each, node, features)]
    names = sorted({(each.spec.driver, each.spec.pool.name) for each in relevant})
    found = [_pool(driver, name, relevant, everything, features) for driver, name in names]
    pools = [pool for pool in found if pool is not None]
    # Sorting is stable: within each half the order stays driver, then pool.
    return sorted(pools, key=_waits)


def is_relevant(slice: ResourceSlice, node: Node, features: Features) -> bool:
    spec = slice.spec
    if not features.partitionable_devices:
        if spec.per_device_node_selection or spec.shared_counters:
            return False
    if not is_counted(slice, features):
        return False
    if spec.node_name:
        return spec.node_name == node.metadata.name
    if spec.all_nodes:
        return True
    if spec.node_selector is not None:
        return selects(spec.node_selector, node)
    if spec.per_device_node_selection:
        reachable = [reaches(Candidate(slice, device), node) for device in spec.devices]
        return any(reachable)
    return False


def is_counted(slice: ResourceSlice, features: Features) -> bool:
    """Without KEP-5963 slices with compatibility groups are as good as missing."""
    draws = [draw for device in slice.spec.devices for draw in device.consumes_counters]
    return features.compatibility_groups or not any(draw.compatibility_groups for draw in draws)


def reaches(candidate: Candidate, node: Node) -> bool:
    """Whether the device itself, in a slice with per-device node selection, is for this node."""
    device = candidate.device
    if not candidate.slice.spec.per_device_node_selection:
        return True
    if device.node_name:
        return device.node_name == node.metadata.name
    if device.all_nodes:
        return True
    return device.node_selector is not None and selects(device.node_selector, node)


def _pool(
    driver: str,
    name: str,
    relevant: list[ResourceSlice],
    everything: list[ResourceSlice],
    features: Features,
) -> Pool | None:
    mine = [each for each in relevant if (each.spec.driver, each.spec.pool.name) == (driver, name)]
    everywhere = [
        each for each in everything if (each.spec.driver, each.spec.pool.name) == (driver, name)
    ]
    generation = max(each.spec.pool.generation for each in mine)
    mine = [each for each in mine if each.spec.pool.generation == generation]
    announced = mine[0].spec.pool.resource_slice_count
    published = [each for each in everywhere if each.spec.pool.generation == generation]
    if len(mine) != announced:
        if any(each.spec.pool.generation > generation for each in everywhere):
            return None
        published = [each for each in published if is_counted(each, features)]
        if len(published) != announced:
            return _sorted_pool(driver, name, mine, published, "currently being updated")
    fault = "currently invalid" if _is_invalid(mine, published, features) else ""
    return _sorted_pool(driver, name, mine, published, fault)


def _sorted_pool(
    driver: str,
    name: str,
    relevant: list[ResourceSlice],
    published: list[ResourceSlice],
    fault: str,
) -> Pool:
    ordered = sorted(relevant, key=lambda each: each.metadata.name)
    return Pool(driver, name, tuple(ordered), tuple(published), fault)


def _is_invalid(
    relevant: list[ResourceSlice], published: list[ResourceSlice], features: Features
) -> bool:
    names = [device.name for each in relevant for device in each.spec.devices]
    if len(names) != len(set(names)):
        return True
    if not features.partitionable_devices:
        return False
    sets = [each for slice in published for each in slice.spec.shared_counters]
    if len({each.name for each in sets}) != len(sets):
        return True
    known = {(each.name, counter) for each in sets for counter in each.counters}
    draws = [
        draw
        for slice in published
        for device in slice.spec.devices
        for draw in device.consumes_counters
    ]
    drawn = {(draw.counter_set, counter) for draw in draws for counter in draw.counters}
    return not (drawn <= known and {each.counter_set for each in draws} <= {s.name for s in sets})


def _waits(pool: Pool) -> bool:
    """Pools with devices that must be made ready first come last (KEP-5007)."""
    return not pool.fault and any(each.device.binding_conditions for each in pool.candidates)


# --- node selectors ----------------------------------------------------------------------------


def selects(selector: NodeSelector, node: Node) -> bool:
    """Terms are OR-ed. Every term is read, so that a bad one is fatal wherever it stands."""
    matching = [_term_matches(term, node) for term in selector.node_selector_terms]
    return any(matching)


def _term_matches(term: NodeSelectorTerm, node: Node) -> bool:
    name = {"metadata.name": node.metadata.name}
    by_label = [_holds(each, node.metadata.labels) for each in term.match_expressions]
    by_field = [_holds(_field(each), name) for each in term.match_fields]
    wanted = by_label + by_field
    return bool(wanted) and all(wanted)


def _field(requirement: LabelSelectorRequirement) -> LabelSelectorRequirement:
    if requirement.key != "metadata.name" or requirement.operator not in ("In", "NotIn"):
        raise Fatal(f"node selector: field {requirement.key!r} cannot be selected on")
    return requirement


def _holds(requirement: LabelSelectorRequirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.key)
    values = requirement.values
    match requirement.operator:
        case "In" if values:
            return value in values
        case "NotIn" if values:
            return value not in values
        case "Exists" if not values:
            return value is not None
        case "DoesNotExist" if not values:
            return value is None
        case "Gt" | "Lt" if len(values) == 1 and _is_integer(values[0]):
            if value is None or not _is_integer(value):
                return False
            difference = int(value) - int(values[0])
            return difference > 0 if requirement.operator == "Gt" else difference < 0
    raise Fatal(f"node selector: {requirement.operator!r} with {len(values)} values is not valid")


def _is_integer(text: str) -> bool:
    return text.removeprefix("-").removeprefix("+").isdecimal()
