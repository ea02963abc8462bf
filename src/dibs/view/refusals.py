"""Why no node would do: nodes with the same trouble together, reasons counted, holders named.

It groups and words what `allocate` and `schedule` said about each node; it judges nothing. On a
cluster of 500 equal nodes that is one line, unless every node is asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from dibs.allocate import overlaps
from dibs.allocate.outcome import AskNo, DeviceNo, Refused, TimedOut
from dibs.schedule.plan import NodeAnswer, Objection
from dibs.view import causes, words
from dibs.view.tree import Tree


@dataclass(frozen=True, slots=True)
class Group:
    """Nodes that are out for the same cause, in order; `answers` beside them."""

    nodes: tuple[str, ...]
    answers: tuple[NodeAnswer, ...]


def trees(answers: Mapping[str, NodeAnswer], every_node: bool = False) -> tuple[Tree, ...]:
    """One tree a group of nodes, or one a node, in the order of the (first) nodes."""
    if every_node:
        each = (Group((node,), (answer,)) for node, answer in answers.items())
        return tuple(tree(group, every_device=True) for group in each)
    return tuple(tree(group) for group in groups(answers))


def with_turns(answers: Mapping[str, NodeAnswer], planned: frozenset[str]) -> dict[str, NodeAnswer]:
    """The same answers, saying of planned claims that their Pods come first.

    Nobody would find their allocation in the cluster: it follows from the order of the queue.
    """

    def told(no: DeviceNo) -> DeviceNo:
        holder, inside = no.reason.holder, no.reason.overlaps
        if any(each.claim in planned for each in inside):
            text = overlaps.text_of(inside, planned)
            return replace(no, reason=replace(no.reason, text=text))
        if no.reason.code != "held" or holder is None or holder.claim not in planned:
            return no  # a share leaves the rest to others: how much is left says more
        text = f"goes to {holder.claim}, whose Pod comes first"
        return replace(no, reason=replace(no.reason, text=text))

    def turned(answer: NodeAnswer) -> NodeAnswer:
        if not isinstance(answer, Refused):
            return answer
        asks = (replace(ask, noes=tuple(map(told, ask.noes))) for ask in answer.asks)
        return replace(answer, asks=tuple(asks))

    return {node: turned(answer) if planned else answer for node, answer in answers.items()}


def groups(answers: Mapping[str, NodeAnswer]) -> tuple[Group, ...]:
    found: dict[object, list[str]] = {}
    for node, answer in answers.items():
        found.setdefault(likeness(answer), []).append(node)
    grouped = [
        Group(tuple(nodes), tuple(answers[node] for node in nodes)) for nodes in found.values()
    ]
    # Nodes that were asked for devices first: those that the Pod may not go to say less.
    return tuple(sorted(grouped, key=lambda group: isinstance(group.answers[0], Objection)))


def likeness(answer: NodeAnswer) -> object:
    """Equal for answers that a reader would call the same: who holds a device doesn't matter."""
    match answer:
        case Objection():
            return answer.about, answer.text
        case TimedOut():
            return "timed out"
        case Refused():
            faults = tuple((f.kind, without(f.text, f.pool.name)) for f in answer.pools)
            return faults, tuple(likeness_of_ask(ask) for ask in short_asks(answer))


def likeness_of_ask(ask: AskNo) -> object:
    causes = Counter(
        (no.reason.code, "" if no.reason.holder or no.reason.overlaps else no.reason.text)
        for no in ask.noes
    )
    return (
        ask.claim,
        ask.request,
        ask.wanted,
        ask.candidates,
        ask.fit,
        ask.note,
        frozenset(causes.items()),
    )


def without(text: str, name: str) -> str:
    return text.replace(f"pool {name} ", "pool … ", 1)


def short_asks(answer: Refused) -> tuple[AskNo, ...]:
    """The requests to show: those that are short; all when only together they are too much."""
    return tuple(ask for ask in answer.asks if ask.is_short) or answer.asks


