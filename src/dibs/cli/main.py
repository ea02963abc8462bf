"""The door of `dibs`: runs a command and turns what went wrong into an exit code.

0 yes · 1 no (a refusal, a finding) · 2 their mistake · 3 ours · 130 Ctrl-C · 141 closed pipe.
This is the one place that catches `Mistake`, and the one that reports a bug. What a command does
is in its own module (`commands` has the list).
"""

from __future__ import annotations

# Nothing else: Ctrl-C while this file is read can't be caught, so that has to be short.
import os
import sys

from dibs.cli.codes import CLOSED_PIPE, INTERRUPTED


def run() -> None:
    """The console script."""
    code = main(sys.argv[1:])
    if code in (INTERRUPTED, CLOSED_PIPE):
        # Nobody reads any more, or nobody waits: don't let the interpreter flush and complain.
        os._exit(code)
    sys.exit(code)


def main(arguments: list[str]) -> int:
    """Run one command line; never raises, whatever is wrong is said on stderr."""
    try:
        # Imported here, so that Ctrl-C while Python is still loading is as quiet as later.
        from dibs.cli import rim

        return rim.answer(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
