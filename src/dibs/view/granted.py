"""What a claim got: which devices, by which selectors on what values, and who shares it.

For each device the expressions that let it in are asked again, on what is published now; for a
prioritized list, what was against the earlier alternatives. It explains, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from dibs.allocate import amounts, capacity, counters
from dibs.allocate.outcome import Refused
from dibs.model.objects import (
    DeviceCapacity,
    DeviceRequest,
    DeviceRequestAllocationResult,
    DeviceSelector,
    DeviceSubRequest,
    DeviceTaint,
    ExactDeviceRequest,
    ResourceClaim,
)
from dibs.request import selectors
from dibs.schedule import claims as pod_claims
from dibs.schedule import pods, question
from dibs.schedule.plan import ClaimUse
from dibs.schedule.snapshot import Key, Snapshot, key_of
from dibs.schedule.state import State
from dibs.supply import node_selectors, taints
from dibs.supply.identity import CounterId, DeviceId
from dibs.supply.ledger import Holder
from dibs.supply.pools import Candidate
from dibs.values.mistake import Mistake
from dibs.values.quantity import Quantity
from dibs.view import binding, devices, named, refusals, rules, words
from dibs.view.tree import Tree


@dataclass(frozen=True, slots=True)
class Match:
    """One expression that a device was put to, and what decided."""

    owner: str
    expression: str
    answer: str


@dataclass(frozen=True, slots=True)
class Grant:
    """One device of an allocation. `candidate` is None when it isn't published any more.

    `sharers` are other claims that have a grip on it, `taint` one that came since and that the
    claim does not tolerate, `rule` who put it there. `wanted` is what the request asks of its
    capacities, `held` what all shares together have of them; `wait` what binding still waits for.
    """

    result: DeviceRequestAllocationResult
    candidate: Candidate | None
    matches: tuple[Match, ...]
    sharers: tuple[Holder, ...] = ()
    taint: DeviceTaint | None = None
    rule: str = ""
    wanted: Mapping[str, Quantity] = field(default_factory=dict)
    held: Mapping[str, Quantity] = field(default_factory=dict)
    wait: binding.Wait = binding.READY
    metered: Mapping[CounterId, Quantity] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Passed:
    """An alternative that came before the chosen one, and why this node couldn't give it."""

    request: str
    refused: Refused | None


def node_of(claim: ResourceClaim) -> str:
    """The node an allocation is for; "" when several can use it, or there is none."""
    allocation = claim.status.allocation
    selector = allocation.node_selector if allocation else None
    return (node_selectors.pinned_node(selector) or "") if selector else ""


def grants(claim: ResourceClaim, state: State) -> tuple[Grant, ...]:
    """Every device of the claim's allocation, in its order."""
    allocation = claim.status.allocation
    if allocation is None:
        return ()
    wanted = {DeviceId(r.driver, r.pool, r.device) for r in allocation.devices.results}
    published = {
        each.id: each
        for _, candidates in devices.offered(state.supply)
        for each in candidates
        if each.id in wanted
    }
    found = []
    for result in allocation.devices.results:
        id_ = DeviceId(result.driver, result.pool, result.device)
        candidate = published.get(id_)
        blocking = candidate.blocking if candidate else ()
        taint = taints.first_untolerated(blocking, result.tolerations)
        found.append(
            Grant(
                result,
                candidate,
                tuple(matched(claim, result.request, candidate, state.snapshot)),
                sharers=sharers_of(id_, claim, state),
                taint=taint,
                rule=rules.origin(taint, id_, state.snapshot.rules) if taint else "",
                wanted=asked(claim, result.request),
                held=state.ledger.held(id_).consumed,
                wait=binding.wait(claim, result),
                metered=metered(id_, result, claim, state),
            )
        )
    return tuple(found)


def metered(
    device: DeviceId, result: DeviceRequestAllocationResult, claim: ResourceClaim, state: State
) -> Mapping[CounterId, Quantity]:
    """What it draws of counters by the capacity that was asked for, as recorded (KEP-5941)."""
    own = str(key_of(claim.metadata))
    for holder in state.ledger.held(device).holders:
        if holder.claim == own and holder.share == result.share_id and holder.record:
            return holder.record.each
    return {}


def sharers_of(device: DeviceId, claim: ResourceClaim, state: State) -> tuple[Holder, ...]:
    own = str(key_of(claim.metadata))
    return tuple(each for each in state.ledger.held(device).holders if each.claim != own)


def matched(
    claim: ResourceClaim, request: str, candidate: Candidate | None, snapshot: Snapshot
) -> Iterator[Match]:
    if candidate is None:
        return
    for owner, selector in conditions(claim, request, snapshot):
        expression = selector.cel.expression if selector.cel else ""
        yield Match(owner, expression, answer(expression, candidate))


def answer(expression: str, candidate: Candidate) -> str:
    try:
        return selectors.Selector.compile(expression).explain(candidate)
    except Mistake as mistake:
        return str(mistake)


