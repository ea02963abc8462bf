"""Who can be asked: a process that answers one line with one line, and where upstream's is.

The processes are `conformance/oracle` and anything else that speaks the protocol of README.md.
What is asked, and what an answer means, is the callers'.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Tree = Mapping[str, Any]

# Where `make oracle` puts it.
BUILT = Path(__file__).parents[1] / "build" / "oracle"


def upstream(given: str | None) -> str | None:
    """The program that asks upstream: the one given, else the one that was built, else none."""
    return given or (str(BUILT) if BUILT.is_file() else None)


class Answerer:
    """A process to which questions go one by one; it is started anew after it broke off."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._process: subprocess.Popen[str] | None = None

    def ask(self, question: Tree) -> dict[str, Any]:
        """Its answer; an outcome of its own when the process ended without one."""
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(question) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        self.close()
        return {"outcome": f"no answer: exit code {process.returncode}"}

    def close(self) -> None:
        if self._process is not None:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.close()
            self._process.stdout.close()
            self._process.wait()
            self._process = None

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, text=True)
        return self._process
