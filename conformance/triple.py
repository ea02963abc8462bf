"""Generated worlds asked of three: dibs, brute force in Python, and upstream where it is built.

The worlds are those of `dibs.testing.worlds`, without traits, with all that upstream knows, and
with some of them, in turn; every fourth is followed by one with what upstream doesn't know, which
only two are asked. dibs and brute force must agree always. Upstream may differ where `known` says
so, in the smallest world that still differs; any other difference is an unexplained one.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import known
import smallest
import telling
from answerers import Answerer

from dibs.cli import conform
from dibs.model import codec
from dibs.model.objects import AllocationResult, ResourceClaim, ResourceClaimStatus
from dibs.testing import agree, oracle, question, worlds
from dibs.testing.question import Question
from dibs.testing.worlds.traits import EVERY_TRAIT, UPSTREAM_TRAITS, Traits

Tree = Mapping[str, Any]

# Worlds that a process of its own does at once.
CHUNK = 50
SHOWN = 10
UNDECIDED = "undecided in time"

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Asked:
    """One question and who agreed: pairs of "dibs", "python", "go". `go` is whether it was asked.

    `explained` is the name of a known difference. `why` says how those that differ do, and
    `smallest` is the smallest question of which it is true, as a line for `dibs conform`.
    """

    id: str
    traits: Traits
    go: bool
    pairs: frozenset[str]
    explained: str = ""
    why: str = ""
    smallest: str = ""


def run(count: int, seed: int, upstream: str | None, jobs: int | None, *, tells_all: bool) -> int:
    """Ask, tell, and return the exit code."""
    if upstream is None:
        print("upstream isn't asked: conformance/oracle isn't built (make oracle; needs Go)")
    numbers = range(seed, seed + count)
    answers = _in_chunks(_chunk, numbers, upstream, jobs, "worlds")
    _tell_agreement(numbers, answers)
    _tell_known(answers)
    return _tell_unexplained(answers, SHOWN if not tells_all else len(answers))


def compare(
    corpus: str, questions: Sequence[Tree], upstream: str, jobs: int | None, *, tells_all: bool
) -> int:
    """Ask dibs and upstream the questions of a corpus, whatever answers it has itself."""
    answers = _in_chunks(_compared, questions, upstream, jobs, corpus)
    undecided = sum(each.why == UNDECIDED for each in answers)
    equal = sum("dibs=go" in each.pairs for each in answers)
    explained = sum(bool(each.explained) for each in answers)
    telling.table(
        (f"{corpus}, asked of upstream", "asked", "dibs=go", "explained", "undecided"),
        [("all", len(answers), equal, explained, undecided)],
    )
    _tell_known(answers)
    decided = [each for each in answers if each.why != UNDECIDED]
    return _tell_unexplained(decided, SHOWN if not tells_all else len(answers))


def _in_chunks(
    ask: Callable[[Sequence[Item], str | None], list[Asked]],
    items: Sequence[Item],
    upstream: str | None,
    jobs: int | None,
    name: str,
) -> list[Asked]:
    chunks = [items[at : at + CHUNK] for at in range(0, len(items), CHUNK)]
    answers: list[Asked] = []
    with ProcessPoolExecutor(jobs or os.cpu_count()) as pool:
        found = pool.map(ask, chunks, [upstream] * len(chunks))
        for some in telling.shown(found, f"{name}, {CHUNK} at a time:", len(chunks)):
            answers += some
    return answers


# --- asking ------------------------------------------------------------------------------------


def _chunk(numbers: Sequence[int], upstream: str | None) -> list[Asked]:
    go = Answerer([upstream]) if upstream else None
    differences = known.read()
    try:
        return [
            _ask(each, traits, go if traits <= UPSTREAM_TRAITS else None, differences)
            for number in numbers
            for traits in _traits(number)
            for each in worlds.world(number, traits).questions()
        ]
    finally:
        if go:
            go.close()


def _compared(questions: Sequence[Tree], upstream: str | None) -> list[Asked]:
    assert upstream is not None
    go, differences = Answerer([upstream]), known.read()
    try:
        return [_compare(tree, go, differences) for tree in questions]
    finally:
        go.close()


def _compare(tree: Tree, go: Answerer, differences: Sequence[known.Difference]) -> Asked:
    ours, theirs = _dibs(tree), go.ask(tree)
    why = agree.agree(ours, theirs)
    if why is None:
        return Asked(tree["id"], frozenset(), True, frozenset({"dibs=go"}))
    if "timeout" in (ours["outcome"], theirs["outcome"]):
        return Asked(tree["id"], frozenset(), True, frozenset(), why=UNDECIDED)
    explained, small = _explain(tree, go, differences)
    return Asked(tree["id"], frozenset(), True, frozenset(), explained, f"dibs=go: {why}", small)


def _traits(number: int) -> Iterator[Traits]:
    """Which traits the worlds of this number have."""
    chance = random.Random(f"traits {number}")
    some = frozenset(name for name in sorted(UPSTREAM_TRAITS) if chance.random() < 0.4)
    yield (frozenset(), UPSTREAM_TRAITS, some)[number % 3]
    if number % 4 == 0:
        yield EVERY_TRAIT


def _ask(
    asked: Question, traits: Traits, go: Answerer | None, differences: Sequence[known.Difference]
) -> Asked:
    tree = question.tree(asked)
    dibs, python = _dibs(tree), _python(asked)
    theirs = go.ask(tree) if go else None
    told = {"dibs": dibs, "python": python, **({"go": theirs} if theirs is not None else {})}
    names = [("dibs", "python"), ("dibs", "go"), ("python", "go")]
    apart = {
        f"{one}={other}": agree.agree(told[one], told[other])
        for one, other in names
        if one in told and other in told
    }
    pairs = frozenset(pair for pair, why in apart.items() if why is None)
    if len(pairs) == len(apart):
        return Asked(asked.id, traits, theirs is not None, pairs)
    why = "; ".join(f"{pair}: {why}" for pair, why in apart.items() if why)
    if "dibs=python" not in pairs:
        small = smallest.smallest(tree, _keeps(_dibs, _python_of, dibs, python))
        return Asked(asked.id, traits, theirs is not None, pairs, "", why, json.dumps(small))
    assert go is not None
    assert theirs is not None
    explained, small_line = _explain(tree, go, differences)
    return Asked(asked.id, traits, True, pairs, explained, why, small_line)


def _explain(tree: Tree, go: Answerer, differences: Sequence[known.Difference]) -> tuple[str, str]:
    """The name of the known difference, or "", and the smallest question that differs so.

    The question itself is enough where upstream names the defect; else it is made smaller.
    """
    ours, theirs = _dibs(tree), go.ask(tree)
    for each in differences:
        if each.explains(tree, ours, theirs, is_smallest=False):
            return each.name, ""
    small = smallest.smallest(tree, _keeps(_dibs, go.ask, ours, theirs))
    ours, theirs = _dibs(small), go.ask(small)
    for each in differences:
        if each.explains(small, ours, theirs, is_smallest=True):
            return each.name, json.dumps(small)
    return "", json.dumps(small)


def _keeps(
    one: Callable[[Tree], Tree], other: Callable[[Tree], Tree], left: Tree, right: Tree
) -> Callable[[Tree], bool]:
    """Whether a question still gets two answers that differ, of the same outcomes."""

    def is_same(tree: Tree) -> bool:
        mine, theirs = one(tree), other(tree)
        return (
            mine.get("outcome") == left.get("outcome")
            and theirs.get("outcome") == right.get("outcome")
            and agree.agree(mine, theirs) is not None
        )

    return is_same


def _dibs(tree: Tree) -> Tree:
    return conform.answer(json.dumps(tree))


def _python_of(tree: Tree) -> Tree:
    read = conform.read(tree)
    classes = tuple(read.classes.values())
    fields = (read.id, read.node, read.slices, classes, read.claims, read.allocated, read.features)
    return _python(Question(*fields))


def _python(asked: Question) -> Tree:
    answer = oracle.answer(asked)
    trees = [_allocation(each) for each in answer.allocations]
    return {"outcome": answer.outcome, "message": answer.message, "allocations": trees}


def _allocation(allocation: AllocationResult) -> object:
    status = codec.encode(ResourceClaim(status=ResourceClaimStatus(allocation=allocation)))
    inside = status["status"]
    assert isinstance(inside, dict)
    return inside["allocation"]


# --- telling -----------------------------------------------------------------------------------


def _tell_agreement(numbers: range, answers: Sequence[Asked]) -> None:
    heads = ("asked", "dibs=python", "of three", "dibs=go", "python=go", "all three", "explained")
    rows = [("all", answers), ("plain", [each for each in answers if not each.traits])]
    for trait in sorted(EVERY_TRAIT):
        rows.append((trait, [each for each in answers if trait in each.traits]))
    title = f"worlds {numbers.start}-{numbers.stop - 1}"
    telling.table((title, *heads), [(name, *_counts(asked)) for name, asked in rows])


def _counts(asked: Sequence[Asked]) -> tuple[int | None, ...]:
    three = [each for each in asked if each.go]
    two = sum("dibs=python" in each.pairs for each in asked)
    if not three:
        return len(asked), two, None, None, None, None, None
    return (
        len(asked),
        two,
        len(three),
        *(sum(pair in each.pairs for each in three) for pair in ("dibs=go", "python=go")),
        sum(len(each.pairs) == 3 for each in three),
        sum(bool(each.explained) for each in three),
    )


def _tell_known(answers: Sequence[Asked]) -> None:
    times = Counter(each.explained for each in answers if each.explained)
    if times:
        print()
        telling.table(("known differences from upstream", "worlds"), times.most_common())


def _tell_unexplained(answers: Sequence[Asked], most: int) -> int:
    wrong = [each for each in answers if each.why and not each.explained]
    for each in wrong[:most]:
        print(f"\n{each.id} ({', '.join(sorted(each.traits)) or 'plain'}): {each.why}")
        print(f"  marks: {', '.join(sorted(known.marks(json.loads(each.smallest))))}")
        print(f"  {each.smallest}")
    if len(wrong) > most:
        print(f"\nand {len(wrong) - most} more (--all)")
    print(f"\n{len(wrong)} unexplained" if wrong else "\nno unexplained difference")
    return int(bool(wrong))
