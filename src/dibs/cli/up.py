"""`dibs up`: a control plane on this box, until it is interrupted. Exit 0 when it ended cleanly."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from dibs.api.calls import Tree
from dibs.cli import folders, output, source
from dibs.cli.codes import BUG, YES
from dibs.cli.commands import COMMANDS
from dibs.control import hosting
from dibs.control.hosting import Settings
from dibs.drivers import fleet as fleets
from dibs.schedule.state import Options
from dibs.values.mistake import Mistake

ADDRESS = "127.0.0.1:6443"


@click.command("up", help=COMMANDS["up"])
@click.option("--data", metavar="DIR", help="Where everything is kept; ~/.local/share/dibs.")
@click.option("--listen", metavar="HOST:PORT", default=ADDRESS, show_default=True)
@click.option("--fleet", metavar="FILE", help="Device models and counts: nodes to place Pods on.")
@click.option(
    "-f", "--filename", "paths", multiple=True, metavar="PATH", help="Manifests to apply at start."
)
@click.option("-v", "--verbose", is_flag=True, help="Tell what the loops do, on stderr.")
def command(
    data: str | None, listen: str, fleet: str | None, paths: tuple[str, ...], verbose: bool
) -> int:
    host, port = address(listen)
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING,
        stream=sys.stderr,
        format="%(asctime)s %(message)s",
    )
    # Who asked for what is in the audit log.
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)
    settings = Settings(
        folders.data(data),
        host,
        port,
        tuple(machines(fleet)),
        source.trees(paths) if paths else (),
        options=Options(order="packed"),
    )
    return asyncio.run(serve(settings))


async def serve(settings: Settings) -> int:
    """Serve until SIGINT or SIGTERM."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with hosting.hosted(settings) as hosted:
        output.say(f"ready KUBECONFIG={hosted.kubeconfig}")
        output.flush()
        stopping = asyncio.create_task(stop.wait())
        broken = hosted.loops.broken, asyncio.create_task(hosted.plane.store.ended())
        await asyncio.wait((stopping, *broken), return_when=asyncio.FIRST_COMPLETED)
        for waiting in (stopping, *broken):
            waiting.cancel()
        if stop.is_set():
            return YES
        # The store or a loop is no more: what is told now would be half of the truth.
        logging.error("a part of the control plane has ended, so it ends")
        return BUG


def machines(path: str | None) -> Iterator[Tree]:
    """The nodes, slices and classes of a fleet file. Raises Mistake."""
    if path is not None:
        yield from fleets.objects(fleets.read(Path(path)))


def address(listen: str) -> tuple[str, int]:
    """Host and port. Raises Mistake."""
    host, colon, port = listen.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise Mistake(
            "an address and a port are wanted",
            path="--listen",
            value=listen,
            remedy=f"as in {ADDRESS}; port 0 is any that is free",
        )
    return host, int(port)
