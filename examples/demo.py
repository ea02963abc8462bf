"""What dibs does, in a few commands: run by `make demo`, with or without a terminal.

Prints each command and its real output. Some answers are a no, so that the command ends with 1:
that is what is wanted here, and anything else is a fault of this script.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Each command, and the exit code it must have.
STEPS = [
    ("dibs allocate -f examples/demo -o table", 1),
    ("dibs why pod/train -f examples/demo -o tree", 1),
    ("dibs why pod/serve -f examples/demo -o tree", 0),
    (
        "dibs allocate -f examples/demo -o yaml 2>/dev/null"
        " | dibs devices -f examples/demo/cluster.yaml -f - -o table",
        0,
    ),
]


def main() -> int:
    for step, expected in STEPS:
        print(f"\n$ {step}", flush=True)
        # The same interpreter, wherever it is installed: the demo needs nothing on PATH.
        command = step.replace("dibs ", f'"{sys.executable}" -m dibs ')
        # One stream for both, so that remarks stand where they were made.
        done = subprocess.run(command, shell=True, cwd=ROOT, stderr=subprocess.STDOUT, check=False)
        if done.returncode != expected:
            print(f"it ended with {done.returncode}, and {expected} was expected", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