def conditions(
    claim: ResourceClaim, request: str, snapshot: Snapshot
) -> Iterator[tuple[str, DeviceSelector]]:
    """The selectors of the request's class, then its own: all of them had to be true."""
    for wish in wishes(claim, request):
        device_class = snapshot.classes.get(wish.device_class_name)
        for selector in device_class.spec.selectors if device_class else ():
            yield f"class {wish.device_class_name}", selector
        for selector in wish.selectors:
            yield f"request {request}", selector


def asked(claim: ResourceClaim, request: str) -> Mapping[str, Quantity]:
    """The capacity that a request asks for."""
    for wish in wishes(claim, request):
        if wish.capacity is not None:
            return wish.capacity.requests
    return {}


def wishes(claim: ResourceClaim, request: str) -> Iterator[ExactDeviceRequest | DeviceSubRequest]:
    """What stands under the name of a result: a request `r`, or its alternative `r/s`."""
    base, _, sub = request.partition("/")
    for each in claim.spec.devices.requests:
        if each.name == base:
            if each.exactly is not None and not sub:
                yield each.exactly
            yield from (other for other in each.first_available if other.name == sub)


def passed(claim: ResourceClaim, node: str, state: State) -> tuple[Passed, ...]:
    """Why each alternative before the chosen ones didn't do, as things are beside this claim."""
    allocation = claim.status.allocation
    if allocation is None or node not in state.snapshot.nodes:
        return ()
    chosen = {result.request for result in allocation.devices.results}
    found = []
    for request in claim.spec.devices.requests:
        for index, sub in enumerate(request.first_available):
            if f"{request.name}/{sub.name}" in chosen:
                break
            refused = without_later(claim, request, index, node, state)
            found.append(Passed(f"{request.name}/{sub.name}", refused))
    return tuple(found)


def without_later(
    claim: ResourceClaim, request: DeviceRequest, index: int, node: str, state: State
) -> Refused | None:
    """Ask again for this one alternative, with the claim's own devices given back."""
    only = msgspec.structs.replace(request, first_available=(request.first_available[index],))
    wanted = tuple(only if each is request else each for each in claim.spec.devices.requests)
    spec = msgspec.structs.replace(claim.spec.devices, requests=wanted)
    asked = ResourceClaim(
        metadata=claim.metadata, spec=msgspec.structs.replace(claim.spec, devices=spec)
    )
    freed = state.freeing(str(key_of(claim.metadata)))
    outcome = question.ask(freed, state.snapshot.nodes[node], (asked,))
    return outcome if isinstance(outcome, Refused) else None


# --- as a tree ----------------------------------------------------------------------------------


def tree(use: ClaimUse, state: State, with_expressions: bool = False) -> Tree:
    """The claim, its devices with what let them in, and the alternatives passed over."""
    claim = use.claim
    key = key_of(claim.metadata)
    children: list[Tree] = []
    if claim.status.allocation is None:
        return Tree(f"claim {key}{origin(use)} is not allocated")
    for grant in grants(claim, state):
        children.append(device_tree(grant, with_expressions))
    for other in passed(claim, node_of(claim), state):
        children.append(passed_tree(other))
    shared = [reference.name for reference in claim.status.reserved_for]
    if not shared and not use.is_fresh:
        children.append(Tree(unreserved(key, state.snapshot), tone="faint"))
    elif len(shared) > 1:
        children.append(Tree(f"shared by {words.listed(shared, 6)}"))
    return Tree(f"claim {key}{origin(use)} {holds(claim)}", tuple(children))


def unreserved(key: Key, snapshot: Snapshot) -> str:
    """What to make of a claim that has devices and is reserved for nobody."""
    users = [user.name for user in users_of(key, snapshot)]
    if not users:
        return "reserved for nobody: no Pod uses it"
    named_by = f"{'Pod' if len(users) == 1 else 'Pods'} {words.listed(users, 6)}"
    return f"reserved for nobody yet: {named_by} {'names' if len(users) == 1 else 'name'} it"


def users_of(claim: Key, snapshot: Snapshot) -> tuple[Key, ...]:
    """The Pods that use a claim and haven't ended, oldest first."""
    return tuple(
        key
        for key, pod in snapshot.pods.items()
        if key.namespace == claim.namespace
        and not pods.is_done(pod)
        and any(key_of(use.claim.metadata) == claim for use in pod_claims.known_uses(pod, snapshot))
    )


def holds(claim: ResourceClaim) -> str:
    """`has 2 devices on node-a`."""
    allocation = claim.status.allocation
    count = len(allocation.devices.results) if allocation else 0
    where = node_of(claim)
    return f"has {words.counted(count, 'device')}{' on ' if where else ''}{where}"


def origin(use: ClaimUse) -> str:
    parts = []
    if use.entry and use.entry != use.claim.metadata.name:
        parts.append(f"entry {use.entry}")
    if use.template:
        parts.append(f"made from template {use.template}")
    if use.mappings:
        parts.append(f"for {named.origin(use)}")
    if use.group is not None:
        parts.append(f"shared by the Pods of PodGroup {use.group.metadata.name}")
    return f" ({', '.join(parts)})" if parts else ""


