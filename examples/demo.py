"""What dibs does, in three commands: run by `make demo`, with or without a terminal.

Prints each command and its real output. The second Pod's answer is a no, so that the commands
end with 1: that is what is wanted here, and anything else is an error of this script.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
INPUT = ["-f", "examples/demo"]
# The command, the form it takes without a terminal, and the exit code it must have.
STEPS = [
    (["allocate", *INPUT], "table", 1),
    (["why", "pod/train", *INPUT], "tree", 1),
    (["why", "pod/serve", *INPUT], "tree", 0),
    (["devices", *INPUT], "table", 0),
]


def main() -> int:
    for arguments, form, expected in STEPS:
        print(f"\n$ dibs {' '.join(arguments)}", flush=True)
        forced = [] if sys.stdout.isatty() else ["-o", form]
        command = [sys.executable, "-m", "dibs", *arguments, *forced]
        code = subprocess.run(command, cwd=HERE.parent, check=False).returncode
        if code != expected:
            print(f"dibs ended with {code}, and {expected} was expected", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
