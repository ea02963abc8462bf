"""A full draft → what is written into each claim's status.allocation.

Results in pick order, configuration of classes before that of the claim, and the node selector
that says where the devices can be reached. The time of allocation is the scheduler's to add.
Source: KEP-4381 (AllocationResult), KEP-4816 (names r/s), KEP-5007, KEP-5075.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from dibs.allocate.draft import Draft, Pick
from dibs.model.core import Node
from dibs.model.meta import LabelSelectorRequirement, NodeSelector, NodeSelectorTerm
from dibs.model.objects import (
    AllocationResult,
    DeviceAllocationConfiguration,
    DeviceAllocationResult,
    DeviceClass,
    DeviceRequestAllocationResult,
)
from dibs.request.asks import Ask, Wish
from dibs.supply.node_selectors import NAME_FIELD
from dibs.supply.pools import Candidate
from dibs.values.mistake import Mistake

# How a share gets its id: the claim's key, and how many shares the attempt has named before.
ShareId = Callable[[str, int], str]


def of(
    draft: Draft,
    wishes: Sequence[Wish],
    classes: Mapping[str, DeviceClass],
    node: Node,
    share_id: ShareId,
) -> tuple[AllocationResult, ...]:
    """One result a claim, in order. Raises Mistake for a node selector that can't be merged."""
    allocations = []
    shared = 0
    for wish in wishes:
        number = wish.number
        picks = [pick for pick in draft.picks if pick.ask.claim_number == number]
        chosen = [ask for ask in draft.chosen if ask.claim_number == number]
        results = []
        for pick in picks:
            share = None
            if pick.share is not None:
                share = share_id(wish.key, shared)
                shared += 1
            results.append(_result(pick, share))
        config = tuple(_config(wish, chosen, classes))
        selector = node_selector([pick.candidate for pick in picks], node)
        devices = DeviceAllocationResult(tuple(results), config)
        allocations.append(AllocationResult(devices, selector))
    return tuple(allocations)


def node_selector(candidates: Iterable[Candidate], node: Node) -> NodeSelector | None:
    """Where all the devices can be reached: this node, a merged selector, or (None) anywhere."""
    expressions: list[LabelSelectorRequirement] = []
    fields: list[LabelSelectorRequirement] = []
    for candidate in candidates:
        where = candidate.slice.spec
        owner = candidate.device if where.per_device_node_selection else where
        if owner.node_name or candidate.device.binds_to_node:
            here = LabelSelectorRequirement(NAME_FIELD, "In", (node.metadata.name,))
            return NodeSelector((NodeSelectorTerm(match_fields=(here,)),))
        if owner.node_selector is None:
            continue
        terms = owner.node_selector.node_selector_terms
        if len(terms) != 1:
            raise Mistake(
                f"device {candidate.id}: its node selector has {len(terms)} terms, only 1 can be "
                "merged into an allocation"
            )
        _merge(expressions, terms[0].match_expressions)
        _merge(fields, terms[0].match_fields)
    if not expressions and not fields:
        return None
    return NodeSelector((NodeSelectorTerm(tuple(expressions), tuple(fields)),))


def _merge(into: list[LabelSelectorRequirement], more: Iterable[LabelSelectorRequirement]) -> None:
    for need in more:
        if not any(_is_same(need, known) for known in into):
            into.append(need)


def _is_same(one: LabelSelectorRequirement, other: LabelSelectorRequirement) -> bool:
    return (one.key, one.operator, frozenset(one.values)) == (
        other.key,
        other.operator,
        frozenset(other.values),
    )


def _result(pick: Pick, share: str | None) -> DeviceRequestAllocationResult:
    ask, candidate, device = pick.ask, pick.candidate, pick.candidate.device
    return DeviceRequestAllocationResult(
        request=ask.name,
        driver=candidate.id.driver,
        pool=candidate.id.pool,
        device=candidate.id.device,
        admin_access=True if ask.is_admin else None,
        tolerations=ask.tolerations,
        binding_conditions=device.binding_conditions,
        binding_failure_conditions=device.binding_failure_conditions,
        share_id=share,
        consumed_capacity=pick.share or {},
        skip_node_operations=candidate.slice.spec.skip_node_operations,
    )


def _config(
    wish: Wish, chosen: Sequence[Ask], classes: Mapping[str, DeviceClass]
) -> Iterable[DeviceAllocationConfiguration]:
    users: dict[str, list[str]] = {}
    for ask in chosen:
        if classes[ask.class_name].spec.config:
            users.setdefault(ask.class_name, []).append(ask.name)
    for name, requests in users.items():
        for each in classes[name].spec.config:
            narrowed = _narrowed(requests, chosen)
            yield DeviceAllocationConfiguration("FromClass", narrowed, each.opaque)
    if not wish.claim.spec.devices.config:
        return
    names = {name for ask in chosen for name in (ask.request, ask.name)}
    for own in wish.claim.spec.devices.config:
        if not own.requests or not names.isdisjoint(own.requests):
            narrowed = _narrowed(own.requests, chosen)
            yield DeviceAllocationConfiguration("FromClaim", narrowed, own.opaque)


def _narrowed(requests: Sequence[str], chosen: Sequence[Ask]) -> tuple[str, ...]:
    """The list as it is, or empty ("all") when it covers every request of the claim."""
    covers_all = all(ask.request in requests or ask.name in requests for ask in chosen)
    return () if covers_all else tuple(requests)
