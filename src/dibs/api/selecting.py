"""Label and field selectors: text → a test over an object's tree.

A label that is absent satisfies `!=` and `notin`, as in Kubernetes. Which fields a kind can be
selected by is a table here; any other is the client's mistake. Source: apimachinery, labels and
fields selectors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dibs.api import failures
from dibs.api.kinds import Resource
from dibs.values import names

Tree = Mapping[str, Any]
Test = Callable[[Tree], bool]

# Every kind has these two; the second only where there are namespaces.
_NAME, _NAMESPACE = "metadata.name", "metadata.namespace"

_FIELDS: dict[str, tuple[str, ...]] = {
    "pods": (
        "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
        "spec.hostNetwork", "status.phase", "status.podIP", "status.nominatedNodeName",
    ),
    "nodes": ("spec.unschedulable",),
    "namespaces": ("status.phase",),
    "secrets": ("type",),
    "events": (
        "involvedObject.kind", "involvedObject.namespace", "involvedObject.name",
        "involvedObject.uid", "involvedObject.apiVersion", "involvedObject.resourceVersion",
        "involvedObject.fieldPath", "reason", "reportingComponent", "source", "type",
    ),
    "resourceslices.resource.k8s.io": ("spec.nodeName", "spec.driver", "spec.pool.name"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Requirement:
    """One term; `operator` is in, notin, exists, absent, gt or lt."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Selection:
    """Both selectors of a request. Without any it takes everything."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    @property
    def is_all(self) -> bool:
        return not self.labels and not self.fields

    @property
    def name(self) -> str | None:
        """The one name that can match, if the fields say so."""
        for each in self.fields:
            if each.key == _NAME and each.operator == "in":
                return next(iter(each.values))
        return None

    def takes(self, tree: Tree) -> bool:
        labels = (tree.get("metadata") or {}).get("labels") or {}
        return all(_fits(each, labels.get(each.key)) for each in self.labels) and all(
            _fits(each, _field(tree, each.key)) for each in self.fields
        )


def read(resource: Resource, label_selector: str, field_selector: str) -> Selection:
    """Raises Failure (400) when a selector is malformed or a field isn't served."""
    fields = tuple(_field_terms(field_selector))
    known = {_NAME, *_FIELDS.get(resource.qualified, ())}
    if resource.namespaced:
        known.add(_NAMESPACE)
    for each in fields:
        if each.key not in known:
            raise failures.bad_request(
                f"field label not supported: {each.key}; {resource.plural} can be selected by "
                + ", ".join(sorted(known))
            )
    return Selection(tuple(_label_terms(label_selector)), fields)


def equalities(field_selector: str) -> tuple[tuple[str, str], ...]:
    """Return the fields that must have one value. Raises Failure (400)."""
    return tuple(
        (each.key, value)
        for each in _field_terms(field_selector)
        if each.operator == "in"
        for value in each.values
    )


def _fits(requirement: Requirement, value: str | None) -> bool:
    match requirement.operator:
        case "in":
            return value in requirement.values
        case "notin":
            return value not in requirement.values
        case "exists":
            return value is not None
        case "absent":
            return value is None
    bound = int(next(iter(requirement.values)))
    if value is None or not _WHOLE.fullmatch(value):
        return False
    return int(value) > bound if requirement.operator == "gt" else int(value) < bound


def _field(tree: Tree, path: str) -> str:
    """The text of a field; absent is "", and false where the field is a truth value."""
    value: Any = tree
    if path == "source":
        path = "source.component"
    for step in path.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    if path in ("spec.unschedulable", "spec.hostNetwork"):
        return "true" if value else "false"
    return "" if value is None else str(value)


# --- labels ---------------------------------------------------------------------------------------

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
_KEY = r"[^\s,!=<>()]+"
_TERM = re.compile(
    rf"""\s*(?:
      !\s*(?P<absent>{_KEY})
    | (?P<set_key>{_KEY})\s+(?P<set>in|notin)\s*\((?P<items>[^()]*)\)
    | (?P<key>{_KEY})\s*(?:(?P<sign>==|=|!=|>|<)\s*(?P<value>[^\s,!=<>()]*))?
    )\s*(?P<end>,|$)""",
    re.VERBOSE,
)
_SIGNS = {"=": "in", "==": "in", "!=": "notin", ">": "gt", "<": "lt"}


def _label_terms(text: str) -> Iterator[Requirement]:
    at = 0
    while at < len(text):
        term = _TERM.match(text, at)
        if term is None:
            raise _unreadable(text, f"found {text[at : at + 20]!r}, expected key, key=value, …")
        yield _checked(text, _label_term(term))
        at = term.end()
        if term["end"] and at == len(text):
            raise _unreadable(text, "found '', expected a key after the comma")


def _label_term(term: re.Match[str]) -> Requirement:
    if term["absent"]:
        return Requirement(term["absent"], "absent")
    if term["set"]:
        items = frozenset(item.strip() for item in term["items"].split(","))
        return Requirement(term["set_key"], term["set"], items)
    if term["sign"]:
        return Requirement(term["key"], _SIGNS[term["sign"]], frozenset({term["value"]}))
    return Requirement(term["key"], "exists")


def _checked(text: str, term: Requirement) -> Requirement:
    for fault in names.faults_of_label_key(term.key):
        raise _unreadable(text, f"{term.key!r}: {fault}")
    for value in term.values:
        for fault in names.faults_of_label_value(value):
            raise _unreadable(text, f"{value!r}: {fault}")
        if term.operator in ("gt", "lt") and not _WHOLE.fullmatch(value):
            raise _unreadable(text, f"{value!r}: a whole number is compared with < and >")
    return term


def _unreadable(text: str, why: str) -> failures.Failure:
    shown = text if len(text) <= 200 else f"{text[:200]}…"
    return failures.bad_request(f'unable to parse requirement "{shown}": {why}')


# --- fields ---------------------------------------------------------------------------------------

_FIELD_TERM = re.compile(
    r"(?P<key>[^=!,\\]+)(?P<sign>==|=|!=)(?P<value>(?:\\[\\,=]|[^\\,=])*)(?:,|$)"
)
_ESCAPED = re.compile(r"\\([\\,=])")


def _field_terms(text: str) -> Iterator[Requirement]:
    at = 0
    while at < len(text):
        term = _FIELD_TERM.match(text, at)
        if term is None:
            shown = text[at : at + 100]
            raise failures.bad_request(
                f"invalid selector: {shown!r}; can't understand it: write field=value or "
                "field!=value"
            )
        value = _ESCAPED.sub(r"\1", term["value"])
        yield Requirement(term["key"].strip(), _SIGNS[term["sign"]], frozenset({value}))
        at = term.end()
