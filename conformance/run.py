"""Ask dibs every question of the corpora, and say where its answer is not the right one.

A corpus is a file of lines `{"question": …, "answer": …}` in the protocol of README.md beside
this file; a line with `upstream_bug` also has `right`, and that counts. Questions go to a process
(`dibs conform`, or any other that speaks the protocol), one a line, and come back in order.

`--random N` needs no corpus: it generates worlds, and asks dibs, brute force and upstream;
`--expressions N` generates selectors, and asks dibs and upstream.

Exit code 0: no unexplained difference (also when there is no corpus), 1: some, 2: wrong options.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import answerers
import selecting
import telling
import triple

from dibs.testing import agree

Tree = Mapping[str, Any]

ROOT = Path(__file__).parents[1]
DIBS = str(Path(sys.executable).with_name("dibs"))
# The corpora that must agree. `worst` is asked for by name: it has questions that take long.
USUAL = ("allocator", "bugs", "cel")
# Those that are put to upstream as well, if it's built: what it says today may be another thing.
UPSTREAMS = ("allocator", "bugs")
SHOWN = 20


@dataclass
class Tally:
    """How one corpus went. `core` counts questions that use none of the optional features."""

    corpus: str
    asked: int = 0
    core: int = 0
    equal: int = 0
    equal_core: int = 0
    bug_lines: int = 0
    differences: list[str] = field(default_factory=list)

    def add(self, id_: str, is_core: bool, is_bug: bool, why: str | None) -> None:
        self.asked += 1
        self.core += is_core
        self.bug_lines += is_bug
        if why is None:
            self.equal += 1
            self.equal_core += is_core
        else:
            self.differences.append(f"{id_}: {why}")


def main() -> int:
    options = _options()
    if options.oracle and not Path(options.oracle).is_file():
        print(f"--oracle {options.oracle}: there is no such file", file=sys.stderr)
        return 2
    if options.random is not None:
        return triple.run(
            options.random,
            options.seed,
            answerers.upstream(options.oracle),
            options.jobs,
            tells_all=options.all,
        )
    if options.expressions is not None:
        return selecting.run(
            options.expressions,
            options.seed,
            answerers.upstream(options.oracle),
            options.jobs,
            tells_all=options.all,
        )
    folder = _vectors(options.vectors)
    if not folder.is_dir():
        print(f"no corpora: {folder} is not there (--vectors DIR, or DIBS_SHARED)")
        return 0
    names = options.corpus or USUAL
    wrong = _report([_corpus(folder, name, options) for name in names], options)
    upstream = answerers.upstream(options.oracle)
    if upstream is None or options.corpus or options.id:
        return wrong
    for name in UPSTREAMS:
        questions = [line["question"] for line in _lines(folder / f"{name}.jsonl")]
        print()
        wrong |= triple.compare(name, questions, upstream, options.jobs, tells_all=options.all)
    return wrong


# --- corpora -----------------------------------------------------------------------------------


def _corpus(folder: Path, name: str, options: argparse.Namespace) -> Tally:
    tally = Tally(name)
    path = folder / f"{name}.jsonl"
    if not path.is_file():
        print(f"no corpus {name}: {path} is not there")
        return tally
    lines = _lines(path)
    if options.id:
        lines = [line for line in lines if options.id in line["question"]["id"]]
    differ = _differ_cel if name == "cel" else _differ_worst if name == "worst" else agree.agree
    command = [*shlex.split(options.command), *(["cel"] if name == "cel" else [])]
    answers = _answers(command, [line["question"] for line in lines])
    for line, answer in zip(lines, telling.shown(answers, name, len(lines)), strict=True):
        question = line["question"]
        wanted = line.get("right") or line["answer"]
        why = differ(answer, wanted)
        if why and "upstream_bug" in line:
            why += f" (upstream bug {line['upstream_bug']})"
        tally.add(question["id"], _is_core(question), "upstream_bug" in line, why)
    return tally


def _lines(path: Path) -> list[Tree]:
    # Not splitlines: expressions may hold other line separators than the newline.
    return [json.loads(line) for line in path.read_text().split("\n") if line.strip()]


def _answers(command: list[str], questions: list[Tree]) -> Iterator[Tree]:
    """One answer a question. An answerer that ends early leaves its last questions unanswered."""
    with tempfile.TemporaryFile("w+") as asked:
        for question in questions:
            asked.write(json.dumps(question) + "\n")
        asked.seek(0)
        with subprocess.Popen(command, stdin=asked, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            count = 0
            for line in process.stdout:
                yield json.loads(line)
                count += 1
        for _ in questions[count:]:
            yield {"outcome": f"no answer: exit code {process.returncode}"}


def _differ_worst(answer: Tree, wanted: Tree) -> str | None:
    """For hard shapes only the outcome is proven."""
    if answer.get("outcome") == wanted.get("outcome"):
        return None
    return f"outcome: {answer.get('outcome')} and {wanted.get('outcome')}"


def _differ_cel(answer: Tree, wanted: Tree) -> str | None:
    """Error texts are compared for being there; costs where the corpus gives them."""
    for name in ("compile_error", "runtime_error"):
        mine, right = answer.get(name), wanted.get(name)
        if (mine is None) != (right is None):
            return f"{name}: {mine!r} and {right!r}"
    for name in ("match", "max_cost", "actual_cost"):
        mine, right = answer.get(name), wanted.get(name)
        if (name == "match" or right is not None) and mine != right:
            return f"{name}: {mine!r} and {right!r}"
    return None


def _is_core(question: Tree) -> bool:
    """No counters, no shareable devices or capacity requests, no lists, no binding conditions."""
    for slice_ in question.get("slices", ()):
        if slice_["spec"].get("sharedCounters"):
            return False
        if not all(_is_plain(device) for device in slice_["spec"].get("devices") or ()):
            return False
    return all(
        "capacity" not in wish
        for claim in question.get("claims", ())
        for request in claim["spec"].get("devices", {}).get("requests") or ()
        for wish in [request.get("exactly") or {}, *(request.get("firstAvailable") or ())]
    )


def _is_plain(device: Tree) -> bool:
    special = ("consumesCounters", "allowMultipleAllocations", "bindingConditions")
    scalars = {"int", "bool", "string", "version"}
    return not any(device.get(name) for name in special) and all(
        set(attribute) <= scalars for attribute in (device.get("attributes") or {}).values()
    )


def _vectors(given: str | None) -> Path:
    if given:
        return Path(given)
    shared = os.environ.get("DIBS_SHARED")
    return (Path(shared) if shared else ROOT.parent / "shared") / "vectors"


# --- telling -----------------------------------------------------------------------------------


def _report(tallies: list[Tally], options: argparse.Namespace) -> int:
    telling.table(
        ("corpus", "asked", "equal", "core", "equal", "differ", "upstream bugs"),
        [
            (
                tally.corpus,
                tally.asked,
                tally.equal,
                tally.core,
                tally.equal_core,
                len(tally.differences),
                tally.bug_lines,
            )
            for tally in tallies
        ],
    )
    for tally in tallies:
        shown = tally.differences if options.all else tally.differences[:SHOWN]
        for difference in shown:
            print(f"{tally.corpus}: {difference}")
        if len(shown) < len(tally.differences):
            print(f"{tally.corpus}: and {len(tally.differences) - len(shown)} more (--all)")
    return int(any(tally.differences for tally in tallies))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--vectors", metavar="DIR", help="the folder of corpora")
    parser.add_argument(
        "--corpus", action="append", metavar="NAME", help=f"default: {', '.join(USUAL)}"
    )
    parser.add_argument("--id", metavar="TEXT", help="only questions whose id has this in it")
    parser.add_argument("--all", action="store_true", help=f"all differences, not {SHOWN}")
    parser.add_argument("--command", default=f"{DIBS} conform", help="who is asked")
    parser.add_argument("--random", type=int, metavar="N", help="N generated worlds, no corpus")
    parser.add_argument(
        "--expressions", type=int, metavar="N", help="N generated selectors, no corpus"
    )
    parser.add_argument("--seed", type=int, default=1, help="the first of them (default: 1)")
    parser.add_argument(
        "--oracle", metavar="FILE", help="who asks upstream (default: build/oracle, if it's there)"
    )
    parser.add_argument("--jobs", type=int, metavar="N", help="processes (default: one a core)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
