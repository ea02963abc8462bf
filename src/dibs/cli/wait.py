"""`dibs wait`: until an object has a condition, or is gone. Exit 0 then, 1 when time is up."""

from __future__ import annotations

import asyncio

import click

from dibs.cli import output, reaching
from dibs.cli.codes import NO, YES
from dibs.cli.commands import COMMANDS
from dibs.cli.reaching import Reach
from dibs.client.cluster import Tree
from dibs.values.mistake import Mistake

LOOK_S = 0.1


@click.command("wait", help=COMMANDS["wait"])
@click.argument("subjects", metavar="KIND NAME… | KIND/NAME…", nargs=-1, required=True)
@reaching.place
@click.option(
    "--for", "wanted", required=True, help="condition=NAME[=VALUE], delete, or allocated (claims)."
)
@click.option("--timeout", "timeout_s", default=30.0, metavar="SECONDS", show_default=True)
def command(
    subjects: tuple[str, ...], namespace: str, context: str, wanted: str, timeout_s: float
) -> int:
    is_met = condition(wanted)

    async def told(reach: Reach) -> int:
        code = YES
        for served, name in reaching.subjects(subjects, reach.catalog):
            where = reach.namespace if served.namespaced else ""
            who = f"{served.kind.lower()}/{name}"
            try:
                async with asyncio.timeout(timeout_s):
                    while not is_met(await reach.cluster.found(served.path(where, name))):
                        await asyncio.sleep(LOOK_S)
                output.say(f"{who} condition met")
            except TimeoutError:
                output.complain(f"{who}: not {wanted} after {timeout_s:g} s")
                code = NO
        return code

    return reaching.at(told, context, namespace)


class condition:
    """Says of an object, or of None, whether what was asked for is so. Raises Mistake."""

    def __init__(self, wanted: str) -> None:
        what, _, rest = wanted.partition("=")
        self.name, _, value = rest.partition("=")
        self.value = (value or "True").lower()
        self.what = what
        if what not in ("condition", "delete", "allocated") or (what == "condition") != bool(rest):
            raise Mistake(
                "can't be waited for",
                path="--for",
                value=wanted,
                remedy="condition=PodScheduled, condition=Ready=False, delete, or allocated",
            )

    def __call__(self, tree: Tree | None) -> bool:
        if self.what == "delete":
            return tree is None
        if tree is None:
            return False
        status = tree.get("status") or {}
        if self.what == "allocated":
            return status.get("allocation") is not None
        return any(
            str(each.get("type", "")).lower() == self.name.lower()
            and str(each.get("status", "")).lower() == self.value
            for each in status.get("conditions") or ()
        )
