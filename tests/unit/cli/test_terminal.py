"""What is drawn on a terminal: colours unless NO_COLOR, names unbroken, nothing lost."""

from __future__ import annotations

import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections import Counter
from fcntl import ioctl
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

DEMO = Path(__file__).parents[3] / "examples" / "demo"
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def on_terminal(*arguments: str, columns: int = 100, **environment: str) -> str:
    """What the command shows on a terminal of this width."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    clean = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS", "TERM")}
    process = subprocess.Popen(
        [sys.executable, "-m", "dibs", *arguments, "-f", str(DEMO)],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env={**clean, "TERM": "xterm-256color", **environment},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:  # Linux reports the other side's end this way
            break
        if not chunk:
            break
        shown += chunk
    process.wait(timeout=30)
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


def test_a_tree_has_colours_and_the_same_words() -> None:
    shown = on_terminal("why", "pod/train")
    assert "\x1b[" in shown
    assert "3  memory is 40Gi, selector wants ≥ 80Gi\n" in ESCAPES.sub("", shown)


def test_no_color_is_honoured() -> None:
    for command in (["why", "pod/train"], ["devices"]):
        assert "\x1b[" not in on_terminal(*command, NO_COLOR="1")


def test_names_are_not_broken_while_there_is_room() -> None:
    shown = ESCAPES.sub("", on_terminal("devices"))
    assert "gpu.example.com" in shown
    assert max(map(len, shown.splitlines())) <= 100


def test_on_a_narrow_terminal_nothing_is_lost() -> None:
    narrow = ESCAPES.sub("", on_terminal("devices", columns=40))
    wide = ESCAPES.sub("", on_terminal("devices", columns=200))
    assert Counter(re.sub(r"\s", "", narrow)) == Counter(re.sub(r"\s", "", wide))
    assert max(map(len, narrow.splitlines())) <= 40
