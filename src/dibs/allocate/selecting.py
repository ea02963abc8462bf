"""Which devices an ask's selectors let in, each question answered once.

A selector's answer depends only on the attributes and capacities it reads, so equal devices are
asked about once. `Answers` owns what was learned, and what else attempts have in common: keep one
for all nodes and Pods of a snapshot. What a selector means is decided in `request` and `cel`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from dibs.allocate.outcome import Reason
from dibs.allocate.shelf import Shelf
from dibs.cel.faults import CompileError
from dibs.model.objects import DeviceAttribute, DeviceClass, ResourceClaim
from dibs.request import asks, derived
from dibs.request.asks import Ask, Condition, Wish
from dibs.request.derived import Derivation
from dibs.request.selectors import Asked, Selector
from dibs.supply.features import Features
from dibs.supply.pools import Candidate, Pool
from dibs.values.mistake import Mistake
from dibs.values.stats import Kept, Stats

# Some 100 bytes an answer, 20 KiB a compiled expression, 1 KiB a device of a shelf.
MOST_ANSWERS = 500_000
MOST_EXPRESSIONS = 2_048
MOST_SHELVED = 100_000
MOST_CLAIMS = 1_024

# Said of many devices and rarely read: `explain` has more words.
UNSELECTED = Reason("selector", "a selector is false")

Compiled = TypeVar("Compiled", Selector, Derivation)
Answer = TypeVar("Answer", bool, DeviceAttribute)


class _Learned(Generic[Compiled, Answer]):
    """One expression: compiled, or the text of why it can't be, and what it said of devices."""

    __slots__ = ("by_device", "by_projection", "compiled", "phrases")

    def __init__(self, compiled: Compiled | str) -> None:
        self.compiled: Compiled | str = compiled
        self.by_device: dict[Asked, Answer | str] = {}
        self.by_projection: dict[Hashable, Answer | str] = {}
        self.phrases: dict[Hashable, str] = {}


class _Read(NamedTuple):
    """Claims as they were read, and the classes that were folded in."""

    claims: tuple[ResourceClaim, ...]
    classes: Mapping[str, DeviceClass]
    features: Features
    wishes: tuple[Wish, ...]


