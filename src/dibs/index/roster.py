"""The nodes by number, and sets of them by what selectors, taints and resources are asked about.

Numbers are in the order of names, so the first of a set is the first by name; a node keeps its
number while others come and go, and some numbers have no node. A node selector is answered for all
nodes at once, from the values that each label has; what a requirement means for one value is
`supply.node_selectors`'. Of Pods nothing is known here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from dibs.index import bits
from dibs.index.bits import Set
from dibs.model.core import Node
from dibs.model.meta import LabelSelectorRequirement, NodeSelector, NodeSelectorTerm
from dibs.supply import node_selectors
from dibs.values.mistake import Mistake

Key = TypeVar("Key")
Sets = Mapping[Key, Set]


class TaintKey(NamedTuple):
    """A node's taint, as far as tolerations look at it."""

    key: str
    value: str
    effect: str


# Answers to node selectors that are kept beside a roster.
SELECTORS = 1024

# How far apart numbers are once a node has come between others: room for one more everywhere.
GAP = 2

# Stands where a number has no node.
NOBODY = Node()


@dataclass(frozen=True, slots=True, eq=False)
class Roster:
    """Every set has a bit for each node's number; `names` and `nodes` are by number too.

    `labels` are by key and value, `plugged` by resource name: where a device plugin advertises
    more than none. Rosters of one `numbering` give a node that both have the same number.
    `_known` has what was answered of these nodes; it never outlives them.
    """

    names: tuple[str, ...]
    nodes: tuple[Node, ...]
    ordered: tuple[str, ...]
    number: Mapping[str, int]
    all: Set
    cordoned: Set
    taints: Sets[TaintKey]
    labels: Mapping[str, Sets[str]]
    declares: Sets[str]
    plugged: Sets[str]
    numbering: object = field(default_factory=object)
    _known: dict[NodeSelector, Set] = field(default_factory=dict)

    @classmethod
    def of(cls, nodes: Iterable[Node], gap: int = 1) -> Roster:
        """Numbers are `gap` apart, so that there is room for nodes in between."""
        edited = _Edited(None)
        in_order = sorted(nodes, key=lambda node: node.metadata.name)
        for place, node in enumerate(in_order, 1):
            edited.add(node, place * gap - 1)
        return edited.roster([node.metadata.name for node in in_order], object())

    def with_nodes(self, changed: Mapping[str, Node | None]) -> Roster:
        """With these nodes new or in place of the old ones; without those that are None."""
        ordered = list(self.ordered)
        edited = _Edited(self)
        for name, node in changed.items():
            number = self.number.get(name)
            place = bisect_left(ordered, name)
            if number is not None:
                edited.drop(number)
                if node is None:
                    del ordered[place]
            elif node is not None:
                low = edited.number[ordered[place - 1]] if place else -1
                high = edited.number[ordered[place]] if place < len(ordered) else low + 2
                if high - low < 2:
                    # Who comes between others once will do so again.
                    kept = {**dict(zip(self.names, self.nodes, strict=True)), **changed, "": None}
                    return Roster.of((each for each in kept.values() if each is not None), GAP)
                number = (low + high) // 2
                ordered.insert(place, name)
            if node is not None and number is not None:
                edited.add(node, number)
        return edited.roster(ordered, self.numbering)

    def only(self, name: str) -> Set:
        """The set of one node; of none if there is no such node."""
        number = self.number.get(name)
        return bits.NONE if number is None else 1 << number

    def named(self, members: Set) -> Iterator[str]:
        """The names of a set's nodes, in order."""
        return (self.names[number] for number in bits.numbers(members))

    def selected(self, selector: NodeSelector) -> Set:
        """The nodes that a selector matches. Raises Mistake when it is malformed."""
        known = self._known.get(selector)
        if known is None:
            if faults := node_selectors.faults_of(selector):
                raise Mistake(f"invalid node selector: {faults[0]}")
            known = bits.union(map(self._term, selector.node_selector_terms))
            if len(self._known) >= SELECTORS:
                del self._known[next(iter(self._known))]
            self._known[selector] = known
        return known

    def labelled(self, labels: Mapping[str, str]) -> Set:
        """The nodes that have all of these labels."""
        found = self.all
        for key, value in labels.items():
            found &= self.labels.get(key, {}).get(value, bits.NONE)
        return found

    def _term(self, term: NodeSelectorTerm) -> Set:
        if not term.match_expressions and not term.match_fields:
            return bits.NONE
        found = self.all
        for need in term.match_expressions:
            found &= self._labels_meeting(need)
        for need in term.match_fields:
            found &= self._fields_meeting(need)
        return found

    def _labels_meeting(self, need: LabelSelectorRequirement) -> Set:
        by_value = self.labels.get(need.key, {})
        if need.operator in ("In", "NotIn"):
            named = bits.union(by_value.get(value, bits.NONE) for value in need.values)
            return named if need.operator == "In" else self.all & ~named
        met = bits.union(
            members for value, members in by_value.items() if node_selectors.holds(need, value)
        )
        if node_selectors.holds(need, None):
            met |= self.all & ~bits.union(by_value.values())
        return met

    def _fields_meeting(self, need: LabelSelectorRequirement) -> Set:
        if need.key == node_selectors.NAME_FIELD:
            named = bits.union(map(self.only, need.values))
        else:
            # A field that is not known reads as empty.
            named = self.all if "" in need.values else bits.NONE
        return named if need.operator == "In" else self.all & ~named