def tree(group: Group, every_device: bool = False) -> Tree:
    label = words.spanned(group.nodes, "node")
    first = group.answers[0]
    match first:
        case Objection():
            text = first.text
            if len(group.nodes) == 1 and first.detail:
                text = f"{text}; {first.detail}"
            return Tree(text, label=label)
        case TimedOut():
            return Tree(f"undecided: {first.message}", label=label)
        case Refused():
            return Tree(headline(first), refusal(group, every_device), label=label)


def below(answer: Refused) -> tuple[Tree, ...]:
    """The causes of one refusal, without its headline."""
    return refusal(Group((answer.node,), (answer,)), every_device=False)


def brief(group: Group) -> str:
    """The headline of a group, for one line."""
    found = tree(group)
    causes = "; ".join(f"{child.label} {child.text}".strip() for child in found.children[:1])
    more = " …" if len(found.children) > 1 else ""
    # Of an error with its expression and caret only the first line.
    causes = causes.partition("\n")[0]
    return f"{found.text} ({causes}{more})" if causes else found.text


def headline(answer: Refused) -> str:
    """One sentence for the node: what a reader needs if they read no further."""
    asks = short_asks(answer)
    if not asks:
        return answer.note
    if answer.pools and all(not ask.candidates for ask in asks):
        return answer.pools[0].text
    if len(asks) == 1 and not asks[0].is_short:
        ask = asks[0]
        fits = f"{ask.fit} of {ask.candidates} fit {ask.title}"
        return f"{fits}, but not {ask.wanted} at once"
    if len(asks) == 1:
        return shortage(asks[0])
    bases = {(ask.claim, ask.request.partition("/")[0]) for ask in asks}
    if len(bases) == 1 and all("/" in ask.request for ask in asks):
        return f"none of the {len(asks)} alternatives of request {bases.pop()[1]} fits"
    return answer.note or "no way to give all requests their devices at once"


def shortage(ask: AskNo) -> str:
    if not ask.candidates:
        return f"it has no device that {ask.title} could take"
    if ask.note and ask.fit >= ask.wanted:
        fits = f"{ask.fit} of {ask.candidates} fit {ask.title}"
        return f"{fits}, but not {ask.wanted} at once: {ask.note}"
    fits = f"{ask.fit} of {ask.candidates} fit {ask.title}"
    if ask.wanted > 1:
        fits += f", which wants {ask.wanted}"
    return f"{fits}: {ask.note}" if ask.note else fits


def refusal(group: Group, every_device: bool) -> tuple[Tree, ...]:
    """What is under a node's headline: pools out of order, then requests, then causes counted."""
    first = group.answers[0]
    assert isinstance(first, Refused)
    asks = short_asks(first)
    head = headline(first)
    faults = tuple(Tree(fault.text) for fault in first.pools if fault.text not in head)
    if len(asks) == 1:
        return faults + causes_of(group, asks[0], every_device)
    several = len({ask.claim for ask in asks}) > 1
    return faults + tuple(
        Tree(
            f"claim {ask.claim}: {shortage(ask)}" if several else shortage(ask),
            causes_of(group, ask, every_device),
        )
        for ask in asks
    )


def causes_of(group: Group, ask: AskNo, every_device: bool) -> tuple[Tree, ...]:
    if every_device:
        return (*causes.every(ask), *causes.uncounted(ask))
    if len(group.nodes) == 1:
        found = causes.on_one_node(ask.noes)
    else:
        found = causes.on_many_nodes(ask.noes, tuple(everywhere(group, ask)))
    return (*causes.counted(found), *causes.uncounted(ask))


def everywhere(group: Group, ask: AskNo) -> Iterator[DeviceNo]:
    """The devices of the same request on every node of the group."""
    for answer in group.answers:
        assert isinstance(answer, Refused)
        for other in answer.asks:
            if (other.claim, other.request) == (ask.claim, ask.request):
                yield from other.noes
