"""Options and arguments that several commands share, each said once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., object])


def files(command: Command) -> Command:
    """`-f`, repeatable, and whether what it reads is validated."""
    command = click.option(
        "--no-validate",
        is_flag=True,
        help="Decide also on objects that an API server would refuse.",
    )(command)
    return click.option(
        "-f",
        "--filename",
        "paths",
        multiple=True,
        metavar="PATH",
        help="A file or folder of manifests, or - for standard input; may be repeated.",
    )(command)


def order(command: Command) -> Command:
    return click.option(
        "--order",
        type=click.Choice(["first-fit", "packed"]),
        default="first-fit",
        show_default=True,
        help="Nodes by name, or those first that have the fewest free devices.",
    )(command)


def output(*forms: str) -> Callable[[Command], Command]:
    """`-o`; the first form is the one for eyes, and `table` means it in every command."""
    return click.option(
        "-o",
        "--output",
        "form",
        type=click.Choice(list(dict.fromkeys((*forms, "table")))),
        callback=lambda context, option, form: forms[0] if form == "table" else form,
        help=f"How to print; if not said, {forms[0]} on a terminal and JSON in a pipe.",
    )


def verbose(command: Command) -> Command:
    return click.option(
        "-v", "--verbose", is_flag=True, help="Every node and every device, one by one."
    )(command)
