"""Exit codes, a contract with scripts: docs/cli.md, and designs/040 for the reasons."""

from __future__ import annotations

YES, NO, MISTAKE, BUG = 0, 1, 2, 3
INTERRUPTED = 130  # 128 + SIGINT, as a shell reports it
CLOSED_PIPE = 141  # 128 + SIGPIPE
