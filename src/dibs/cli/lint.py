"""`dibs lint PATH…`: every finding with its place and remedy. Exit 1 if there is any."""

from __future__ import annotations

import click

from dibs.cli import options, output, source
from dibs.cli.codes import NO, YES
from dibs.cli.commands import COMMANDS
from dibs.client import dump
from dibs.lint import check, finding
from dibs.view import words


@click.command("lint", help=COMMANDS["lint"])
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@options.output("text", "json")
def command(paths: tuple[str, ...], form: str | None) -> int:
    progress = source.Progress("reading")
    loaded = dump.load(paths, stdin=source.standard_input(paths), progress=progress.files)
    progress.end()
    found = check.check(loaded)
    if (form or ("text" if output.is_terminal() else "json")) == "json":
        for each in found:
            output.say_json_line(finding.row(each))
    else:
        for each in found:
            output.say(finding.text(each))
    source.remark_on_skipped(loaded)
    errors = sum(each.severity == "error" for each in found)
    warnings = len(found) - errors
    output.remark(
        f"{words.counted(len(loaded.entries), 'object')} in "
        f"{words.counted(len(loaded.files), 'file')}: {words.counted(errors, 'error')}, "
        f"{words.counted(warnings, 'warning')}"
    )
    return NO if found else YES
