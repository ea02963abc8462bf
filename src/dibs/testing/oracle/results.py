"""From picks to the allocation that is written into a claim's status.

Follows the API of `status.allocation`: results in pick order, configuration of class and claim,
and the node selector that says where the claim can be used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dibs.model.meta import LabelSelectorRequirement, NodeSelector, NodeSelectorTerm
from dibs.model.objects import (
    AllocationResult,
    DeviceAllocationConfiguration,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
)
from dibs.testing.oracle.holding import Pick
from dibs.testing.oracle.pools import Candidate, Fatal
from dibs.testing.oracle.wishes import Ask


def assemble(
    claims: Sequence[ResourceClaim], node: str, asks: Sequence[Ask], picks: Sequence[Pick]
) -> tuple[AllocationResult, ...]:
    """One allocation a claim. Raises Fatal for a device selector of several terms."""
    shares = iter(range(1, len(picks) + 1))
    numbered = [(pick, f"share-{next(shares)}" if pick.is_share else None) for pick in picks]
    allocations = []
    for number, claim in enumerate(claims):
        mine = [(pick, share) for pick, share in numbered if pick.ask.claim == number]
        chosen = [ask for ask in asks if ask.claim == number]
        allocations.append(
            AllocationResult(
                devices=DeviceAllocationResult(
                    results=tuple(_result(pick, share) for pick, share in mine),
                    config=_config(claim, chosen),
                ),
                node_selector=_node_selector([pick.candidate for pick, _ in mine], node),
            )
        )
    return tuple(allocations)


def _result(pick: Pick, share: str | None) -> DeviceRequestAllocationResult:
    spec, device = pick.candidate.slice.spec, pick.candidate.device
    return DeviceRequestAllocationResult(
        request=pick.ask.name,
        driver=spec.driver,
        pool=spec.pool.name,
        device=device.name,
        admin_access=True if pick.ask.is_admin else None,
        tolerations=pick.ask.tolerations,
        binding_conditions=device.binding_conditions,
        binding_failure_conditions=device.binding_failure_conditions,
        share_id=share,
        consumed_capacity=pick.consumed,
        skip_node_operations=spec.skip_node_operations,
    )


def _config(claim: ResourceClaim, asks: list[Ask]) -> tuple[DeviceAllocationConfiguration, ...]:
    found: list[DeviceAllocationConfiguration] = []
    seen: list[str] = []
    for ask in asks:
        name = ask.device_class.metadata.name
        if name not in seen:
            seen.append(name)
            users = [each.name for each in asks if each.device_class.metadata.name == name]
            for config in ask.device_class.spec.config:
                requests = _unless_all(users, asks)
                found.append(DeviceAllocationConfiguration("FromClass", requests, config.opaque))
    for setting in claim.spec.devices.config:
        named = setting.requests
        if not named or any(ask.request in named or ask.name in named for ask in asks):
            requests = _unless_all(named, asks)
            found.append(DeviceAllocationConfiguration("FromClaim", requests, setting.opaque))
    return tuple(found)


def _unless_all(named: Sequence[str], asks: list[Ask]) -> tuple[str, ...]:
    """A list that names every request says no more than an empty one."""
    is_all = all(ask.request in named or ask.name in named for ask in asks)
    return () if is_all else tuple(named)


def _node_selector(candidates: Iterable[Candidate], node: str) -> NodeSelector | None:
    expressions: list[LabelSelectorRequirement] = []
    fields: list[LabelSelectorRequirement] = []
    for candidate in candidates:
        spec, device = candidate.slice.spec, candidate.device
        where = device if spec.per_device_node_selection else spec
        if where.node_name or device.binds_to_node:
            here = LabelSelectorRequirement("metadata.name", "In", (node,))
            return NodeSelector((NodeSelectorTerm(match_fields=(here,)),))
        if where.node_selector is not None and not where.all_nodes:
            terms = where.node_selector.node_selector_terms
            if len(terms) != 1:
                raise Fatal("a device's node selector must have exactly one term")
            expressions += terms[0].match_expressions
            fields += terms[0].match_fields
    if not expressions and not fields:
        return None
    return NodeSelector((NodeSelectorTerm(_once(expressions), _once(fields)),))


def _once(
    requirements: Iterable[LabelSelectorRequirement],
) -> tuple[LabelSelectorRequirement, ...]:
    kept: dict[tuple[str, str, frozenset[str]], LabelSelectorRequirement] = {}
    for each in requirements:
        kept.setdefault((each.key, each.operator, frozenset(each.values)), each)
    return tuple(kept.values())
