"""`dibs describe`: one object, what happened to it, and for Pods and claims the reasons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from dibs.cli import output, paint, reaching, source, why
from dibs.cli.codes import NO, YES
from dibs.cli.commands import COMMANDS
from dibs.cli.reaching import Reach
from dibs.client import writing
from dibs.client.catalog import Served
from dibs.client.cluster import Forbidden, Missing, Tree
from dibs.schedule.snapshot import Snapshot
from dibs.schedule.state import Options
from dibs.values.mistake import Mistake
from dibs.view import why as reasons
from dibs.view.table import Row, Table

# What every object has and nobody reads.
NOISE = ("managedFields", "uid", "resourceVersion", "generation", "generateName")


@click.command("describe", help=COMMANDS["describe"])
@click.argument("subjects", metavar="KIND NAME… | KIND/NAME…", nargs=-1, required=True)
@reaching.place
def command(subjects: tuple[str, ...], namespace: str, context: str) -> int:
    async def told(reach: Reach) -> tuple[int, list[tuple[Served, Tree, list[Tree]]]]:
        code, found = YES, []
        for served, where, name in reach.named(subjects):
            try:
                tree = await reach.cluster.fetch("GET", served.path(where, name))
            except Missing as missing:
                output.complain(str(missing))
                code = NO
            else:
                found.append((served, tree, await events(reach, tree)))
        return code, found

    code, found = reaching.at(told, context, namespace)
    explained = [tree for served, tree, _ in found if served.kind in ("Pod", "ResourceClaim")]
    snapshot = everything(context) if explained else None
    for served, tree, happened in found:
        output.say(head(served, tree))
        if snapshot is not None and tree in explained:
            explain(served, tree, snapshot)
        if happened:
            paint.show_table(
                Table(("last seen", "type", "reason", "message"), tuple(rows(happened)))
            )
    return code


async def events(reach: Reach, tree: Tree) -> list[Tree]:
    metadata = tree["metadata"]
    where = str(metadata.get("namespace") or "default")
    selector = f"involvedObject.uid={metadata.get('uid', '')}"
    path = f"/api/v1/namespaces/{where}/events"
    try:
        listed = await reach.cluster.fetch("GET", path, query={"fieldSelector": selector})
    except Forbidden as refused:
        output.remark(f"warning: what happened to it is left out: {refused}")
        return []
    found: list[Tree] = list(listed.get("items") or ())
    return sorted(found, key=lambda each: str(each.get("lastTimestamp") or ""))


def head(served: Served, tree: Tree) -> str:
    """The object without what nobody reads, as YAML."""
    metadata = {key: value for key, value in tree["metadata"].items() if key not in NOISE}
    shown = {"apiVersion": served.api_version, "kind": served.kind, **tree, "metadata": metadata}
    return writing.yaml_text([shown]).rstrip()


def everything(context: str) -> Snapshot | None:
    """What reasons rest on; None for who may not read that."""
    try:
        return Snapshot.of(source.from_cluster(context))
    except Mistake as refused:
        output.remark(f"warning: the reasons are left out: {refused}")
        return None


def explain(served: Served, tree: Tree, snapshot: Snapshot) -> None:
    """Why it waits, or what it has: the tree of `dibs why`."""
    kind = "pod" if served.kind == "Pod" else "claim"
    metadata = tree["metadata"]
    account = why.explain(kind, metadata["name"], metadata["namespace"], snapshot, Options())
    output.say("---")
    paint.show_tree(reasons.tree(account))


def rows(found: list[Tree]) -> Iterator[Row]:
    for each in found:
        cells = (
            each.get("lastTimestamp"),
            each.get("type"),
            each.get("reason"),
            each.get("message"),
        )
        tone: Any = "bad" if each.get("type") == "Warning" else "plain"
        yield Row(tuple(str(cell or "") for cell in cells), tone)
