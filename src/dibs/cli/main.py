"""The door of `dibs`: runs a command line and ends the process with its exit code.

0 yes · 1 no (a refusal, a finding) · 2 their mistake · 3 ours · 130 Ctrl-C · 141 closed pipe.
What went wrong becomes words and a code in `rim`; what a command does is in its own module
(`commands` has the list).
"""

from __future__ import annotations

# Nothing else: Ctrl-C while this file is read can't be caught, so that has to be short.
import os
import sys

from dibs.cli.codes import CLOSED_PIPE, INTERRUPTED


def run() -> None:
    """The console script."""
    code = main(sys.argv[1:])
    if code in (INTERRUPTED, CLOSED_PIPE) or not is_written():
        # Nobody reads any more, nobody waits, or the disk is full, which has been said: don't let
        # the interpreter flush once more, complain in its own words and exit with 120.
        os._exit(code)
    sys.exit(code)


def is_written() -> bool:
    """Whether standard output has taken all that was given to it."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        return False
    return True


def main(arguments: list[str]) -> int:
    """Run one command line; never raises, whatever is wrong is said on stderr."""
    try:
        # Imported here, so that Ctrl-C while Python is still loading is as quiet as later.
        from dibs.cli import rim

        return rim.answer(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
