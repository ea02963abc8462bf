"""`dibs wait`: until an object has a condition, or is gone. Exit 0 then, 1 when time is up."""

from __future__ import annotations

import asyncio
import time

import click

from dibs.cli import options, output, reaching
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
@options.timeout("30s")
def command(
    subjects: tuple[str, ...], namespace: str, context: str, wanted: str, timeout_s: float
) -> int:
    is_met = condition(wanted)

    async def told(reach: Reach) -> int:
        code, end_s = YES, time.monotonic() + timeout_s
        for served, where, name in reach.named(subjects):
            # Also when time is up already, it is looked at once.
            while not (is_so := is_met(await reach.cluster.found(served.path(where, name)))):
                if time.monotonic() >= end_s:
                    break
                await asyncio.sleep(LOOK_S)
            if is_so:
                output.say(f"{served.called(name)} condition met")
            else:
                output.complain(f"{served.called(name)}: not {wanted} after {timeout_s:g} s")
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
                f"{wanted!r} can't be waited for",
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
