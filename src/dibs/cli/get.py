"""`dibs get`: objects of a cluster, as the table the server makes of them, or whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import click
import msgspec

from dibs.cli import output, paint, reaching
from dibs.cli.codes import NO, YES
from dibs.cli.commands import COMMANDS
from dibs.cli.reaching import Reach
from dibs.client import writing
from dibs.client.catalog import Served
from dibs.client.cluster import Missing, Tree
from dibs.values.mistake import Mistake
from dibs.view.table import Row, Table

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


@click.command("get", help=COMMANDS["get"])
@click.argument("subjects", metavar="KIND[,KIND] [NAME…] | KIND/NAME…", nargs=-1)
@reaching.place
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True)
@click.option("-l", "--selector", default="", help="Labels, as in app=train,tier!=dev.")
@click.option("--field-selector", default="", help="Fields, as in spec.nodeName=node-a.")
@click.option("-w", "--watch", "watches", is_flag=True, help="Then every change, until stopped.")
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["table", "wide", "yaml", "json", "name"]),
    default="table",
)
def command(
    subjects: tuple[str, ...],
    namespace: str,
    context: str,
    everywhere: bool,
    selector: str,
    field_selector: str,
    watches: bool,
    form: str,
) -> int:
    query = {"labelSelector": selector, "fieldSelector": field_selector}
    query = {name: value for name, value in query.items() if value}

    async def told(reach: Reach) -> int:
        found = reaching.subjects(subjects, reach.catalog)
        where = "" if everywhere else reach.namespace
        if watches and (len(found) > 1 or form not in ("table", "wide")):
            raise Mistake("--watch shows one kind as a table", remedy="watch one kind at a time")
        if form in ("table", "wide"):
            code = await tables(reach, found, where, query, is_wide=form == "wide")
            if watches:
                await follow(reach, found[0], where, query, is_wide=form == "wide")
            return code
        return await objects(reach, found, where, query, form)

    return reaching.at(told, context, namespace)


async def tables(
    reach: Reach,
    found: list[tuple[Served, str]],
    where: str,
    query: Mapping[str, str],
    *,
    is_wide: bool,
) -> int:
    """One table a kind. A kind of which there is nothing is told on stderr."""
    code = YES
    for served, names in grouped(found):
        rows: list[Mapping[str, Any]] = []
        columns: list[Mapping[str, Any]] = []
        for name in names:
            try:
                tree = await reach.cluster.fetch(
                    "GET", served.path(where, name), query=query, accept=TABLE
                )
            except Missing as missing:
                if not name:
                    raise
                output.complain(str(missing))
                code = NO
                continue
            columns = tree.get("columnDefinitions") or columns
            rows += tree.get("rows") or ()
        if rows:
            show(served, columns, rows, is_wide=is_wide, all_spaces=not where and served.namespaced)
        elif code == YES:
            inside = f" in namespace {where}" if where and served.namespaced else ""
            output.remark(f"no {served.plural}{inside}")
    return code


def show(
    served: Served,
    columns: Iterable[Mapping[str, Any]],
    rows: Iterable[Mapping[str, Any]],
    *,
    is_wide: bool,
    all_spaces: bool,
) -> None:
    shown = [
        (number, str(each["name"]))
        for number, each in enumerate(columns)
        if is_wide or not each.get("priority")
    ]
    heads = tuple(name for _, name in shown)
    lines = []
    for row in rows:
        cells = tuple(cell(row["cells"][number]) for number, _ in shown)
        if all_spaces:
            cells = (str(row["object"]["metadata"].get("namespace", "")), *cells)
        lines.append(Row(cells))
    paint.show_table(Table(("Namespace", *heads) if all_spaces else heads, tuple(lines)))


def cell(value: object) -> str:
    return "" if value is None else str(value)


def grouped(found: list[tuple[Served, str]]) -> list[tuple[Served, list[str]]]:
    by_kind: dict[Served, list[str]] = {}
    for served, name in found:
        by_kind.setdefault(served, []).append(name)
    return list(by_kind.items())


async def follow(
    reach: Reach,
    subject: tuple[Served, str],
    where: str,
    query: Mapping[str, str],
    *,
    is_wide: bool,
) -> None:
    served, name = subject
    asked = {**query, "watch": "true"}
    if name:
        asked["fieldSelector"] = f"metadata.name={name}"
    columns: list[Mapping[str, Any]] = []
    async for event in reach.cluster.events(served.path(where), asked, accept=TABLE):
        tree = event["object"]
        columns = tree.get("columnDefinitions") or columns
        all_spaces = not where and served.namespaced
        show(served, columns, tree.get("rows") or (), is_wide=is_wide, all_spaces=all_spaces)
        output.flush()


async def objects(
    reach: Reach,
    found: list[tuple[Served, str]],
    where: str,
    query: Mapping[str, str],
    form: str,
) -> int:
    trees: list[Tree] = []
    for served, name in found:
        tree = await reach.cluster.fetch("GET", served.path(where, name), query=query)
        head = {"apiVersion": served.api_version, "kind": served.kind}
        trees += [tree] if name else [{**head, **each} for each in tree.get("items") or ()]
    is_one = len(found) == 1 and bool(found[0][1])
    if form == "name":
        for tree in trees:
            served = reach.catalog.of(tree)
            output.say(f"{served.kind.lower()}{_dotted(served)}/{tree['metadata']['name']}")
    elif form == "yaml":
        output.say_plain(writing.yaml_text(trees if is_one else [listed(trees)]))
    else:
        tree = trees[0] if is_one else listed(trees)
        output.say_plain(msgspec.json.format(msgspec.json.encode(tree), indent=4).decode() + "\n")
    return YES


def listed(trees: list[Tree]) -> Tree:
    return {"apiVersion": "v1", "kind": "List", "metadata": {}, "items": trees}


def _dotted(served: Served) -> str:
    return f".{served.group}" if served.group else ""
