"""`dibs logs POD`: what a container wrote."""

from __future__ import annotations

import click

from dibs.cli import output, reaching
from dibs.cli.codes import NO, YES
from dibs.cli.commands import COMMANDS
from dibs.cli.reaching import Reach
from dibs.client.cluster import Missing


@click.command("logs", help=COMMANDS["logs"])
@click.argument("pod")
@reaching.place
@click.option("-c", "--container", default="")
@click.option("--tail", default=-1, metavar="N", help="Only the last N lines.")
@click.option("-p", "--previous", is_flag=True, help="Of the container before this one.")
def command(
    pod: str, namespace: str, context: str, container: str, tail: int, previous: bool
) -> int:
    name = pod.rpartition("/")[2]
    query = {}
    if container:
        query["container"] = container
    if tail >= 0:
        query["tailLines"] = str(tail)
    if previous:
        query["previous"] = "true"

    async def told(reach: Reach) -> int:
        path = f"/api/v1/namespaces/{reach.namespace}/pods/{name}"
        try:
            output.say_plain(await reach.cluster.text(f"{path}/log", query))
        except Missing:
            await reach.cluster.fetch("GET", path)
            output.complain(f"nobody keeps what pod/{name} writes: no agent runs its containers")
            return NO
        return YES

    return reaching.at(told, context, namespace)
