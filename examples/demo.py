"""A control plane on this box, and four Pods that want GPUs: run by `make demo`.

Prints each command and its real output. Nothing is left behind: the data folder is a temporary
one. Some answers are a no, so that the command ends with 1: that is what is wanted here, and
anything else is a fault of this script.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UP = "dibs up --fleet examples/fleet.yaml"
READY = "ready KUBECONFIG="
# Each command, and the exit code it must have.
STEPS = [
    ("dibs get nodes,slices", 0),
    ("dibs apply -f examples/up", 0),
    ("dibs wait -n lab --for allocated $(dibs get claims -n lab -o name | grep -v greedy)", 0),
    ("dibs get pods,claims -n lab", 0),
    ("dibs why pod/greedy -n lab -o tree", 1),
    ("dibs why pod/serve -n lab -o tree", 0),
    ("dibs devices --node l4 -o table", 0),
    ("dibs delete pod serve -n lab", 0),
    ("dibs audit-log --device l4/gpu-0 --data $DATA -o table", 0),
]


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="dibs-demo-") as folder:
        data = Path(folder) / "data"
        print(f"$ {UP}", flush=True)
        with plane(data) as kubeconfig:
            environment = {**os.environ, "KUBECONFIG": kubeconfig, "DATA": str(data)}
            for step, expected in STEPS:
                print(f"\n$ {step}", flush=True)
                if (code := run(step, environment)) != expected:
                    print(f"ended with {code}, and {expected} was expected", file=sys.stderr)
                    return 1
    return 0


def run(step: str, environment: dict[str, str]) -> int:
    # One stream for both, so that remarks stand where they were made.
    return subprocess.run(
        ours(step), shell=True, cwd=ROOT, stderr=subprocess.STDOUT, env=environment, check=False
    ).returncode


def ours(command: str) -> str:
    """The same interpreter, wherever it is installed: the demo needs nothing on PATH."""
    return command.replace("dibs ", f'"{sys.executable}" -m dibs ')


@contextmanager
def plane(data: Path) -> Iterator[str]:
    """Run a control plane until the block ends; gives its kubeconfig."""
    arguments = UP.removeprefix("dibs ").split()
    command = [sys.executable, "-m", "dibs", *arguments]
    command += ["--data", str(data), "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline().strip()
            if not line.startswith(READY):
                raise SystemExit(f"the control plane did not come up: {line or 'see above'}")
            print(f"{READY}…/kubeconfig", flush=True)
            yield line.removeprefix(READY)
        finally:
            process.terminate()
            process.wait(timeout=30)


if __name__ == "__main__":
    sys.exit(main())
