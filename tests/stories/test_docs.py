"""The documents are true: what they name is there, and what is there they name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dibs.cli.commands import COMMANDS

ROOT = Path(__file__).parents[2]
HIDDEN = {".venv", ".git", "node_modules", ".pytest_cache", ".hypothesis"}
DOCUMENTS = sorted(
    path
    for path in ROOT.rglob("*.md")
    if not HIDDEN.intersection(path.relative_to(ROOT).parts) and "build" not in path.parts
)
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE))


def console_lines(text: str) -> list[str]:
    """The commands of a document: what follows `$` in its console blocks."""
    blocks = re.findall(r"```(?:console|sh|bash|shell)\n(.*?)```", text, re.DOTALL)
    return [
        line.removeprefix("$ ").strip()
        for block in blocks
        for line in block.splitlines()
        if line.startswith("$ ")
    ]


def ids(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("document", DOCUMENTS, ids=ids)
def test_links_resolve(document: Path) -> None:
    text = re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    local = [link.partition("#")[0] for link in links if not re.match(r"[a-z]+:|#", link)]
    missing = [link for link in local if not (document.parent / link).exists()]
    assert not missing


@pytest.mark.parametrize("document", DOCUMENTS, ids=ids)
def test_commands_exist(document: Path) -> None:
    words = [line.split() for line in console_lines(document.read_text())]
    verbs = {line[1] for line in words if len(line) > 1 and Path(line[0]).name == "dibs"}
    targets = {line[1] for line in words if len(line) > 1 and line[0] == "make"}
    assert {verb for verb in verbs if not verb.startswith("-")} <= set(COMMANDS)
    assert {target for target in targets if "=" not in target} <= TARGETS


def test_readme_shows_how_to_begin() -> None:
    commands = console_lines((ROOT / "README.md").read_text())
    assert any(line.startswith("make demo") for line in commands)
    assert any(line.startswith("make test") for line in commands)


@pytest.mark.parametrize("verb", COMMANDS)
def test_every_verb_is_documented(verb: str) -> None:
    pages = [ROOT / "README.md", ROOT / "docs" / "cli.md"]
    assert any(re.search(rf"\bdibs {verb}\b", page.read_text()) for page in pages if page.exists())


def test_every_target_is_documented() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    undocumented = {target for target in TARGETS if not re.search(rf"`[^`]*\b{target}\b", text)}
    assert undocumented <= {"clean"}


def test_glossary_is_short_and_in_order() -> None:
    words = re.findall(r"^\| \*\*(.+?)\*\* \|", (ROOT / "GLOSSARY.md").read_text(), re.MULTILINE)
    assert len(words) <= 40
    assert words == sorted(set(words))


PYTHON = [
    (page, block)
    for page in sorted((ROOT / "docs").glob("*.md"))
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
]


@pytest.mark.parametrize(("page", "block"), PYTHON, ids=[page.name for page, _ in PYTHON])
def test_examples_in_python_run(page: Path, block: str) -> None:
    exec(compile(block, str(page), "exec"), {})
