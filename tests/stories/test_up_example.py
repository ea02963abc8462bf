"""The demo: a control plane on this box; its output is what examples/up/README.md shows.

Ages, times and the width they take are masked. To write the present output into the README:
DIBS_WRITE_EXAMPLES=1 pytest tests/stories/test_up_example.py — then read the difference.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = ROOT / "examples" / "up" / "README.md"
BLOCK = re.compile(r"(?<=```console\n).*?(?=```)", re.DOTALL)
AGE = re.compile(r"\b\d+(s|m\d*s?)\b")
TIME = re.compile(r"\b\d{4}-\d\d-\d\dT[\d:.]+\+00:00")


@pytest.mark.slow
def test_the_demo_shows_what_its_readme_says() -> None:
    command = [sys.executable, str(ROOT / "examples" / "demo.py")]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, env={**os.environ, "NO_COLOR": "1"}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    real = "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())
    shown = README.read_text()
    if os.environ.get("DIBS_WRITE_EXAMPLES"):
        README.write_text(BLOCK.sub(lambda _: real, shown))
        return
    [block] = BLOCK.findall(shown)
    assert masked(block) == masked(real)


def masked(text: str) -> str:
    timeless = TIME.sub("TIME", AGE.sub("AGE", text))
    return re.sub(r"[ -]{2,}", "  ", timeless)
