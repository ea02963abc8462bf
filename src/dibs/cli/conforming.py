"""`dibs conform` and `dibs conform cel`: questions as JSON lines in, answers as JSON lines out.

The protocol is spoken in `conform` and `conform_cel`; here are only their command lines.
"""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import BinaryIO, TextIO

import click

from dibs.allocate.orders import Order
from dibs.cli import options
from dibs.cli.commands import COMMANDS


@click.group("conform", help=COMMANDS["conform"], invoke_without_command=True)
@options.order
@click.option("--timing", is_flag=True, help="Add elapsed_ms to every answer.")
@click.pass_context
def command(context: click.Context, order: Order, timing: bool) -> int | None:
    if context.invoked_subcommand is not None:
        return None
    from dibs.cli import conform

    return conform.run(questions(), answers(context), order=order, timing=timing)


@command.command("cel", help="Answer questions about selectors: does it compile, match, cost.")
@click.pass_context
def cel(context: click.Context) -> int:
    from dibs.cli import conform_cel

    # A line that is no UTF-8 is a mistake in that line; the next one is answered all the same.
    lines = io.TextIOWrapper(questions(), encoding="utf-8", errors="backslashreplace")
    return conform_cel.run(lines, answers(context))


def questions() -> BinaryIO:
    """Standard input. Raises Mistake where the shell has closed it, as Python then has none."""
    if sys.stdin is None:
        from dibs.values.mistake import Mistake

        raise Mistake("standard input is closed", path="-", remedy="pipe questions into it")
    return sys.stdin.buffer


def answers(context: click.Context) -> TextIO:
    """Standard output; where that is closed nobody asks for the answers."""
    if sys.stdout is not None:
        return sys.stdout
    return context.with_resource(Path(os.devnull).open("w", encoding="utf-8"))
