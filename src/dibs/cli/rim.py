"""Where a command's outcome becomes words on stderr and an exit code (`codes` has them).

Mistakes name path, value and remedy and are caught here, once. Anything else that escapes is a
bug of ours: one line with how to report it, the traceback only with DIBS_DEBUG=1.
"""

from __future__ import annotations

import errno
import os
import platform
import sys
from collections.abc import Sequence
from typing import TextIO

import click

import dibs
from dibs.cli import commands, output
from dibs.cli.codes import BUG, CLOSED_PIPE, INTERRUPTED, MISTAKE, YES
from dibs.values.mistake import Mistake


def answer(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code."""
    tolerate_any_text(sys.stdout, sys.stderr)
    try:
        # Not `group.main`: it turns a closed pipe into exit code 1, which means no here.
        with commands.group.make_context("dibs", list(arguments)) as context:
            code = commands.group.invoke(context)
        output.flush()
        return code if isinstance(code, int) else YES
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.Abort:
        return INTERRUPTED
    except click.ClickException as wrong:
        output.complain(usage(wrong))
        return MISTAKE
    except Mistake as mistake:
        output.complain(str(mistake))
        return MISTAKE
    except BrokenPipeError:
        return CLOSED_PIPE
    except OSError as fault:
        # Help and conform write by themselves; a full disk is no bug there either.
        if fault.errno not in (errno.ENOSPC, errno.EDQUOT):
            return report(fault)
        output.complain(f"the output can't be written: {fault.strerror}")
        return MISTAKE
    except Exception as bug:  # noqa: BLE001 - the one place that reports a bug
        return report(bug)


def usage(wrong: click.ClickException) -> str:
    """What is wrong with the command line, and where its help is."""
    path = "dibs"
    if isinstance(wrong, click.UsageError) and wrong.ctx is not None:
        path = wrong.ctx.command_path
    return f"{wrong.format_message()}\nsee: {path} --help"


def report(bug: Exception) -> int:
    if os.environ.get("DIBS_DEBUG", "") not in ("", "0"):
        import traceback

        traceback.print_exception(bug)
    what = " ".join(f"{type(bug).__name__}: {bug}".split())
    output.complain(
        f"this is a bug of dibs, not of your input: {what[:300]}\n"
        f"please report it (CONTRIBUTING.md says where) with dibs {dibs.__version__}, Python "
        f"{platform.python_version()} and the output of the same command with DIBS_DEBUG=1"
    )
    return BUG


def tolerate_any_text(*streams: TextIO | None) -> None:
    """Print what a terminal's encoding lacks as \\x escapes, instead of giving up."""
    for stream in streams:
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")
