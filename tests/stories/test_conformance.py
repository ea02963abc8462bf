"""The runner tells right answers from wrong ones, and says which."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dibs.testing import builders as build
from dibs.testing.question import Question, tree

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow

QUESTION = tree(
    Question(
        id="one-of-one",
        node=build.node("node-a"),
        slices=(build.resource_slice(build.device("gpu-0"), node="node-a"),),
        classes=(build.device_class("gpu"),),
        claims=(build.claim("one"),),
    )
)
HERE = {"key": "metadata.name", "operator": "In", "values": ["node-a"]}
RIGHT = {
    "id": "one-of-one",
    "outcome": "allocated",
    "allocations": [
        {
            "devices": {
                "results": [
                    {
                        "request": "gpu",
                        "driver": "gpu.example.com",
                        "pool": "node-a",
                        "device": "gpu-0",
                    }
                ]
            },
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [HERE]}]},
        }
    ],
}
WRONG = {"id": "one-of-one", "outcome": "refused"}


def run(*arguments: str, shared: str = "/nowhere") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "conformance/run.py", *arguments],
        cwd=ROOT,
        env={**os.environ, "DIBS_SHARED": shared},
        capture_output=True,
        text=True,
        check=False,
    )


def corpus(folder: Path, **line: object) -> list[str]:
    (folder / "mine.jsonl").write_text(json.dumps({"question": QUESTION, **line}) + "\n")
    return ["--vectors", str(folder), "--corpus", "mine"]


def test_a_right_answer_is_equal(tmp_path: Path) -> None:
    done = run(*corpus(tmp_path, answer=RIGHT))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split("\n")[1].split() == ["mine", "1", "1", "1", "1", "0", "0"]


def test_a_difference_is_named_and_fails(tmp_path: Path) -> None:
    done = run(*corpus(tmp_path, answer=WRONG))
    assert done.returncode == 1
    assert "mine: one-of-one: outcome: allocated and refused" in done.stdout


def test_where_upstream_is_wrong_the_right_answer_counts(tmp_path: Path) -> None:
    done = run(*corpus(tmp_path, answer=WRONG, right=RIGHT, upstream_bug="#1"))
    assert done.returncode == 0
    assert done.stdout.split("\n")[1].split()[-1] == "1"


def test_an_answerer_that_ends_early_differs(tmp_path: Path) -> None:
    done = run(*corpus(tmp_path, answer=RIGHT), "--command", "true")
    assert done.returncode == 1
    assert "no answer" in done.stdout


def test_without_corpora_it_says_so() -> None:
    done = run()
    assert done.returncode == 0
    assert done.stdout == (
        "no corpora: /nowhere/vectors is not there (--vectors DIR, or DIBS_SHARED)\n"
    )


def test_generated_worlds_are_compared() -> None:
    done = run("--random", "20", "--seed", "7")
    assert done.returncode == 0
    assert "worlds 7-26" in done.stdout
    assert "no unexplained difference" in done.stdout


# --- asking upstream ---------------------------------------------------------------------------

# Says no to every allocation, and that no expression compiles.
NAYSAYER = """#!{python}
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    answer = {{"id": asked["id"], "outcome": "refused"}}
    if sys.argv[1:] == ["cel"]:
        answer = {{"id": asked["id"], "compile_error": "no"}}
    print(json.dumps(answer), flush=True)
"""


@pytest.fixture
def naysayer(tmp_path: Path) -> str:
    program = tmp_path / "naysayer"
    program.write_text(NAYSAYER.format(python=sys.executable))
    program.chmod(0o755)
    return str(program)


def test_an_unexplained_difference_fails_with_the_smallest_world(naysayer: str) -> None:
    done = run("--random", "6", "--jobs", "1", "--oracle", naysayer, "--all")
    assert done.returncode == 1
    assert "unexplained" in done.stdout
    worlds = [json.loads(line) for line in done.stdout.split("\n") if line.startswith("  {")]
    # A claim that asks for nothing is had anywhere: whoever refuses that, is wrong already there.
    assert worlds
    for world in worlds:
        assert len(world["claims"]) == 1
        assert not world["slices"]
        assert not world["allocated"]


def test_an_unexplained_selector_fails_with_the_smallest_expression(naysayer: str) -> None:
    done = run("--expressions", "20", "--jobs", "1", "--oracle", naysayer)
    assert done.returncode == 1
    assert '"expr": "true"' in done.stdout


def test_an_oracle_that_is_not_there_is_said() -> None:
    done = run("--random", "2", "--oracle", "/nowhere/oracle")
    assert done.returncode != 0
    assert "there is no such file" in done.stderr
