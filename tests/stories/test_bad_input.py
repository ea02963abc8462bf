"""Wrong input, each case put to every command: refused, or explained, never a crash or a skip.

tests/cases/bad_input/*.yaml has a world and cases; `change` sets what stands at a path of the
world (objects by their key, lists by index), each command has its exit code and words that it
says. A command without an expectation still has to answer with one of the exit codes 0 to 2.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dibs.cli.main import main

CASES = Path(__file__).parents[1] / "cases" / "bad_input"
COMMANDS = {
    "lint": ["lint", "-o", "text", "world.yaml"],
    "allocate": ["allocate", "-o", "table", "-f", "world.yaml"],
    "why": ["why", "-o", "tree", "--no-validate", "pod/p", "-f", "world.yaml"],
    "devices": ["devices", "-o", "table", "--no-validate", "-f", "world.yaml"],
}


def cases() -> Iterator[Any]:
    for file in sorted(CASES.glob("*.yaml")):
        written = yaml.load(file.read_text(), yaml.CSafeLoader)
        for case in written["cases"]:
            yield pytest.param(written["world"], case, id=f"{file.stem}: {case['name']}")


def changed(world: dict[str, Any], change: dict[str, Any]) -> list[object]:
    objects = copy.deepcopy(world)
    for path, value in change.items():
        *way, last = path.split("/")
        place: Any = objects
        for step in way:
            place = place[int(step) if isinstance(place, list) else step]
        place[int(last) if isinstance(place, list) else last] = copy.deepcopy(value)
    return list(objects.values())


@pytest.mark.parametrize(("world", "case"), list(cases()))
def test_case(
    world: dict[str, Any],
    case: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    objects = changed(world, case.get("change", {}))
    Path("world.yaml").write_text(yaml.dump_all(objects, Dumper=yaml.CSafeDumper))
    for name, command in COMMANDS.items():
        code = main(command)
        said = "".join(capsys.readouterr())
        wanted, words = case.get(name, [code, ""])
        assert code == wanted, (name, said)
        assert code in (0, 1, 2), (name, said)
        assert words in said, f"{name}: {words!r} is not in:\n{said}"
