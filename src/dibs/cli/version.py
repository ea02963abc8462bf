"""`dibs version`."""

from __future__ import annotations

import click

import dibs
from dibs.cli import output
from dibs.cli.commands import COMMANDS


@click.command("version", help=COMMANDS["version"])
def command() -> int:
    output.say(f"dibs {dibs.__version__}")
    return 0
