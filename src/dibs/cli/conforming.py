"""`dibs conform` and `dibs conform cel`: questions as JSON lines in, answers as JSON lines out.

What the questions mean is in `conform` and `conform_cel`; the protocol is in docs/conformance.md.
"""

from __future__ import annotations

import sys

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

    return conform.run(sys.stdin.buffer, sys.stdout, order=order, timing=timing)


@command.command("cel", help="Answer questions about selectors: does it compile, match, cost.")
def cel() -> int:
    from dibs.cli import conform_cel

    return conform_cel.run(sys.stdin.buffer, sys.stdout)
