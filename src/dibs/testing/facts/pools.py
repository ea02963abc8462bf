"""Which pools a node sees, whether they are whole, and in which order their devices are tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dibs.model.core import Node
from dibs.model.meta import LabelSelectorRequirement
from dibs.model.objects import Counter, Device, ResourceSlice, ResourceSliceSpec


@dataclass(frozen=True, slots=True)
class Pool:
    driver: str
    name: str
    relevant: tuple[ResourceSlice, ...]
    published: tuple[ResourceSlice, ...]
    is_whole: bool

    @property
    def counters(self) -> dict[str, Mapping[str, Counter]]:
        return {
            each.name: each.counters
            for slice_ in self.published
            for each in slice_.spec.shared_counters
        }


def seen(slices: Sequence[ResourceSlice], node: Node) -> list[Pool]:
    """The pools that the node sees, in the order in which their devices are tried."""
    by_pool: dict[tuple[str, str], list[ResourceSlice]] = {}
    for each in sorted(slices, key=lambda each: each.metadata.name):
        by_pool.setdefault((each.spec.driver, each.spec.pool.name), []).append(each)
    found = []
    for (driver, name), members in sorted(by_pool.items()):
        latest = max(each.spec.pool.generation for each in members)
        current = [each for each in members if each.spec.pool.generation == latest]
        relevant = [each for each in current if _is_relevant(each, node)]
        if relevant:
            is_whole = len(current) == current[0].spec.pool.resource_slice_count
            found.append(Pool(driver, name, tuple(relevant), tuple(current), is_whole))
    # Devices that have to be attached first are the last choice (KEP-5007).
    return sorted(found, key=lambda pool: pool.is_whole and _binds(pool))


def _binds(pool: Pool) -> bool:
    return any(
        device.binding_conditions for slice_ in pool.relevant for device in slice_.spec.devices
    )


def _is_relevant(slice_: ResourceSlice, node: Node) -> bool:
    if slice_.spec.per_device_node_selection:
        return any(reaches(slice_, device, node) for device in slice_.spec.devices)
    return _is_for(slice_.spec, node)


def reaches(slice_: ResourceSlice, device: Device, node: Node) -> bool:
    return not slice_.spec.per_device_node_selection or _is_for(device, node)


def _is_for(where: ResourceSliceSpec | Device, node: Node) -> bool:
    if where.node_name:
        return where.node_name == node.metadata.name
    if where.all_nodes:
        return True
    terms = where.node_selector.node_selector_terms if where.node_selector is not None else ()
    return any(all(_holds(each, node) for each in term.match_expressions) for term in terms)


def _holds(wanted: LabelSelectorRequirement, node: Node) -> bool:
    assert wanted.operator == "In", wanted
    return node.metadata.labels.get(wanted.key) in wanted.values