class Answers:
    """What selectors answered (True, False or the text of an error), and what is laid out once.

    Answers are kept under expression and device, claims and pools under the objects themselves:
    these never change, so what is known of them doesn't get stale. What is oldest goes first.
    """

    def __init__(
        self, *, most_answers: int = MOST_ANSWERS, most_expressions: int = MOST_EXPRESSIONS
    ) -> None:
        self._selectors: Kept[str, _Learned[Selector, bool]] = Kept("selectors", most_expressions)
        self._derivations: Kept[str, _Learned[Derivation, DeviceAttribute]] = Kept(
            "derived attributes", most_expressions
        )
        self._shelves: Kept[tuple[Pool, ...], Shelf] = Kept(
            "shelved devices", MOST_SHELVED, lambda shelf: len(shelf) + 1
        )
        self._read: Kept[tuple[int, ...], _Read] = Kept("claims", MOST_CLAIMS)
        self._most = most_answers
        self._kept = self._asked = self._evaluated = self._dropped = 0

    def objection(self, ask: Ask, candidate: Candidate) -> Reason | None:
        """The first of the ask's selectors that is false on the device or fails on it."""
        self._asked += 1
        for condition in ask.conditions:
            learned = self._selectors.of.get(condition.expression)
            answer = learned.by_device.get(candidate) if learned is not None else None
            if answer is None:
                answer = self._answer(condition.expression, candidate)
            if answer is True:
                continue
            if answer is False:
                return UNSELECTED
            return self._failure(condition, candidate, answer)
        return None

    def derived(self, expression: str, candidate: Candidate) -> DeviceAttribute | str:
        """The attribute that an expression gives the device, or the text of an error (KEP-6080)."""
        learned = self._derivations.get(expression)
        if learned is None:
            learned = self._derivations.put(expression, _Learned(_derivation(expression)))
        derivation = learned.compiled
        if isinstance(derivation, str):
            return derivation
        known = learned.by_projection
        seen = derivation.projection(candidate)
        if seen not in known:
            self._make_room()
            try:
                known[seen] = derivation.attribute(candidate)
            except Mistake as mistake:
                known[seen] = f"CEL runtime error: {mistake.message}"
        return known[seen]

    def explain(self, ask: Ask, candidate: Candidate) -> str:
        """UNSELECTED in full: why the first false selector is false."""
        for condition in ask.conditions:
            learned = self._learned(condition.expression)
            selector = learned.compiled
            if isinstance(selector, str) or self._answer(condition.expression, candidate):
                continue
            seen = selector.projection(candidate)
            phrase = learned.phrases.get(seen)
            if phrase is None:
                phrase, is_theirs = selector.phrase(candidate)
                if is_theirs:
                    self._make_room()
                    learned.phrases[seen] = phrase
            return phrase or f"{condition} is false"
        return UNSELECTED.text

    def shelf(self, pools: tuple[Pool, ...]) -> Shelf:
        """The pools laid out for the search."""
        found = self._shelves.get(pools)
        return self._shelves.put(pools, Shelf.of(pools)) if found is None else found

    def wishes(
        self,
        claims: Sequence[ResourceClaim],
        classes: Mapping[str, DeviceClass],
        features: Features,
    ) -> tuple[Wish, ...]:
        """As `asks.read`, which it raises for: the same claims are asked of many nodes."""
        key = tuple(map(id, claims))
        known = self._read.get(key)
        if (
            known is not None
            and known.features == features
            and all(classes.get(name) is each for name, each in known.classes.items())
        ):
            return known.wishes
        wishes = asks.read(claims, classes, features)
        names = {ask.class_name for w in wishes for r in w.requests for ask in r.alternatives}
        used = {name: classes[name] for name in names}
        # The claims are kept with it, so no other objects can have their ids.
        self._read.put(key, _Read(tuple(claims), used, features, wishes))
        return wishes

    @property
    def stats(self) -> tuple[Stats, ...]:
        """How well each of the memories did."""
        hits = self._asked - self._evaluated
        answers = Stats(
            "selector answers", hits, self._evaluated, self._kept, self._most, self._dropped
        )
        kept = (self._selectors, self._derivations, self._shelves, self._read)
        return (answers, *(each.stats for each in kept))

    def _answer(self, expression: str, candidate: Candidate) -> bool | str:
        learned = self._learned(expression)
        selector = learned.compiled
        if isinstance(selector, str):
            return selector
        answer = learned.by_device.get(candidate)
        if answer is None:
            seen = selector.projection(candidate)
            answer = learned.by_projection.get(seen)
            self._make_room()
            if answer is None:
                self._evaluated += 1
                try:
                    answer = selector.matches(candidate)
                except Mistake as mistake:
                    answer = mistake.message
                learned.by_projection[seen] = answer
            learned.by_device[candidate] = answer
        return answer

    def _learned(self, expression: str) -> _Learned[Selector, bool]:
        found = self._selectors.get(expression)
        if found is None:
            found = self._selectors.put(expression, _Learned(_selector(expression)))
        return found

    def _make_room(self) -> None:
        """Forget all answers when there are too many: that is rare, and they come again."""
        self._kept += 1
        if self._kept > self._most:
            for each in self._selectors.of.values():
                each.by_device.clear()
                each.by_projection.clear()
                each.phrases.clear()
            for other in self._derivations.of.values():
                other.by_projection.clear()
            self._dropped += self._kept
            self._kept = 1

    def _failure(self, condition: Condition, candidate: Candidate, text: str) -> Reason:
        if isinstance(self._learned(condition.expression).compiled, str):
            return Reason("selector-error", f"{condition}: CEL compile error: {text}")
        where = f"{condition} on device {candidate.id}"
        return Reason("selector-error", f"{where}: CEL runtime error: {text}")


def _selector(expression: str) -> Selector | str:
    try:
        return Selector.compile(expression)
    except Mistake as mistake:
        return mistake.message


def _derivation(expression: str) -> Derivation | str:
    try:
        return derived.compile(expression)
    except CompileError as error:
        return f"CEL compile error: {error}"
