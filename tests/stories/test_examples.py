"""The examples: every command in their READMEs is run, its output and exit code compared.

A fenced block marked `console` holds commands after `$ ` and what they print on stdout; after
`$ echo $?` stands the exit code of the command before it. To write the present output into the
READMEs: DIBS_WRITE_EXAMPLES=1 pytest tests/stories/test_examples.py — then read the difference.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from dibs.cli.main import main

ROOT = Path(__file__).parents[2]
# What a running control plane prints is compared by `test_up_example`.
WITH_PLANE = ROOT / "examples" / "up" / "README.md"
READMES = [
    ROOT / "README.md",
    *(each for each in sorted((ROOT / "examples").glob("*/README.md")) if each != WITH_PLANE),
]
BLOCK = re.compile(r"(?<=```console\n).*?(?=```)", re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize("readme", READMES, ids=lambda file: file.parent.name)
def test_readme_shows_the_real_output(
    readme: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(readme.parent)
    shown = readme.read_text()
    real = BLOCK.sub(lambda block: replayed(block.group(), capsys), shown)
    if os.environ.get("DIBS_WRITE_EXAMPLES"):
        readme.write_text(real)
    assert shown == real


def test_every_example_shows_commands() -> None:
    for readme in READMES:
        assert "$ dibs " in "".join(BLOCK.findall(readme.read_text())), readme


def replayed(block: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The block with what its commands print now."""
    lines = []
    code = 0
    for line in block.splitlines():
        if line == "$ echo $?":
            lines += [line, str(code)]
        elif line.startswith("$ dibs "):
            code = main(shlex.split(line)[2:])
            lines += [line, *capsys.readouterr().out.splitlines()]
        else:
            assert not line.startswith("$ "), f"only dibs is run here, not: {line}"
    return "".join(f"{line.rstrip()}\n" for line in lines)
