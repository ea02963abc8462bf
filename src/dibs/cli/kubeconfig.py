"""`dibs kubeconfig NAME`: credentials for a person or a node, on stdout. Exit 0.

Whoever can read the data folder can sign: there is nothing to ask the server for.
"""

from __future__ import annotations

import datetime
from typing import Literal, assert_never

import click

from dibs.api.access import authority, roles
from dibs.cli import folders, output
from dibs.cli.codes import YES
from dibs.cli.commands import COMMANDS
from dibs.client import kubeconfig
from dibs.control import hosting
from dibs.values import names
from dibs.values.mistake import Mistake

Role = Literal["admin", "viewer", "user", "node"]
LONGEST_DAYS = 365


@click.command("kubeconfig", help=COMMANDS["kubeconfig"])
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice(["admin", "viewer", "user", "node"]),
    default="user",
    show_default=True,
    help="What they may do; a user works in one namespace, a node is named as its Node.",
)
@click.option("-n", "--namespace", default="", help="Where a user works, and the default.")
@click.option("--days", default=LONGEST_DAYS, show_default=True, help="How long it is good.")
@click.option("--server", metavar="URL", help="Where they reach it; if not said, as this box does.")
@click.option("--data", metavar="DIR", help="The data folder of dibs up; ~/.local/share/dibs.")
def command(
    name: str, role: Role, namespace: str, days: int, server: str | None, data: str | None
) -> int:
    if server is not None and not server.startswith("https://"):
        raise Mistake("is no address", path="--server", remedy="as in https://gpubox:6443")
    if not 1 <= days <= LONGEST_DAYS:
        raise Mistake("is not 1 to 365", path="--days", value=days, remedy="choose fewer days")
    user, groups = identity(name, role, namespace)
    folder = folders.data(data)
    admin = folder / hosting.KUBECONFIG
    # Without its key a new authority would be made, which nobody trusts.
    if not admin.exists() or not (folder / authority.KEY).exists():
        raise Mistake(
            "there is no control plane yet", path=str(folder), remedy="dibs up, or name it: --data"
        )
    now = datetime.datetime.now(datetime.UTC)
    ours = authority.in_folder(folder, now)
    pair = ours.for_client(user, groups, now, datetime.timedelta(days=days))
    url = server or kubeconfig.access(admin).server
    output.say(hosting.kubeconfig_of(url, ours, pair, user, namespace).decode().rstrip())
    return YES


def identity(name: str, role: Role, namespace: str) -> tuple[str, tuple[str, ...]]:
    """User and groups, by which `api.access.roles` knows what they may do. Raises Mistake."""
    if name.startswith("system:"):
        raise Mistake("names that begin with system: are the plane's own", value=name)
    if not name.isprintable():
        raise Mistake("a name is of printable characters", value=name)
    if namespace and (faults := names.faults_of_dns_label(namespace)):
        raise Mistake(f"is no namespace: {faults[0]}", path="--namespace", value=namespace)
    match role:
        case "admin":
            return name, ("dibs:admin",)
        case "viewer":
            return name, (roles.VIEWER,)
        case "user":
            if not namespace:
                raise Mistake(
                    "a user works in a namespace", path="--namespace", remedy="add -n NAMESPACE"
                )
            return name, (f"{roles.USER}{namespace}",)
        case "node":
            return f"{roles.NODE_USER}{name}", (roles.NODES,)
        case _:
            assert_never(role)