class _Edited:
    """A roster being made: what isn't touched is shared with the roster before."""

    def __init__(self, before: Roster | None) -> None:
        self.number: dict[str, int] = dict(before.number) if before else {}
        self._names = list(before.names) if before else []
        self._nodes = list(before.nodes) if before else []
        self._all = before.all if before else bits.NONE
        self._cordoned = before.cordoned if before else bits.NONE
        self._taints: dict[TaintKey, Set] = dict(before.taints) if before else {}
        self._labels: dict[str, Mapping[str, Set]] = dict(before.labels) if before else {}
        self._declares: dict[str, Set] = dict(before.declares) if before else {}
        self._plugged: dict[str, Set] = dict(before.plugged) if before else {}
        self._own: dict[str, dict[str, Set]] = {}

    def add(self, node: Node, number: int) -> None:
        missing = number + 1 - len(self._names)
        self._names += [""] * missing
        self._nodes += [NOBODY] * missing
        self._names[number], self._nodes[number] = node.metadata.name, node
        self.number[node.metadata.name] = number
        self._turn(node, 1 << number)

    def drop(self, number: int) -> None:
        node = self._nodes[number]
        self._turn(node, 1 << number)
        del self.number[self._names[number]]
        self._names[number], self._nodes[number] = "", NOBODY

    def roster(self, ordered: Iterable[str], numbering: object) -> Roster:
        labels = {**self._labels, **self._own}
        return Roster(
            tuple(self._names),
            tuple(self._nodes),
            tuple(ordered),
            self.number,
            self._all,
            self._cordoned,
            self._taints,
            {key: by_value for key, by_value in labels.items() if by_value},
            self._declares,
            self._plugged,
            numbering,
        )

    def _turn(self, node: Node, bit: Set) -> None:
        """Put a node into its sets, or take it out of them."""
        self._all ^= bit
        if node.spec.unschedulable:
            self._cordoned ^= bit
        for taint in {TaintKey(each.key, each.value, each.effect) for each in node.spec.taints}:
            _turn(self._taints, taint, bit)
        for feature in set(node.status.declared_features):
            _turn(self._declares, feature, bit)
        for name, amount in node.status.allocatable.items():
            if amount.sign() > 0:
                _turn(self._plugged, name, bit)
        for key, value in node.metadata.labels.items():
            by_value = self._own.get(key)
            if by_value is None:
                by_value = self._own[key] = dict(self._labels.get(key, {}))
            _turn(by_value, value, bit)


def _turn(sets: dict[Key, Set], key: Key, bit: Set) -> None:
    left = sets.get(key, bits.NONE) ^ bit
    if left:
        sets[key] = left
    else:
        del sets[key]
