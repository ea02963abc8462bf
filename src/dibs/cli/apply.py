"""`dibs apply -f`: have objects be as the files say, by server-side apply. Exit 0 if all are."""

from __future__ import annotations

import click

from dibs.cli import output, reaching, source
from dibs.cli.codes import NO, YES
from dibs.cli.commands import COMMANDS
from dibs.cli.reaching import Reach
from dibs.client.cluster import Conflict, Forbidden, Missing, Tree
from dibs.values.mistake import Mistake

APPLY = "application/apply-patch+yaml"
MANAGER = "dibs"


@click.command("apply", help=COMMANDS["apply"])
@click.option("-f", "--filename", "paths", multiple=True, required=True, metavar="PATH")
@reaching.place
@click.option("--dry-run", "is_trial", is_flag=True, help="Ask the server, and change nothing.")
@click.option("--force-conflicts", "forces", is_flag=True, help="Take over what others manage.")
def command(
    paths: tuple[str, ...], namespace: str, context: str, is_trial: bool, forces: bool
) -> int:
    trees = source.trees(paths)

    async def told(reach: Reach) -> int:
        code = YES
        for tree in trees:
            try:
                output.say(await applied(reach, tree, is_trial=is_trial, forces=forces))
            except (Missing, Conflict, Forbidden, Mistake) as refused:
                output.complain(str(refused))
                code = NO
        return code

    return reaching.at(told, context, namespace)


async def applied(reach: Reach, tree: Tree, *, is_trial: bool, forces: bool) -> str:
    """Apply one object; return what became of it, as kubectl puts it. Raises Mistake."""
    served, where, name = reach.place_of(tree)
    query = {"fieldManager": MANAGER, "fieldValidation": "Strict"}
    if forces:
        query["force"] = "true"
    if is_trial:
        query["dryRun"] = "All"
    path = served.path(where, name)
    before = await reach.cluster.found(path)
    after = await reach.cluster.fetch("PATCH", path, query=query, body=tree, content=APPLY)
    became = "created" if before is None else "configured"
    if before is not None and _revision(before) == _revision(after):
        became = "unchanged"
    trial = " (server dry run)" if is_trial else ""
    return f"{served.called(name)} {became}{trial}"


def _revision(tree: Tree) -> str:
    return str((tree.get("metadata") or {}).get("resourceVersion"))
