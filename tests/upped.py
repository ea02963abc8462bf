"""`dibs up` as it is shipped, in a process of its own, and the thin clients in this one.

with upped.plane(tmp_path / "data") as config: upped.said(config, "get", "pods").out
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dibs.cli.main import main

BIN = Path(sys.executable).parent
READY = "ready KUBECONFIG="


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str


def start(data: Path, *words: str, listen: str = "127.0.0.1:0") -> subprocess.Popen[str]:
    """Begin `dibs up`; nobody waits for it here."""
    return subprocess.Popen(
        [str(BIN / "dibs"), "up", "--data", str(data), "--listen", listen, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def plane(data: Path, *words: str) -> Iterator[Path]:
    """A plane on a free port; yields its kubeconfig. It must end well."""
    process = start(data, *words)
    try:
        yield ready(process)
        process.terminate()
        out, err = process.communicate(timeout=20)
        assert (process.returncode, out) == (0, ""), err
    finally:
        process.kill()
        process.communicate()


def ready(process: subprocess.Popen[str]) -> Path:
    """Wait until it serves; return its kubeconfig."""
    assert process.stdout
    line = process.stdout.readline()
    assert line.startswith(READY), line + process.communicate()[1]
    return Path(line.strip().removeprefix(READY))


def refused(data: Path, *words: str, listen: str = "127.0.0.1:0") -> str:
    """What a start says that ends with a mistake; tried in this process."""
    ended = run("up", "--data", str(data), "--listen", listen, *words)
    assert (ended.code, ended.out) == (2, ""), ended
    return ended.err


def said(config: Path, *words: str) -> Said:
    """Run one command line against a plane, in this process."""
    before = os.environ["KUBECONFIG"]
    os.environ["KUBECONFIG"] = str(config)
    try:
        return run(*words)
    finally:
        os.environ["KUBECONFIG"] = before


def run(*words: str) -> Said:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(words))
    text = err.getvalue()
    assert code != 3, text
    assert code != 2 or text.startswith(("dibs: ", "warning: ")), text
    return Said(code, out.getvalue(), text)


def kubectl(config: Path, *words: str, stdin: str = "") -> Said:
    done = subprocess.run(
        [str(BIN / "kubectl"), "--cache-dir", str(config.parent / "cache"), *words],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "KUBECONFIG": str(config)},
    )
    return Said(done.returncode, done.stdout, done.stderr)
