"""Runs build/clients (client-go's own parts) against an API server in memory.

Prints what it says; ends with its code, or with 0 and a word if it is not built.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from dibs.testing import apiserver

CLIENTS = Path(__file__).parents[1] / "build" / "clients"
TIMEOUT_S = 120


def main() -> int:
    if not CLIENTS.exists():
        print(f"{CLIENTS} is not there: make clients builds it, and needs Go")
        return 0
    with apiserver.running() as server:
        return subprocess.run([CLIENTS, server.url], timeout=TIMEOUT_S).returncode


if __name__ == "__main__":
    sys.exit(main())
