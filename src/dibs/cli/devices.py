"""`dibs devices`: who has which device."""

from __future__ import annotations

from collections.abc import Callable

import click

from dibs.cli import options, output, paint, source
from dibs.cli.allocate import check_node
from dibs.cli.codes import YES
from dibs.cli.commands import COMMANDS
from dibs.schedule.snapshot import Snapshot
from dibs.supply.pools import Candidate
from dibs.values import nearest
from dibs.values.mistake import Mistake
from dibs.view import classes, devices


@click.command("devices", help=COMMANDS["devices"])
@options.files
@click.option("--node", default="", metavar="NAME", help="Devices that this node can use.")
@click.option("--class", "class_name", default="", metavar="NAME", help="Devices of this class.")
@options.output("table", "wide", "json")
def command(
    paths: tuple[str, ...], no_validate: bool, node: str, class_name: str, form: str | None
) -> int:
    snapshot = source.snapshot(paths, validate=not no_validate)
    if node:
        check_node(node, snapshot)
    found = devices.uses(snapshot, node=node, fits=members(class_name, snapshot))
    form = form or ("table" if output.is_terminal() else "json")
    if form == "json":
        for record in devices.records(found):
            output.say_json_line(record)
    elif found:
        paint.show_table(devices.table(found, wide=form == "wide"))
    if form != "json":
        output.remark(devices.summary(found))
    return YES


def members(name: str, snapshot: Snapshot) -> Callable[[Candidate], bool] | None:
    if not name:
        return None
    if name not in snapshot.classes:
        remedy = nearest.question(name, snapshot.classes) or (
            "add the output of: kubectl get deviceclasses -o yaml"
        )
        raise Mistake("no such device class in the input", path=f"--class {name}", remedy=remedy)
    return classes.membership(snapshot.classes[name])
