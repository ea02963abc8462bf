"""docs/cli.md against the commands: every command, option, code and key is told there."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import click
import pytest

from dibs.cli.commands import COMMANDS, MODULES
from dibs.cli.main import main
from dibs.view.devices import TONES

ROOT = Path(__file__).parents[3]
DEMO = ROOT / "examples" / "demo"
TEXT = (ROOT / "docs" / "cli.md").read_text()


def section(name: str) -> str:
    """What is said of one command, and before all of them."""
    general, *rest = TEXT.split("\n## dibs ")
    return general + next(part for part in rest if part.startswith(name))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_told(name: str) -> None:
    command = importlib.import_module(f"dibs.cli.{MODULES.get(name, name)}").command
    told = section(name)
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert any(option in told for option in parameter.opts), parameter.opts


def test_every_exit_code_is_told() -> None:
    for code in (0, 1, 2, 3, 130, 141):
        assert str(code) in section("version")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("why", ["why", "pod/train", "-f", str(DEMO)]),
        ("devices", ["devices", "-f", str(DEMO)]),
    ],
)
def test_every_key_is_told(
    name: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    main(arguments)
    out = capsys.readouterr().out
    record = json.loads(out if name == "why" else out.splitlines()[0])
    for key in record:
        assert f"`{key}`" in section(name)


def test_every_state_is_told() -> None:
    for state in TONES:
        assert f"`{state}`" in section("devices")
