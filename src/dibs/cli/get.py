"""`dibs get`: objects of a cluster, as the table the server makes of them, or whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import click
import msgspec

from dibs.cli import output, paint, reaching
from dibs.cli.codes import NO, YES
from dibs.cli.commands import COMMANDS
from dibs.cli.reaching import Reach
from dibs.client import writing
from dibs.client.catalog import Served
from dibs.client.cluster import Missing, Tree, Unreachable
from dibs.values.mistake import Mistake
from dibs.view import table
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
        found = grouped(reaching.subjects(subjects, reach.catalog))
        where = "" if everywhere else reach.namespace
        if watches and (len(found) > 1 or len(found[0][1]) > 1 or form not in ("table", "wide")):
            raise Mistake("--watch shows one kind as a table", remedy="watch one kind at a time")
        answers, code = await asked(reach, found, where, query, is_table=form in ("table", "wide"))
        if form not in ("table", "wide"):
            is_one = len(found) == 1 and len(found[0][1]) == 1 and bool(found[0][1][0])
            whole(reach, answers, form, is_one=is_one)
            return code
        sheets = [
            Sheet(served, is_wide=form == "wide", all_spaces=not where, is_mixed=len(found) > 1)
            for served, _ in found
        ]
        show(sheets, answers, where, is_all=code == YES)
        if watches and code == YES:
            [(served, [name])], [sheet], [revision] = found, sheets, map(revision_of, answers[0])
            await follow(reach, sheet, served.path(where), name, query, revision)
        return code

    return reaching.at(told, context, namespace)


def grouped(found: list[tuple[Served, str]]) -> list[tuple[Served, list[str]]]:
    by_kind: dict[Served, list[str]] = {}
    for served, name in found:
        by_kind.setdefault(served, []).append(name)
    return list(by_kind.items())


async def asked(
    reach: Reach,
    found: list[tuple[Served, list[str]]],
    where: str,
    query: Mapping[str, str],
    *,
    is_table: bool,
) -> tuple[list[list[Tree]], int]:
    """The answers for each kind, one a name. What isn't there is told, and makes the code NO."""
    answers: list[list[Tree]] = []
    code = YES
    accept = TABLE if is_table else "application/json"
    for served, names in found:
        answers.append([])
        for name in names:
            path = served.path(where, name)
            try:
                answers[-1].append(
                    await reach.cluster.fetch("GET", path, query=query, accept=accept)
                )
            except Missing as missing:
                if not name:
                    raise
                output.complain(str(missing))
                code = NO
    return answers, code


def show(sheets: list[Sheet], answers: list[list[Tree]], where: str, *, is_all: bool) -> None:
    """One table a kind. A kind of which there is nothing is told on stderr."""
    is_first = True
    for sheet, tables in zip(sheets, answers, strict=True):
        served = sheet.served
        if found := sheet.table(tables):
            if not is_first:
                output.say_plain("\n")
            is_first = False
            paint.show_table(found)
        elif is_all:
            inside = f" in namespace {where}" if where and served.namespaced else ""
            output.remark(f"no {served.plural}{inside}")


@dataclass(slots=True)
class Sheet:
    """How the server's tables of one kind are shown: the columns that it named, and their width.

    Where several kinds are mixed, names say of which kind they are, as kubectl's.
    """

    served: Served
    is_wide: bool
    all_spaces: bool
    is_mixed: bool
    columns: list[Mapping[str, Any]] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)

    def table(self, trees: Iterable[Tree]) -> Table | None:
        """All rows in one, None when there are none."""
        rows: list[Row] = []
        for tree in trees:
            self.columns = tree.get("columnDefinitions") or self.columns
            rows += map(self._row, tree.get("rows") or ())
        if not rows:
            return None
        heads = tuple(str(each["name"]) for _, each in self._shown())
        found = Table(("Namespace", *heads) if self._has_space else heads, tuple(rows))
        before = self.widths or [0] * len(found.columns)
        self.widths = list(map(max, before, table.widths(found)))
        return found

    def news(self, tree: Tree) -> list[str]:
        """The rows of one change, below those that were shown before."""
        had_heads = bool(self.widths)
        found = self.table([tree])
        return table.lines(found, self.widths)[had_heads:] if found else []

    @property
    def _has_space(self) -> bool:
        return self.all_spaces and self.served.namespaced

    def _shown(self) -> list[tuple[int, Mapping[str, Any]]]:
        return [
            (number, each)
            for number, each in enumerate(self.columns)
            if self.is_wide or not each.get("priority")
        ]

    def _row(self, row: Mapping[str, Any]) -> Row:
        metadata = row["object"]["metadata"]
        cells = [cell(row["cells"][number]) for number, _ in self._shown()]
        if self.is_mixed:
            cells[0] = self.served.called(cells[0])
        if self._has_space:
            cells.insert(0, str(metadata.get("namespace", "")))
        return Row(tuple(cells))


def cell(value: object) -> str:
    return "" if value is None else str(value)


async def follow(
    reach: Reach, sheet: Sheet, path: str, name: str, query: Mapping[str, str], revision: str
) -> None:
    """Every change since a revision, until the server or the user ends it. Raises Unreachable."""
    output.flush()
    asked = {**query, "watch": "true", "allowWatchBookmarks": "true"}
    if name:
        asked["fieldSelector"] = f"metadata.name={name}"
    while True:
        current = {**asked, "resourceVersion": revision}
        async for event in reach.cluster.events(path, current, accept=TABLE):
            tree = event["object"]
            if event["type"] == "ERROR":
                raise Unreachable(str(tree.get("message")))
            revision = revision_of(tree) or revision
            for line in sheet.news(tree):
                output.say(line)
            output.flush()


def revision_of(tree: Tree) -> str:
    """Of a table, or of its only row."""
    if found := (tree.get("metadata") or {}).get("resourceVersion"):
        return str(found)
    rows = tree.get("rows") or ()
    return str(rows[0]["object"]["metadata"].get("resourceVersion", "")) if rows else ""


def whole(reach: Reach, answers: list[list[Tree]], form: str, *, is_one: bool) -> None:
    trees = [each for found in answers for tree in found for each in members(tree)]
    if is_one and not trees:
        return
    if form == "name":
        for tree in trees:
            output.say(reach.catalog.of(tree).called(tree["metadata"]["name"]))
        return
    tree = trees[0] if is_one else listed(trees)
    if form == "yaml":
        output.say_plain(writing.yaml_text([tree]))
    else:
        output.say_plain(msgspec.json.format(msgspec.json.encode(tree), indent=4).decode())


def members(tree: Tree) -> list[Tree]:
    """The object, or those of a list, which don't say of which kind they are."""
    if "items" not in tree:
        return [tree]
    kind = str(tree.get("kind", "")).removesuffix("List")
    head = {"apiVersion": tree.get("apiVersion"), "kind": kind}
    return [{**head, **each} for each in tree["items"] or ()]


def listed(trees: list[Tree]) -> Tree:
    return {"apiVersion": "v1", "kind": "List", "metadata": {}, "items": trees}
