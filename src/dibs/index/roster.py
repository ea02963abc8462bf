"""The nodes by number, and sets of them by what selectors, taints and resources are asked about.

A node's number is its place by name, so the first of a set is the first by name. A node selector
is answered for all nodes at once, from the values that each label has; what a requirement means
for one value is `supply.node_selectors`'. Of Pods nothing is known here.
"""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True, eq=False)
class Roster:
    """Every set has a bit for each node's number.

    `labels` are by key and value, `plugged` by resource name: where a device plugin advertises
    more than none. `_known` has what was answered of these nodes; it never outlives them.
    """

    names: tuple[str, ...]
    nodes: tuple[Node, ...]
    number: Mapping[str, int]
    all: Set
    cordoned: Set
    taints: Sets[TaintKey]
    labels: Mapping[str, Sets[str]]
    declares: Sets[str]
    plugged: Sets[str]
    _known: dict[NodeSelector, Set] = field(default_factory=dict)

    @classmethod
    def of(cls, nodes: Iterable[Node]) -> Roster:
        ordered = tuple(sorted(nodes, key=lambda node: node.metadata.name))
        size = len(ordered)
        names = tuple(node.metadata.name for node in ordered)
        labels: dict[str, dict[str, list[int]]] = {}
        taints: dict[TaintKey, list[int]] = {}
        declares: dict[str, list[int]] = {}
        plugged: dict[str, list[int]] = {}
        for number, node in enumerate(ordered):
            for key, value in node.metadata.labels.items():
                labels.setdefault(key, {}).setdefault(value, []).append(number)
            for taint in {TaintKey(each.key, each.value, each.effect) for each in node.spec.taints}:
                taints.setdefault(taint, []).append(number)
            for feature in dict.fromkeys(node.status.declared_features):
                declares.setdefault(feature, []).append(number)
            for name, amount in node.status.allocatable.items():
                if amount.sign() > 0:
                    plugged.setdefault(name, []).append(number)
        return cls(
            names,
            ordered,
            {name: number for number, name in enumerate(names)},
            bits.everything(size),
            bits.of((n for n, node in enumerate(ordered) if node.spec.unschedulable), size),
            _sets(taints, size),
            {key: _sets(by_value, size) for key, by_value in labels.items()},
            _sets(declares, size),
            _sets(plugged, size),
        )

    def with_nodes(self, changed: Mapping[str, Node | None]) -> Roster:
        """With these nodes new or in place of the old ones; without those that are None."""
        kept = dict(zip(self.names, self.nodes, strict=True))
        for name, node in changed.items():
            if node is None:
                kept.pop(name, None)
            else:
                kept[name] = node
        return Roster.of(kept.values())

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


def _sets(found: Mapping[Key, list[int]], size: int) -> dict[Key, Set]:
    return {key: _set(members, size) for key, members in found.items()}


def _set(members: list[int], size: int) -> Set:
    return 1 << members[0] if len(members) == 1 else bits.of(members, size)
