"""Generated selectors asked of dibs and of upstream: do they compile, match, fail, at what cost.

A difference is explained by rows of `expressions.yaml`, one for each member of the answer that
differs: a row has a pattern that the smallest expression in which the member still differs has.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import expressions
import telling
import yaml
from answerers import Answerer
from expressions import Part

from dibs.cli import conform_cel

Tree = Mapping[str, Any]

FILE = Path(__file__).with_name("expressions.yaml")
CHUNK = 200
SHOWN = 20
DEVICES = 50
# Texts of errors are compared for being there, the others exactly.
ERRORS = ("compile_error", "runtime_error")
MEMBERS = (*ERRORS, "match", "max_cost", "actual_cost")


@dataclass(frozen=True, slots=True)
class Known:
    """A row of the file."""

    name: str
    differs: frozenset[str]
    pattern: re.Pattern[str]
    says: str

    def explains(self, member: str, part: Part, theirs: Tree) -> bool:
        text = " ".join(theirs.get(name) or "" for name in ERRORS)
        is_there = self.pattern.search(str(part)) and re.search(self.says, text)
        return member in self.differs and bool(is_there)


@dataclass(frozen=True, slots=True)
class Asked:
    """One expression: what came of it, the members that differ, and the smallest that does."""

    number: int
    outcome: str
    differs: tuple[str, ...] = ()
    explained: str = ""
    smallest: str = ""


def run(count: int, seed: int, upstream: str | None, jobs: int | None, *, tells_all: bool) -> int:
    """Ask, tell, and return the exit code."""
    if upstream is None:
        print("no expression asked: conformance/oracle isn't built (make oracle; needs Go)")
        return 0
    numbers = range(seed, seed + count)
    chunks = [numbers[at : at + CHUNK] for at in range(0, count, CHUNK)]
    answers: list[Asked] = []
    with ProcessPoolExecutor(jobs or os.cpu_count()) as pool:
        found = pool.map(_chunk, chunks, [upstream] * len(chunks))
        for some in telling.shown(found, f"expressions of {CHUNK}", len(chunks)):
            answers += some
    return _tell(numbers, answers, tells_all=tells_all)


def known(file: Path = FILE) -> tuple[Known, ...]:
    return tuple(
        Known(
            row["name"],
            frozenset(row["differs"]),
            re.compile(row["pattern"]),
            row.get("says", ""),
        )
        for row in yaml.safe_load(file.read_text())
    )


# --- asking ------------------------------------------------------------------------------------


def _chunk(numbers: Sequence[int], upstream: str) -> list[Asked]:
    go, rows = Answerer([upstream, "cel"]), known()
    try:
        return [_ask(number, go, rows) for number in numbers]
    finally:
        go.close()


def _ask(number: int, go: Answerer, rows: Sequence[Known]) -> Asked:
    part = expressions.expression(number)
    frame = {
        "id": f"expression-{number}",
        "mode": "new" if number % 2 else "stored",
        "device": expressions.device(number % DEVICES),
    }
    answer = conform_cel.answer({**frame, "expr": str(part)})
    outcome = next((name for name in ERRORS if answer[name] is not None), str(answer["match"]))
    differs = _differing(part, frame, go)
    explained: dict[str, None] = {}
    for member in differs:
        small = _smallest(part, member, frame, go)
        theirs = go.ask({**frame, "expr": str(small)})
        row = next((row for row in rows if row.explains(member, small, theirs)), None)
        if row is None:
            asked = json.dumps({**frame, "expr": str(small)})
            return Asked(number, outcome, differs, "", f"{member}: {asked}")
        explained[row.name] = None
    return Asked(number, outcome, differs, "; ".join(explained))


def _differing(part: Part, frame: Tree, go: Answerer) -> tuple[str, ...]:
    asked = {**frame, "expr": str(part)}
    mine, theirs = conform_cel.answer(asked), go.ask(asked)
    return tuple(name for name in MEMBERS if _seen(name, mine) != _seen(name, theirs))


def _seen(name: str, answer: Tree) -> object:
    found = answer.get(name)
    return found is not None if name in ERRORS else found


def _smallest(part: Part, member: str, frame: Tree, go: Answerer) -> Part:
    """Something smaller that differs in the same member, until nothing smaller does."""
    while True:
        for less in part.smaller():
            if len(str(less)) < len(str(part)) and member in _differing(less, frame, go):
                part = less
                break
        else:
            return part


# --- telling -----------------------------------------------------------------------------------


def _tell(numbers: range, answers: Sequence[Asked], *, tells_all: bool) -> int:
    rows = [("all", answers)]
    for outcome in sorted({each.outcome for each in answers}):
        rows.append((outcome, [each for each in answers if each.outcome == outcome]))
    telling.table(
        (f"expressions {numbers.start}-{numbers.stop - 1}", "asked", "dibs=go", "explained"),
        [
            (name, len(some), *(sum(map(bool, each)) for each in _columns(some)))
            for name, some in rows
        ],
    )
    times = Counter(name for each in answers for name in each.explained.split("; ") if name)
    if times:
        print()
        telling.table(("known differences from upstream", "expressions"), times.most_common())
    wrong = [each for each in answers if each.differs and not each.explained]
    for each in wrong if tells_all else wrong[:SHOWN]:
        print(f"\n{each.smallest}")
    print(f"\n{len(wrong)} unexplained" if wrong else "\nno unexplained difference")
    return int(bool(wrong))


def _columns(some: Sequence[Asked]) -> tuple[list[bool], list[bool]]:
    return [not each.differs for each in some], [bool(each.explained) for each in some]
