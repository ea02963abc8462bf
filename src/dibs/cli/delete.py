"""`dibs delete`: objects by name or as files have them; waits until they are gone. Exit 0 then."""

from __future__ import annotations

import asyncio

import click

from dibs.cli import output, reaching, source
from dibs.cli.codes import NO, YES
from dibs.cli.commands import COMMANDS
from dibs.cli.reaching import Reach
from dibs.client.catalog import Served
from dibs.client.cluster import Missing, Tree
from dibs.values.mistake import Mistake

LOOK_S = 0.1


@click.command("delete", help=COMMANDS["delete"])
@click.argument("subjects", metavar="KIND NAME… | KIND/NAME…", nargs=-1)
@click.option("-f", "--filename", "paths", multiple=True, metavar="PATH")
@reaching.place
@click.option("--wait/--no-wait", "waits", default=True, help="Until they are gone.")
@click.option("--timeout", "timeout_s", default=60.0, metavar="SECONDS", show_default=True)
@click.option("--grace-period", "grace_s", type=int, metavar="SECONDS")
@click.option("--ignore-not-found", "is_lenient", is_flag=True)
def command(
    subjects: tuple[str, ...],
    paths: tuple[str, ...],
    namespace: str,
    context: str,
    waits: bool,
    timeout_s: float,
    grace_s: int | None,
    is_lenient: bool,
) -> int:
    if bool(subjects) == bool(paths):
        raise Mistake("names or -f are wanted, one of the two", remedy="as in: pod/train-0")
    trees = source.trees(paths) if paths else ()
    body: Tree = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
    if grace_s is not None:
        body["gracePeriodSeconds"] = grace_s

    async def told(reach: Reach) -> int:
        code, gone = YES, []
        for served, where, name in targets(reach, subjects, trees):
            try:
                await reach.cluster.fetch("DELETE", served.path(where, name), body=body)
                output.say(f'{served.qualified} "{name}" deleted')
                gone.append(served.path(where, name))
            except Missing as missing:
                if not is_lenient:
                    output.complain(str(missing))
                    code = NO
        if waits and not await are_gone(reach, gone, timeout_s):
            output.complain(f"still there after {timeout_s:g} s; something waits for them to end")
            code = NO
        return code

    return reaching.at(told, context, namespace)


def targets(
    reach: Reach, subjects: tuple[str, ...], trees: tuple[Tree, ...]
) -> list[tuple[Served, str, str]]:
    """Resource, namespace and name of each. Raises Mistake."""
    found = []
    for served, name in reaching.subjects(subjects, reach.catalog) if subjects else ():
        if not name:
            raise Mistake(
                "names are wanted", value=served.plural, remedy="dibs deletes none unnamed"
            )
        found.append((served, reach.namespace if served.namespaced else "", name))
    for tree in trees:
        served, metadata = reach.catalog.of(tree), tree.get("metadata") or {}
        where = str(metadata.get("namespace") or reach.namespace) if served.namespaced else ""
        found.append((served, where, str(metadata.get("name", ""))))
    return found


async def are_gone(reach: Reach, paths: list[str], timeout_s: float) -> bool:
    try:
        async with asyncio.timeout(timeout_s):
            for path in paths:
                while await reach.cluster.found(path) is not None:
                    await asyncio.sleep(LOOK_S)
    except TimeoutError:
        return False
    return True
