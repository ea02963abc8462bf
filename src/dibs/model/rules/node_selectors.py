"""The rules of node selectors, as slices, devices and allocations have them.

Which nodes a selector matches is `supply`'s business. Source: core/v1 validation.
"""

from __future__ import annotations

from dibs.model.meta import LabelSelectorRequirement, NodeSelector, NodeSelectorTerm
from dibs.model.rules import faults, fields
from dibs.model.rules.fields import Faults

ONE_TERM = "must have exactly one node selector term"

_NO_OPERATOR = "not a valid selector operator"


def selector(value: NodeSelector, path: str) -> Faults:
    terms = f"{path}.nodeSelectorTerms"
    if not value.node_selector_terms:
        yield faults.required(terms, "must have at least one node selector term")
    yield from fields.each(value.node_selector_terms, terms, None, _term)


def selector_of_one_term(value: NodeSelector, path: str) -> Faults:
    """One term only, so that selectors of several devices can be merged by AND."""
    yield from selector(value, path)
    if len(value.node_selector_terms) != 1:
        terms = f"{path}.nodeSelectorTerms"
        yield faults.invalid(terms, value.node_selector_terms, ONE_TERM)


def _term(term: NodeSelectorTerm, path: str) -> Faults:
    yield from fields.each(term.match_expressions, f"{path}.matchExpressions", None, _expression)
    yield from fields.each(term.match_fields, f"{path}.matchFields", None, _field)


def _expression(wanted: LabelSelectorRequirement, path: str) -> Faults:
    values = f"{path}.values"
    match wanted.operator:
        case "In" | "NotIn":
            if not wanted.values:
                text = "must be specified when `operator` is 'In' or 'NotIn'"
                yield faults.required(values, text)
        case "Exists" | "DoesNotExist":
            if wanted.values:
                text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                yield faults.forbidden(values, text)
        case "Gt" | "Lt":
            if len(wanted.values) != 1:
                text = "must be specified single value when `operator` is 'Lt' or 'Gt'"
                yield faults.required(values, text)
        case _:
            yield faults.invalid(f"{path}.operator", wanted.operator, _NO_OPERATOR)
    yield from fields.label_key(wanted.key, f"{path}.key")
    yield from fields.each(wanted.values, values, None, fields.label_value)


def _field(wanted: LabelSelectorRequirement, path: str) -> Faults:
    """Of a node's fields only the name can be selected on."""
    if wanted.operator not in ("In", "NotIn"):
        yield faults.invalid(f"{path}.operator", wanted.operator, _NO_OPERATOR)
    elif len(wanted.values) != 1:
        text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield faults.required(f"{path}.values", text)
    if wanted.key != "metadata.name":
        yield faults.invalid(f"{path}.key", wanted.key, "not a valid field selector key")
    else:
        yield from fields.each(wanted.values, f"{path}.values", None, fields.subdomain)