def device_tree(grant: Grant, with_expressions: bool) -> Tree:
    result = grant.result
    about = [f"request {result.request}", f"pool {result.pool}", f"driver {result.driver}"]
    if result.share_id:
        about.append(f"share {result.share_id}")
    about += consumption(grant)
    if result.admin_access:
        about.append("admin access")
    children = [
        Tree(f"{match.owner}: {match.answer}", expression(match, with_expressions), tone="faint")
        for match in grant.matches
    ]
    if grant.candidate is None:
        children = [Tree("it is no longer published", tone="bad")]
    else:
        device = grant.candidate.device
        kind = " ".join(
            filter(
                None,
                (devices.text_attribute(device, devices.PRODUCT), devices.memory_of(device)),
            )
        )
        if kind:
            about.insert(1, kind)
    if grant.sharers:
        others = words.listed(list(dict.fromkeys(map(share_of, grant.sharers))), 6)
        children.append(Tree(f"held by other claims too: {others}", tone="faint"))
    if grant.metered:
        children.append(Tree(f"draws {words.listed(drawn_of(grant))}", tone="faint"))
    if rest := left_over(grant):
        children.append(Tree(f"left of it: {rest}", tone="faint"))
    if grant.wait.failed or grant.wait.awaited:
        children.append(Tree(unready(grant.wait), tone="bad"))
    if grant.taint:
        children.append(Tree(tainted_since(grant.taint, grant.rule), tone="bad"))
    return Tree(", ".join(about), tuple(children), label=result.device, tone="good")


def unready(wait: binding.Wait) -> str:
    """What keeps the Pod from being bound, and who is to end it."""
    if wait.failed:
        return f"it {binding.text_of(wait)}; the scheduler gives the allocation up and tries again"
    return (
        f"it {binding.text_of(wait)} in status.devices of the claim: the Pod is bound when its "
        "driver, or who attaches it, has reported True"
    )


def consumption(grant: Grant) -> list[str]:
    """`consumes memory 10Gi (7Gi asked, in steps of 5Gi)`."""
    published = grant.candidate.device.capacity if grant.candidate else {}
    parts = []
    for name, amount in grant.result.consumed_capacity.items():
        parts.append(f"{name} {consumed(name, amount, grant.wanted, published)}")
    return [f"consumes {', '.join(parts)}"] if parts else []


def drawn_of(grant: Grant) -> list[str]:
    """`bandwidth 55G of pf-0 (52G asked)`: by capacity, after the counter's policy."""
    keys = dict(grant.candidate.meters) if grant.candidate else {}
    told = []
    for counter, amount in grant.metered.items():
        key = keys.get(counter, "")
        asked = next(
            (
                quantity
                for name, quantity in grant.wanted.items()
                if counters.is_same_capacity(key, name, grant.result.driver)
            ),
            None,
        )
        rounded = f" ({asked} asked)" if asked is not None and asked != amount else ""
        told.append(f"{counter.name} {amount} of {counter.set}{rounded}")
    return told


def consumed(
    name: str,
    amount: Quantity,
    wanted: Mapping[str, Quantity],
    published: Mapping[str, DeviceCapacity],
) -> str:
    """The amount, and by which rule; the device may be published with another one since."""
    if name not in published:
        return str(amount)
    asked = {name: wanted[name]} if name in wanted else {}
    by_now, _ = capacity.consumption({name: published[name]}, asked)
    if by_now.get(name) != amount:
        return f"{amount} (by what was published then)"
    return amounts.told(amount, wanted.get(name), published[name].request_policy)


def share_of(holder: Holder) -> str:
    """`default/serve (memory 10Gi)`."""
    taken = ", ".join(f"{name} {amount}" for name, amount in holder.consumed.items())
    return f"{holder.claim} ({taken})" if taken else holder.claim


def left_over(grant: Grant) -> str:
    """What a shared device has left to give."""
    if grant.candidate is None or not grant.result.share_id:
        return ""
    if not grant.candidate.is_shareable:
        return f"nothing: {devices.UNSHARED}"
    if not grant.candidate.device.capacity:
        return "as many shares as anybody likes: no capacity limits them"
    return devices.remaining(grant.candidate, grant.held)


def tainted_since(taint: DeviceTaint, rule: str) -> str:
    text = "it has a taint by now that the claim does not tolerate: "
    text += f"{taints.text_of(taint)}{rule}"
    return f"{text}; its Pods are being evicted" if taint.effect == "NoExecute" else text


def expression(match: Match, is_wanted: bool) -> tuple[Tree, ...]:
    return (Tree(match.expression, tone="faint"),) if is_wanted else ()


def passed_tree(other: Passed) -> Tree:
    head = f"alternative {other.request} was passed over"
    if other.refused is None:
        return Tree(f"{head}; as things are now, it would fit")
    return Tree(f"{head}: {refusals.headline(other.refused)}", refusals.below(other.refused))
