"""`why`: for a Pod or a claim, the reasons for what it got, or for why it waits.

`of_pod` and `of_claim` put the question to `schedule` as of the subject's turn, with everybody
before it served, and gather what a reader wants to know into an `Account`: one value, written
here as a tree and in `record` as JSON. The exit code follows from `is_yes`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from dibs.allocate.outcome import Refused
from dibs.model.core import Pod
from dibs.model.objects import ResourceClaim
from dibs.schedule import claims as pod_claims
from dibs.schedule import pods, suggest, writes
from dibs.schedule.plan import Broken, ClaimUse, Decision, Placed, Settled, Subject, Waits
from dibs.schedule.snapshot import Key, Snapshot, key_of
from dibs.schedule.state import DEFAULTS, Options, State
from dibs.schedule.suggest import Suggestion
from dibs.view import binding, drawn, granted, named, refusals, rules, words
from dibs.view.tree import Tree


@dataclass(frozen=True, slots=True)
class Account:
    """Everything there is to say of one subject.

    `asked` is who was asked about, `decision.subject` who decides: a claim's Pod if it has one.
    `before` is the world the decision was taken in, `state` the one after it.
    """

    asked: Subject
    decision: Decision
    before: State
    state: State
    suggestions: tuple[Suggestion, ...] = ()
    users: tuple[Key, ...] = ()  # the Pods that use the claim asked about
    # A claim that no Pod uses fits, but not once the others of its kind have been served.
    is_crowded_out: bool = False

    @property
    def is_yes(self) -> bool:
        return isinstance(self.decision, Placed | Settled)


def of_pod(snapshot: Snapshot, key: Key, options: Options = DEFAULTS) -> Account:
    """The account of a Pod of the snapshot. Raises Mistake for a Pod that no API would accept."""
    return account(snapshot, Subject("Pod", key), Subject("Pod", key), options, ())


def of_claim(snapshot: Snapshot, key: Key, options: Options = DEFAULTS) -> Account:
    """The account of a claim: what it holds, or that of the Pod it waits with."""
    asked = Subject("ResourceClaim", key)
    claim = snapshot.claims[key]
    users = granted.users_of(key, snapshot)
    if claim.status.allocation is not None:
        state = State.of(snapshot, options)
        settled = Settled(asked, granted.node_of(claim), (ClaimUse("", claim),))
        return Account(asked, settled, state, state, users=users)
    decider = Subject("Pod", users[0]) if users else asked
    told = account(snapshot, asked, decider, options, users)
    if not users and isinstance(told.decision, Placed):
        return replace(told, is_crowded_out=waits_in_line(snapshot, asked, options))
    return told


def waits_in_line(snapshot: Snapshot, asked: Subject, options: Options) -> bool:
    """Whether a claim that no Pod uses waits where those before it are served, as by `allocate`."""
    line = pods.queue(snapshot)
    if all(each == asked or each.kind == "Pod" for each in line):
        return False
    turns = (decision for decision, _ in pods.steps(snapshot, options, is_strict=False))
    return isinstance(next((d for d in turns if d.subject == asked), None), Waits)


def account(
    snapshot: Snapshot, asked: Subject, decider: Subject, options: Options, users: tuple[Key, ...]
) -> Account:
    before = pods.until(snapshot, decider, options)
    decision = pods.decide(before, decider)
    state = writes.after(before, decision)
    found: tuple[Suggestion, ...] = ()
    by_plan = planned(snapshot, before)
    if isinstance(decision, Waits):
        found = suggest.suggestions(before, decision, by_plan)
        turned = refusals.with_turns(decision.nodes, by_plan)
        decision = replace(decision, nodes=rules.with_rules(turned, snapshot.rules))
    if isinstance(decision, Placed):
        passed = refusals.with_turns(decision.passed_over, by_plan)
        decision = replace(decision, passed_over=rules.with_rules(passed, snapshot.rules))
    return Account(asked, decision, before, state, found, users)


def planned(snapshot: Snapshot, before: State) -> frozenset[str]:
    """The claims that have their devices only by the plan for those who come first."""
    if before.snapshot is snapshot:
        return frozenset()
    return frozenset(
        str(key)
        for key, claim in before.snapshot.claims.items()
        if claim.status.allocation is not None
        and (key not in snapshot.claims or snapshot.claims[key].status.allocation is None)
    )


# --- as a tree ----------------------------------------------------------------------------------


def tree(account: Account, every_node: bool = False) -> Tree:
    """The whole answer; `every_node` lists nodes and devices one by one, and the expressions."""
    told = decided(account, every_node)
    if account.asked == account.decision.subject:
        return told
    name = f"claim {account.asked.key}"
    others = words.listed([str(user) for user in account.users])
    return Tree(f"{name} is decided with the Pods that use it: {others}", (told,))


def decided(account: Account, every_node: bool) -> Tree:
    match account.decision:
        case Placed():
            return placed(account, account.decision, every_node)
        case Waits():
            return waiting(account, account.decision, every_node)
        case Broken():
            return broken(account.decision)
        case Settled():
            return settled(account, account.decision, every_node)
        case _:
            assert_never(account.decision)


def waiting(account: Account, waits: Waits, every_node: bool) -> Tree:
    children = [
        Tree(f"{against.text}{'; ' if against.remedy else ''}{against.remedy}", tone="bad")
        for against in waits.objections
    ]
    children += refusals.trees(waits.nodes, every_node)
    children += hints(account)
    text = ""
    if not waits.objections:
        text = f": {no_node(waits)} {wish(account, waits)}"
    if waits.subject.kind == "ResourceClaim":
        head = f"{unused(waits.subject)}\nif one did, it would wait{text}"
        return Tree(head, tuple(children))
    return Tree(f"{waits.subject} waits{text}", tuple(children))


def unused(subject: Subject) -> str:
    return (
        f"{subject} is pending, which is normal: no Pod uses it, and a claim is allocated "
        "when a Pod needs it"
    )


def no_node(waits: Waits) -> str:
    count = len(waits.nodes)
    return "the only node can't" if count == 1 else f"none of {count} nodes can"


def wish(account: Account, waits: Waits) -> str:
    """What was wanted of a node: `give claim default/train its 4 devices`."""
    uses = [use for use in waits.claims if use.claim.status.allocation is None]
    by_name = ""
    if waits.subject.kind == "Pod":
        by_name = named.wish(account.before.snapshot.pods[waits.subject.key])
    if not uses:
        return f"give it {by_name}" if by_name else "take it"
    besides = f", and {by_name} besides" if by_name else ""
    names = words.listed([title(use) for use in uses])
    if len(uses) > 1:
        return f"give claims {names} their devices at once{besides}"
    return f"give claim {names} {devices_wanted(uses[0].claim)}{besides}"


def title(use: ClaimUse) -> str:
    """A claim that is yet to be made is known by its template."""
    key = str(key_of(use.claim.metadata))
    return f"{key} (of template {use.template})" if use.is_new else key


def devices_wanted(claim: ResourceClaim) -> str:
    counts = []
    for request in claim.spec.devices.requests:
        if request.exactly is None or request.exactly.allocation_mode == "All":
            return "its devices"
        counts.append(request.exactly.count or 1)
    return "its device" if sum(counts) == 1 else f"its {sum(counts)} devices"


def hints(account: Account) -> list[Tree]:
    """What would help: tried changes, so that a reader may believe them."""
    fits = tuple(
        Tree(f"{each.text}: then it fits on {each.node}", tone="next")
        for each in account.suggestions
    )
    if fits:
        return [Tree("any one of these would do:" if len(fits) > 1 else "this would do:", fits)]
    return [Tree(f"next: {command}", tone="next") for command in look_further(account)]


def look_further(account: Account) -> list[str]:
    """Where to look when no change of ours helps: at the driver whose pool is out of order."""
    assert isinstance(account.decision, Waits)
    faults = (
        fault
        for answer in account.decision.nodes.values()
        if isinstance(answer, Refused)
        for fault in answer.pools
    )
    drivers = sorted({fault.pool.driver for fault in faults})
    return [
        f"kubectl get resourceslices --field-selector spec.driver={driver} -o yaml"
        for driver in drivers[:1]
    ]


def broken(decision: Broken) -> Tree:
    return Tree(
        f"{decision.subject} can't be decided on any node",
        (Tree(decision.failed.message, tone="bad"),),
    )


def placed(account: Account, decision: Placed, every_node: bool) -> Tree:
    subject = decision.subject
    children = [granted.tree(use, account.state, every_node) for use in decision.claims]
    if subject.kind == "Pod":
        pod = account.before.snapshot.pods[subject.key]
        children += named.plugged(pod, decision, account.before)
        children += drawn.trees(drawn.of_account(decision, account.before))
    awaited = unready(decision)
    if decision.passed_over and not awaited:
        before = refusals.trees(decision.passed_over, every_node)
        children.append(Tree("nodes that come before it would not do:", before, tone="faint"))
    if subject.kind == "ResourceClaim":
        head = f"{unused(subject)}\nif one did, it would fit on {decision.node}"
        if account.is_crowded_out:
            text = "dibs allocate serves other claims that no Pod uses first; then it waits"
            children.append(Tree(text, tone="next"))
        return Tree(head, tuple(children))
    pod = account.before.snapshot.pods[subject.key]
    if awaited:
        head = f"{subject} goes to {decision.node} when its devices are ready: it {awaited}"
        return Tree(head, tuple(children))
    if said := held_up(pod):
        # Somebody knows better: a quota, or what isn't judged here.
        text = f"its condition PodScheduled says: {said}"
        head = f"{subject} could go to {decision.node} as far as its devices go, and waits"
        return Tree(head, (Tree(text, tone="bad"), *children))
    if pod.metadata.uid:
        # It is in a cluster already, and somebody asks: tell where else to look.
        text = (
            "if it stays pending, its devices are not why: CPU, memory, volumes are not judged here"
        )
        children.append(Tree(text, tone="next"))
    return Tree(f"{subject} can go to {decision.node}: nothing is in its way", tuple(children))


def unready(decision: Placed) -> str:
    """What has to be reported of devices that are allocated, before the Pod is bound."""
    for use in decision.claims:
        allocation = use.claim.status.allocation
        for result in allocation.devices.results if allocation is not None else ():
            if told := binding.text_of(binding.wait(use.claim, result)):
                return told
    return ""


def held_up(pod: Pod) -> str:
    """What the cluster says of a Pod that waits: the message of its condition, "" if none."""
    conditions = pod.status.rest.get("conditions") or ()
    for each in conditions:
        if each.get("type") == "PodScheduled" and each.get("status") == "False":
            return str(each.get("message") or each.get("reason") or "")
    return ""


def settled(account: Account, decision: Settled, every_node: bool) -> Tree:
    children = tuple(granted.tree(use, account.state, every_node) for use in decision.claims)
    subject = decision.subject
    if subject.kind == "ResourceClaim":
        return replace(children[0], text=claim_head(account, decision))
    pod = account.before.snapshot.pods[subject.key]
    if pods.is_done(pod):
        return Tree(f"{subject} {ended(pod)}: it needs no devices")
    children += tuple(named.plugged(pod, decision, account.before))
    children += tuple(drawn.trees(drawn.of_account(decision, account.before)))
    if not children:
        return Tree(f"{subject} is on {decision.node}, and uses no claim")
    return Tree(f"{subject} is on {decision.node}", children + unreserved(account, decision, pod))


def unreserved(account: Account, decision: Settled, pod: Pod) -> tuple[Tree, ...]:
    """The claims that the kubelet will not let the Pod use yet."""
    known = account.before.snapshot.claims
    missing = [
        str(key)
        for use in decision.claims
        if (key := key_of(use.claim.metadata)) in known
        and not pod_claims.is_reserved(known[key], pod)
    ]
    if not missing:
        return ()
    text = (
        f"it is not in status.reservedFor of {words.listed(missing)}: the kubelet refuses it until "
        "the resourceclaim controller has added it, which happens to Pods with a preset nodeName"
    )
    return (Tree(text, tone="bad"),)


def ended(pod: Pod) -> str:
    if pod.status.phase in pods.DONE:
        return f"has ended ({pod.status.phase})"
    return "is being deleted"


def claim_head(account: Account, decision: Settled) -> str:
    claim = decision.claims[0].claim
    where = f" on {decision.node}" if decision.node else ""
    names = [reference.name for reference in claim.status.reserved_for]
    users = f", for {words.listed(names, 6)}" if names else ""
    deleting = ", and is being deleted" if pods.is_deleting(claim) else ""
    return f"{decision.subject} is allocated{where}{users}{deleting}"
