"""Real cases, each a file of tests/cases/real: manifests, one command, its exit code and words.

`with` adds worlds that several cases share (tests/cases/real/worlds); `stdin` names the file that
is piped in. What is answered where, and what is left for later, is in docs/cases.md.
"""

from __future__ import annotations

import io
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from dibs.cli.main import main

CASES = Path(__file__).parents[1] / "cases" / "real"
FILES = sorted(CASES.glob("*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_case(
    file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    case: Mapping[str, Any] = yaml.safe_load(file.read_text())
    for world in case.get("with", ()):
        (tmp_path / f"{world}.yaml").write_text((CASES / "worlds" / f"{world}.yaml").read_text())
    for name, text in case["given"].items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    if piped := case.get("stdin"):
        content = (tmp_path / piped).read_bytes()
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    code = main(shlex.split(case["command"]))
    said = capsys.readouterr()
    assert code == case["then"]["exit"], said
    for words in case["then"]["says"]:
        assert words in said.out, f"{words!r} is not in:\n{said.out}\n{said.err}"
    for words in case["then"].get("never", ()):
        assert words not in said.out, f"{words!r} is in:\n{said.out}"


def test_every_case_is_in_the_table() -> None:
    table = (CASES.parents[2] / "docs" / "cases.md").read_text()
    rows = set(re.findall(r"^\| (C\d{3}) ", table, re.MULTILINE))
    assert {file.stem[:4] for file in FILES} <= rows
