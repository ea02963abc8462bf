"""`dibs delete`: objects by name or as files have them; waits until they are gone. Exit 0 then."""

from __future__ import annotations

import asyncio
import time

import click

from dibs.cli import options, output, reaching, source
from dibs.cli.codes import NO, YES
from dibs.cli.commands import COMMANDS
from dibs.cli.reaching import Reach
from dibs.client.cluster import Conflict, Forbidden, Missing, Tree
from dibs.values.mistake import Mistake

LOOK_S = 0.1


@click.command("delete", help=COMMANDS["delete"])
@click.argument("subjects", metavar="KIND NAME… | KIND/NAME…", nargs=-1)
@click.option("-f", "--filename", "paths", multiple=True, metavar="PATH")
@reaching.place
@click.option("--wait/--no-wait", "waits", default=True, help="Until they are gone.")
@options.timeout("60s")
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
        chosen = reach.named(subjects) if subjects else [reach.place_of(tree) for tree in trees]
        for served, where, name in chosen:
            path = served.path(where, name)
            try:
                gone.append((path, uid_of(await reach.cluster.fetch("DELETE", path, body=body))))
                inside = f" from {where} namespace" if where else ""
                output.say(f'{served.singular} "{name}" deleted{inside}')
            except (Missing, Conflict, Forbidden) as refused:
                if not (is_lenient and isinstance(refused, Missing)):
                    output.complain(str(refused))
                    code = NO
        if waits and not await are_gone(reach, gone, timeout_s):
            output.complain(f"still there after {timeout_s:g} s; something waits for them to end")
            code = NO
        return code

    return reaching.at(told, context, namespace)


async def are_gone(reach: Reach, gone: list[tuple[str, str]], timeout_s: float) -> bool:
    """Whether nothing with these uids is left at these paths. A new one of the name may be."""
    end_s = time.monotonic() + timeout_s
    for path, uid in gone:
        while (left := await reach.cluster.found(path)) and uid_of(left) == uid:
            if time.monotonic() >= end_s:
                return False
            await asyncio.sleep(LOOK_S)
    return True


def uid_of(answer: Tree) -> str:
    """Of an object, or of the one that a Status is about."""
    about = answer.get("details" if answer.get("kind") == "Status" else "metadata") or {}
    return str(about.get("uid", ""))
