"""Exit codes and words at the rim: help, unknown commands, bugs, closed pipes, Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dibs.cli import rim
from dibs.cli.commands import COMMANDS
from dibs.cli.main import main

DIBS = [sys.executable, "-m", "dibs"]


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    for name, line in COMMANDS.items():
        assert name in out
        assert line in out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    assert COMMANDS[name].rstrip(".") in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    assert capsys.readouterr().out.startswith("dibs ")


def test_without_arguments_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "allocate" in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["allocat"], "did you mean allocate?"),
        (["allocate", "--ordr", "packed"], "--ordr"),
        (["allocate", "--order", "random"], "first-fit"),
        (["why"], "KIND/NAME"),
        (["why", "train"], "as in pod/train-0"),
        (["why", "pood/train"], "ask about a pod or a claim"),
        (["allocate"], "there is no cluster"),
        (["lint"], "PATH"),
    ],
)
def test_wrong_command_lines(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert not out
    assert err.startswith("dibs: ")
    assert said in err


def test_a_bug_is_one_line_and_how_to_report_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DIBS_DEBUG", raising=False)
    assert rim.report(ValueError("two\nlines")) == 3
    err = capsys.readouterr().err
    assert "ValueError: two lines" in err
    assert "report it" in err
    assert "Traceback" not in err


def test_a_bug_has_its_traceback_when_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIBS_DEBUG", "1")
    assert rim.report(ValueError("why")) == 3
    assert "ValueError: why" in capsys.readouterr().err.split("this is a bug", maxsplit=1)[0]


@pytest.mark.slow
def test_a_closed_pipe_is_quiet() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as out:
        done = subprocess.run([*DIBS, "version"], stdout=out, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 141
    assert done.stderr == b""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("command", ["version", "--help", "conform"])
def test_a_full_disk_is_told(command: str, unbuffered: str) -> None:
    """Unbuffered it shows when writing, otherwise at the end, when Python itself would complain."""
    with Path("/dev/full").open("w") as out:
        done = subprocess.run(
            [*DIBS, command],
            input=b"{}\n",
            stdout=out,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            check=False,
        )
    assert done.returncode == 2
    assert b"output can't be written: No space left on device" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("command", ["conform", "conform cel"])
@pytest.mark.parametrize(("closed", "code"), [(">&-", 0), ("<&-", 2)])
def test_questions_and_closed_streams(command: str, closed: str, code: int) -> None:
    script = f'exec "$@" {closed}'
    done = subprocess.run(
        ["sh", "-c", script, "sh", *DIBS, *command.split()],
        input=b"{}\n",
        capture_output=True,
        check=False,
    )
    assert done.returncode == code
    assert (b"standard input is closed" in done.stderr) == (code == 2)
    assert b"bug" not in done.stderr


@pytest.mark.slow
def test_ctrl_c_is_quiet() -> None:
    command = [*DIBS, "allocate", "-f", "-"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    time.sleep(1.0)  # it waits for standard input by now
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert process.returncode == 130
    assert (out, err) == (b"", b"")


@pytest.mark.slow
def test_help_imports_nothing_of_the_engine() -> None:
    """`dibs --help` within 150 ms: rich, yaml and the deciding rooms stay out."""
    code = (
        "import sys; from dibs.cli.main import main; main(['--help']); "
        "print(sorted(set(sys.modules) & {'rich', 'yaml', 'msgspec', 're2', 'dibs.model', "
        "'dibs.allocate', 'dibs.schedule', 'dibs.cel'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.slow
def test_the_door_imports_nothing() -> None:
    """Ctrl-C can't be caught before it is read, so nothing else is read with it."""
    code = (
        "import sys, os; before = set(sys.modules); import dibs.cli.main; "
        "print(sorted(set(sys.modules) - before - {'__future__'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['dibs', 'dibs.cli', 'dibs.cli.codes', 'dibs.cli.main']"
