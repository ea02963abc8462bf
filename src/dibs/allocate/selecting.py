"""Which devices an ask's selectors let in, each question answered once.

A selector's answer depends only on the attributes and capacities it reads, so equal devices are
asked about once. `Answers` owns what was learned: keep one for all nodes and Pods of a snapshot;
it may not outlive the slices. What a selector means is decided in `request.selectors` and `cel`.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from dibs.allocate.outcome import Reason
from dibs.cel.faults import CompileError
from dibs.model.objects import DeviceAttribute
from dibs.request import derived
from dibs.request.asks import Ask, Condition
from dibs.request.derived import Derivation
from dibs.request.selectors import Selector
from dibs.supply.pools import Candidate
from dibs.values.mistake import Mistake


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """What selectors answered: True, False or the text of an error."""

    _selectors: dict[str, Selector | str] = field(default_factory=dict)
    _by_device: dict[str, dict[Candidate, bool | str]] = field(default_factory=dict)
    _by_projection: dict[str, dict[Hashable, bool | str]] = field(default_factory=dict)
    _derivations: dict[str, Derivation | str] = field(default_factory=dict)
    _derived: dict[str, dict[Hashable, DeviceAttribute | str]] = field(default_factory=dict)

    def objection(self, ask: Ask, candidate: Candidate) -> Reason | None:
        """The first of the ask's selectors that is false on the device or fails on it."""
        for condition in ask.conditions:
            known = self._by_device.setdefault(condition.expression, {})
            answer = known.get(candidate)
            if answer is None:
                answer = known[candidate] = self._ask(condition.expression, candidate)
            if answer is True:
                continue
            if answer is False:
                return Reason("selector", f"{condition} is false")
            return self._failure(condition, candidate, answer)
        return None

    def derived(self, expression: str, candidate: Candidate) -> DeviceAttribute | str:
        """The attribute that an expression gives the device, or the text of an error (KEP-6080)."""
        derivation = self._derivations.get(expression)
        if derivation is None:
            try:
                derivation = derived.compile(expression)
            except CompileError as error:
                derivation = f"CEL compile error: {error}"
            self._derivations[expression] = derivation
        if isinstance(derivation, str):
            return derivation
        known = self._derived.setdefault(expression, {})
        seen = derivation.projection(candidate)
        if seen not in known:
            try:
                known[seen] = derivation.attribute(candidate)
            except Mistake as mistake:
                known[seen] = f"CEL runtime error: {mistake.message}"
        return known[seen]

    def explain(self, ask: Ask, candidate: Candidate) -> str:
        """Why the first false selector is false; only asked for people."""
        for condition in ask.conditions:
            selector = self._compiled(condition.expression)
            if isinstance(selector, str):
                continue
            if self._by_device[condition.expression].get(candidate) is False:
                return selector.explain(candidate)
        return ""

    def _ask(self, expression: str, candidate: Candidate) -> bool | str:
        selector = self._compiled(expression)
        if isinstance(selector, str):
            return selector
        known = self._by_projection.setdefault(expression, {})
        seen = selector.projection(candidate)
        answer = known.get(seen)
        if answer is None:
            try:
                answer = selector.matches(candidate)
            except Mistake as mistake:
                answer = mistake.message
            known[seen] = answer
        return answer

    def _compiled(self, expression: str) -> Selector | str:
        found = self._selectors.get(expression)
        if found is None:
            try:
                found = Selector.compile(expression)
            except Mistake as mistake:
                found = mistake.message
            self._selectors[expression] = found
        return found

    def _failure(self, condition: Condition, candidate: Candidate, text: str) -> Reason:
        if isinstance(self._compiled(condition.expression), str):
            return Reason("selector-error", f"{condition}: CEL compile error: {text}")
        where = f"{condition} on device {candidate.id}"
        return Reason("selector-error", f"{where}: CEL runtime error: {text}")
