"""`dibs audit-log`: who did what, and who had which device when. Exit 0 if any, 1 if none."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import click
import msgspec

from dibs.api.access import audit
from dibs.api.access.audit import Entry, Filter
from dibs.cli import folders, options, output, paint
from dibs.cli.codes import NO, YES
from dibs.cli.commands import COMMANDS
from dibs.values.mistake import Mistake
from dibs.view.table import Row, Table


def moment(context: object, option: click.Parameter, text: str | None) -> str:
    """A time as ISO 8601, or an age such as 2h or 7d, as the log's own times are written."""
    if not text:
        return ""
    try:
        # A number alone would be an age of seconds, and of days, and a year.
        age_s = None if text.isdigit() else options.seconds(text)
        if age_s is None:
            found = datetime.fromisoformat(text).astimezone(UTC)
        else:
            found = datetime.now(UTC) - timedelta(seconds=age_s)
    except (ValueError, OverflowError):
        raise Mistake(
            f"{text!r} is no time",
            path=option.opts[0],
            remedy="an age such as 30m, 2h or 7d, or a time such as 2026-01-31T12:00:00Z",
        ) from None
    return found.isoformat(timespec="milliseconds")


@click.command("audit-log", help=COMMANDS["audit-log"])
@click.option("--data", metavar="DIR", help="The data folder of dibs up; ~/.local/share/dibs.")
@click.option("--device", default="", help="A device: gpu-3, POOL/gpu-3 or DRIVER/POOL/gpu-3.")
@click.option("--user", default="", help="Who did it.")
@click.option("-n", "--namespace", default="")
@click.option("--resource", default="", help="As in resourceclaims or pods.")
@click.option("--name", default="", help="Of the object.")
@click.option("--since", callback=moment, help="A time, or an age: 30m, 2h, 7d.")
@click.option("--until", callback=moment, help="Likewise.")
@click.option("--tail", type=click.IntRange(min=1), metavar="N", help="Only the last N lines.")
@options.output("table", "json")
def command(
    data: str | None,
    device: str,
    user: str,
    namespace: str,
    resource: str,
    name: str,
    since: str,
    until: str,
    tail: int | None,
    form: str | None,
) -> int:
    wanted = Filter(user, namespace, resource, name, device, since, until)
    told = audit.read(folders.data(data), wanted, newest=tail or 0)
    if told.unreadable:
        output.remark(f"warning: {told.unreadable} lines of the log can't be read")
    if (form or ("table" if output.is_terminal() else "json")) == "json":
        for entry in told.entries:
            output.say_json_line(msgspec.to_builtins(entry))
    else:
        paint.show_table(table(told.entries))
    return YES if told.entries else NO


COLUMNS = ("time", "user", "did", "to", "devices", "pods", "code")


def table(entries: Iterable[Entry]) -> Table:
    """For eyes: one line a write, what was got and what was given back in it."""
    rows = []
    for each in entries:
        got = [f"+{device}" for device in each.allocated]
        back = [f"-{device}" for device in each.released]
        where = f"{each.namespace}/" if each.namespace else ""
        resource = each.resource.partition(".")[0]
        about = each.path or f"{resource} {where}{each.name}".rstrip()
        verb = f"{each.verb} {each.subresource}".rstrip() + (" (dry run)" if each.dry_run else "")
        cells = (
            each.time,
            f"{each.user} as {each.acting_as}" if each.acting_as else each.user,
            verb,
            about + (f" on {each.node}" if each.node else ""),
            " ".join((*got, *back)),
            ", ".join(each.pods),
            str(each.code),
        )
        rows.append(Row(cells, "bad" if each.code >= 400 else "plain"))
    return Table(COLUMNS, tuple(rows)).without_empty(keep=("time", "user", "did", "to"))
