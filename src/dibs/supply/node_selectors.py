"""Whether a node selector matches a node: the semantics of core/v1 NodeSelector, in full.

Terms are OR-ed, the requirements of a term AND-ed; a term without any matches nothing. Used for
slices and devices here, for allocated claims and Pod affinity by `schedule`.
Source: core/v1 NodeSelector; KEP-4381 (ResourceSliceSpec.nodeSelector).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from dibs.model.core import Node
from dibs.model.meta import LabelSelectorRequirement, NodeSelector, NodeSelectorTerm
from dibs.values import names
from dibs.values.mistake import Mistake

# The one field that matchFields knows.
NAME_FIELD = "metadata.name"


def matches(selector: NodeSelector, node: Node) -> bool:
    """Raises Mistake when the selector is malformed, even if a sound term of it would match."""
    faults = faults_of(selector)
    if faults:
        raise Mistake(f"invalid node selector: {faults[0]}")
    return any(_term_matches(term, node) for term in selector.node_selector_terms)


# One selector is asked about once a node: it is checked once.
@lru_cache(maxsize=4096)
def faults_of(selector: NodeSelector) -> tuple[str, ...]:
    """What is malformed in a selector, in words; empty when it can be evaluated."""
    faults: list[str] = []
    for term in selector.node_selector_terms:
        for need in term.match_expressions:
            faults.extend(_faults_of_expression(need))
        for need in term.match_fields:
            faults.extend(_faults_of_field(need))
    return tuple(faults)


class Handle(NamedTuple):
    """A label that a node has, or its name under NAME_FIELD: by what slices are looked up."""

    key: str
    value: str


@lru_cache(maxsize=4096)
def handles_of(selector: NodeSelector) -> frozenset[Handle] | None:
    """A node that has none of these is not selected; None when that can't be said of it.

    Nor can it of a selector that is malformed: every node is told so.
    """
    if faults_of(selector):
        return None
    found: set[Handle] = set()
    for term in selector.node_selector_terms:
        of_term = _handles_of_term(term)
        if of_term is None:
            return None
        found.update(of_term)
    return frozenset(found)


def pinned_node(selector: NodeSelector | None) -> str | None:
    """The one node a selector names, if it does nothing else: what an allocation writes."""
    if selector is None or len(selector.node_selector_terms) != 1:
        return None
    term = selector.node_selector_terms[0]
    if term.match_expressions or len(term.match_fields) != 1:
        return None
    need = term.match_fields[0]
    if need.key != NAME_FIELD or need.operator != "In" or len(need.values) != 1:
        return None
    return need.values[0]


def text_of(selector: NodeSelector) -> str:
    """In short, as kubectl writes labels: `zone=b`, `zone in (a, b),!spot or metadata.name=n1`."""
    terms = (
        ",".join(map(_short, (*term.match_expressions, *term.match_fields)))
        for term in selector.node_selector_terms
    )
    return " or ".join(term for term in terms if term) or "no node"


def _short(need: LabelSelectorRequirement) -> str:
    values = ", ".join(need.values)
    one = len(need.values) == 1
    match need.operator:
        case "In":
            return f"{need.key}={values}" if one else f"{need.key} in ({values})"
        case "NotIn":
            return f"{need.key}!={values}" if one else f"{need.key} notin ({values})"
        case "Exists":
            return need.key
        case "DoesNotExist":
            return f"!{need.key}"
        case "Gt" | "Lt":
            return f"{need.key}{'>' if need.operator == 'Gt' else '<'}{values}"
    return f"{need.key} {need.operator} {values}"


def _term_matches(term: NodeSelectorTerm, node: Node) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    fields = {NAME_FIELD: node.metadata.name}
    labels = node.metadata.labels
    return all(holds(need, labels.get(need.key)) for need in term.match_expressions) and all(
        # A field that is not known reads as empty, unlike a label that is not there.
        (fields.get(need.key, "") in need.values) == (need.operator == "In")
        for need in term.match_fields
    )


def _handles_of_term(term: NodeSelectorTerm) -> Iterable[Handle] | None:
    """All requirements must hold: the first that asks for certain values will do."""
    for need in term.match_fields:
        if need.operator == "In" and need.key == NAME_FIELD:
            return [Handle(NAME_FIELD, value) for value in need.values]
    for need in term.match_expressions:
        if need.operator == "In" and need.key != NAME_FIELD:
            return [Handle(need.key, value) for value in need.values]
    # A term without any requirement matches nothing.
    return None if term.match_expressions or term.match_fields else ()


def holds(need: LabelSelectorRequirement, value: str | None) -> bool:
    """Whether a label of this value, None for no such label, meets a sound requirement."""
    match need.operator:
        case "In":
            return value is not None and value in need.values
        case "NotIn":
            return value is None or value not in need.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            number = _integer(value) if value is not None else None
            bound = _integer(need.values[0])
            if number is None or bound is None:
                return False
            return number > bound if need.operator == "Gt" else number < bound
    raise AssertionError(f"operator {need.operator} passed faults_of")


def _faults_of_expression(need: LabelSelectorRequirement) -> list[str]:
    faults = [f"key {need.key!r}: {why}" for why in names.faults_of_label_key(need.key)]
    match need.operator:
        case "In" | "NotIn":
            if not need.values:
                faults.append(f"{need.key}: operator {need.operator} needs at least one value")
        case "Exists" | "DoesNotExist":
            if need.values:
                faults.append(f"{need.key}: operator {need.operator} takes no values")
        case "Gt" | "Lt":
            if len(need.values) != 1:
                faults.append(f"{need.key}: operator {need.operator} needs exactly one value")
            elif _integer(need.values[0]) is None:
                faults.append(f"{need.key}: {need.values[0]!r} is not an integer")
        case _:
            faults.append(f"{need.key}: {need.operator!r} is not a valid operator")
    for value in need.values:
        faults.extend(f"value {value!r}: {why}" for why in names.faults_of_label_value(value))
    return faults


def _faults_of_field(need: LabelSelectorRequirement) -> list[str]:
    if need.operator not in ("In", "NotIn"):
        return [f"{need.key}: {need.operator!r} is not a valid operator for a field"]
    if len(need.values) != 1:
        return [f"{need.key}: a field needs exactly one value"]
    return []


def _integer(text: str) -> int | None:
    """A label as int64, by Go's rules: no blanks, no underscores, ASCII digits."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 40:
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None
