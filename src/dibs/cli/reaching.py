"""How a command reaches a cluster: which kubeconfig, which namespace, and what its no means.

The thin clients (get, apply, delete, describe, wait, logs) are for boxes without kubectl; they have
its flags and show what the server says.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import click

from dibs.cli import folders
from dibs.client import catalog, http, kubeconfig
from dibs.client.catalog import Catalog, Served
from dibs.client.cluster import Conflict, Forbidden, Missing, Tree, Unreachable
from dibs.client.http import Http
from dibs.values.mistake import Mistake

DUMPS = "why, devices and allocate read a dump with -f"

Command = TypeVar("Command", bound=Callable[..., object])
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Reach:
    """A cluster that answers. `namespace` is the chosen one, else the kubeconfig's."""

    cluster: Http
    catalog: Catalog
    namespace: str

    def place_of(self, tree: Tree) -> tuple[Served, str, str]:
        """Resource, namespace and name of an object as a file has it. Raises Mistake."""
        served, metadata = self.catalog.of(tree), tree.get("metadata")
        given = metadata if isinstance(metadata, dict) else {}
        name = given.get("name")
        if not isinstance(name, str) or not name:
            raise Mistake(
                "it has no metadata.name", path=served.kind, remedy="give it one in its file"
            )
        where = str(given.get("namespace") or self.namespace) if served.namespaced else ""
        return served, where, name

    def named(self, words: tuple[str, ...]) -> list[tuple[Served, str, str]]:
        """The same of what a command line names: each has a name. Raises Mistake."""
        found = subjects(words, self.catalog)
        for served, name in found:
            if not name:
                raise Mistake(
                    "a name is wanted", path=served.plural, remedy=f"as in {served.called('NAME')}"
                )
        return [(kind, self.namespace if kind.namespaced else "", name) for kind, name in found]


def at(told: Callable[[Reach], Awaitable[Answer]], context: str, namespace: str) -> Answer:
    """Do something with the cluster. Raises Mistake for what it refuses or can't answer."""
    access = kubeconfig.access(config(), context)

    async def run() -> Answer:
        async with http.connected(access) as cluster:
            try:
                known = await catalog.read(cluster)
                return await told(Reach(cluster, known, namespace or access.namespace))
            except (Missing, Conflict, Forbidden) as refused:
                raise Mistake(str(refused)) from refused
            except Unreachable as fault:
                raise http.unreachable(access.server, fault) from fault

    return asyncio.run(run())


def config() -> Path:
    """The kubeconfig: as kubectl finds it, else that of this user's `dibs up`. Raises Mistake."""
    found = kubeconfig.paths()
    ours = folders.data() / "kubeconfig"
    if found:
        return found[0]
    if named := os.environ.get("KUBECONFIG"):
        # Never another cluster than the one that was meant.
        raise Mistake(
            f"there is no cluster: KUBECONFIG names {named}, which isn't there",
            remedy=f"correct or unset KUBECONFIG; {DUMPS}",
        )
    if ours.exists():
        return ours
    raise Mistake(
        "there is no cluster: KUBECONFIG names none, ~/.kube/config isn't there, and no `dibs up` "
        "has been started here",
        remedy=f"dibs up; or set KUBECONFIG; {DUMPS}",
    )


def place(command: Command) -> Command:
    """`-n` and `--context`."""
    command = click.option("--context", default="", help="A context of the kubeconfig.")(command)
    return click.option("-n", "--namespace", default="", help="Where it is.")(command)


def subjects(words: tuple[str, ...], known: Catalog) -> list[tuple[Served, str]]:
    """`KIND NAME…`, `KIND/NAME…` or `KIND,KIND`; a name of "" means all. Raises Mistake."""
    if not words:
        raise Mistake(
            "what of? a kind is wanted", remedy="as in: pods, pod/train-0, or claims,slices"
        )
    if any("/" in word for word in words):
        found = []
        for word in words:
            kind, slash, name = word.partition("/")
            if not slash or not name:
                raise Mistake("is no KIND/NAME", path=word, remedy="as in pod/train-0")
            found += [(each, name) for each in known.named(kind)]
        return found
    kinds = [each for word in words[0].split(",") for each in known.named(word)]
    if len(words) == 1:
        return [(each, "") for each in kinds]
    return [(each, name) for each in kinds for name in words[1:]]
