"""Ask dibs about questions in which devices are scarce, and prove every answer.

The questions are those of `dibs.testing.tight`: small ones, and a tenth as many of medium size.
Where dibs says no, CP-SAT (OR-tools, the extra `bench`) must find no solution; where it says yes,
the answer must be a solution (`validity`), and CP-SAT must find none that comes before it. In
packed order only the first half of that is asked. Brute force must agree wherever it comes to an
end. How long dibs took is told, in processor time, from objects to outcome.

Exit code 0: dibs was right throughout, 1: it was wrong (slow is not wrong), 2: wrong options.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import lies
import proving
import smallest
import telling
from proving import LIMIT_MS, Proved

from dibs.cli import conform
from dibs.testing import question, tight
from dibs.testing.question import Question
from dibs.testing.tight import MEDIUM, SMALL, Size
from dibs.values.mistake import Mistake

# Questions that a process of its own does at once.
CHUNK = 50
SIZES = {size.name: size for size in (SMALL, MEDIUM)}
FOLDER = Path(__file__).parents[1] / "build" / "exact"


def main() -> int:
    options = _options()
    if believed := lies.unnoticed():
        print(f"the proof is blind, it believes: {'; '.join(believed)}")
        return 1
    if options.replay:
        return _replay(Path(options.replay))
    asked = []
    medium = options.n // 10 if options.medium is None else options.medium
    for size, count in ((SMALL, options.n), (MEDIUM, medium)):
        asked += _in_chunks(size, range(options.seed, options.seed + count), options.jobs)
    _tell(asked)
    folder = Path(options.failures)
    wrong = [each for each in asked if each.wrong]
    for each in wrong:
        print(f"\n{each.id}: {'; '.join(each.wrong)}\n  {_shrunk(each, folder)}")
    slow = [each for each in asked if each.worst()[0] > LIMIT_MS]
    for each in slow:
        _written(_asked(each), each, folder)
    worst = max(asked, key=lambda each: each.worst(), default=None)
    if worst is not None:
        path = _written(_asked(worst), replace(worst, id="worst"), folder)
        took_ms, how = worst.worst()
        print(f"\nthe worst took {took_ms:.1f} ms ({worst.id}, {how}): {path}")
    print(f"{len(slow)} took more than {LIMIT_MS:.0f} ms" + (f": {folder}" if slow else ""))
    print(f"{len(wrong)} wrong answers" if wrong else "no wrong answer")
    return int(bool(wrong))


def _in_chunks(size: Size, seeds: range, jobs: int | None) -> list[Proved]:
    chunks = [seeds[at : at + CHUNK] for at in range(0, len(seeds), CHUNK)]
    found: list[Proved] = []
    with ProcessPoolExecutor(jobs or os.cpu_count()) as pool:
        answers = pool.map(_chunk, [size.name] * len(chunks), chunks)
        for some in telling.shown(answers, f"{size.name}, {CHUNK} at a time:", len(chunks)):
            found += some
    return found


def _chunk(size: str, seeds: Sequence[int]) -> list[Proved]:
    return [proving.prove(tight.question(seed, SIZES[size])) for seed in seeds]


# --- telling -----------------------------------------------------------------------------------


def _tell(asked: Sequence[Proved]) -> None:
    heads = (
        "possible",
        "impossible",
        "error",
        "proven",
        "brute",
        "wrong",
        "p50",
        "p99",
        "worst",
        "explained",
    )
    rows: list[tuple[str, Sequence[Proved]]] = [
        (size, [each for each in asked if each.id.startswith(size)]) for size in SIZES
    ]
    for trait in sorted({trait for each in asked for trait in each.traits}):
        rows.append((trait, [each for each in asked if trait in each.traits]))
    shown = ((name, len(some), *_counts(some)) for name, some in rows if some)
    telling.table(("ms of processor time at the right", "asked", *heads), shown)


def _counts(asked: Sequence[Proved]) -> Iterator[object]:
    for outcome in ("possible", "impossible", "error"):
        yield sum(each.truth == outcome for each in asked)
    yield sum(each.truth != "unknown" for each in asked)
    yield sum(each.is_brute_sure for each in asked)
    yield sum(bool(each.wrong) for each in asked)
    times = sorted(each.worst(explained=False)[0] for each in asked)
    for part in (0.5, 0.99, 1):
        yield f"{times[min(len(times) - 1, int(part * len(times)))]:.1f}"
    yield f"{max(each.worst(explained=True)[0] for each in asked):.1f}"


# --- failures ----------------------------------------------------------------------------------


def _asked(proved: Proved) -> Question:
    """The question, made once more: keeping them all would take more memory than they are worth."""
    size, _, seed = proved.id.rpartition("-")
    return tight.question(int(seed), SIZES[size])


def _written(asked: Question, proved: Proved, folder: Path) -> Path:
    """Write the question as a line for `dibs conform`, and beside it what is wrong with it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{proved.id}.json"
    path.write_text(json.dumps(question.tree(asked)) + "\n")
    why = {
        "id": asked.id,
        "truth": proved.truth,
        "wrong": proved.wrong,
        "elapsed_ms": {how: round(each, 1) for how, each in proved.times_ms.items()},
        "traits": sorted(proved.traits),
    }
    path.with_suffix(".why.json").write_text(json.dumps(why, indent=2) + "\n")
    return path


def _shrunk(proved: Proved, folder: Path) -> Path:
    """Write the smallest question that is wrong in the same way."""
    kinds = _kinds(proved)

    def is_wrong(tree: smallest.Tree) -> bool:
        try:
            return _kinds(proving.prove(_question(tree))) == kinds
        except (KeyError, AssertionError, Mistake):
            return False  # what is named, a class or a counter or an attribute, is gone

    small = _question(smallest.smallest(question.tree(_asked(proved)), is_wrong))
    return _written(small, proving.prove(small), folder)


def _kinds(proved: Proved) -> set[str]:
    return {each.partition(":")[0] for each in proved.wrong}


def _question(tree: smallest.Tree) -> Question:
    read = conform.read(tree)
    classes = tuple(read.classes.values())
    return Question(
        read.id, read.node, read.slices, classes, read.claims, read.allocated, read.features
    )


def _replay(path: Path) -> int:
    """Prove the questions of a file once more, one a line."""
    wrong = 0
    for line in path.read_text().splitlines():
        proved = proving.prove(_question(json.loads(line)))
        times = "; ".join(f"{how} {each:.1f} ms" for how, each in proved.times_ms.items())
        print(f"{proved.id}: {proved.truth}; {times}; {'; '.join(proved.wrong) or 'right'}")
        wrong += bool(proved.wrong)
    return int(bool(wrong))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("-n", type=int, default=10_000, help="small questions (default: 10000)")
    parser.add_argument("--medium", type=int, metavar="N", help="medium ones (default: a tenth)")
    parser.add_argument("--seed", type=int, default=1, help="the first of them (default: 1)")
    parser.add_argument("--jobs", type=int, metavar="N", help="processes (default: one a core)")
    parser.add_argument("--failures", metavar="DIR", default=str(FOLDER), help="where they go")
    parser.add_argument("--replay", metavar="FILE", help="prove the questions in it, no others")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
